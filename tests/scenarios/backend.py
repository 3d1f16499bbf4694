"""The provisioner of all scenarios."""

from __future__ import annotations

from elasticgpu.provisioner import (
    CardSlice,
    ContainerEdits,
    Demand,
    ElasticGPU,
    Host,
    NodeView,
    Provisioner,
    Slice,
)

from .objects import DRIVER


class Share(Provisioner):
    """Core and memory of the first card that has both."""

    name = DRIVER

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        for card in node.cards:
            if want.core <= card.core_free and want.memory <= card.memory_free:
                part = CardSlice(gpu=card.name, core=want.core, memory=want.memory)
                return Slice((part,))
        return None

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        raise AssertionError("there is no node")
