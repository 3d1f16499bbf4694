"""qGPU: a share of one card's compute and memory, cut by Tencent's kernel driver.

Placement and the container's environment are here; the isolation itself is the driver's, which
the node must already run.
"""

from elasticgpu.provisioner import (
    CardSlice,
    CardView,
    ContainerEdits,
    Demand,
    ElasticGPU,
    Host,
    NodeView,
    Provisioner,
    Refused,
    Slice,
)


class QGPU(Provisioner):
    """A percentage of one card's compute and a number of bytes of its memory."""

    name = "elasticgpu.io/qgpu"

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        """The first card, best first, that has both core and memory free."""
        if want.unsized or want.gpus or want.mig or want.tflops or want.count > 1:
            raise Refused(
                "qGPU cuts a share of one card: ask for at most 100% core, and memory; "
                "whole cards, MIG, TFLOPS and several cards need another provisioner"
            )
        return next(filter(None, (_cut(want, card) for card in node.cards)), None)

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        """The card, and the share of it, as the container's environment."""
        (part,) = device.spec.source.devices
        share = {
            "UUID": host.card(part.gpu).status.uuid,
            "CORE": part.core,
            "MEMORY": part.memory_bytes,
        }
        return ContainerEdits(env=[f"{host.variable(k)}={v}" for k, v in share.items()])


def _cut(want: Demand, card: CardView) -> Slice | None:
    memory = want.memory_of(card.gpu.memory)
    if want.core > card.core_free or memory > card.memory_free:
        return None
    return Slice(
        (CardSlice(gpu=card.name, uuid=card.gpu.status.uuid, core=want.core, memory=memory),)
    )
