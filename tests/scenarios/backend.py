"""The provisioners of the scenarios: one that only places, and one with something outside."""

from __future__ import annotations

import re
from collections.abc import Sequence

from elasticgpu.errors import Working
from elasticgpu.provisioner import (
    CardSlice,
    ContainerEdits,
    Demand,
    ElasticGPU,
    Host,
    NodeView,
    Provisioner,
    Request,
    Slice,
)

from .objects import DRIVER

_MARK = re.compile(r"^r\d+-")


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


class Remote(Share):
    """Has an asset outside the cluster for each device; it outlives every crash of ours.

    `has` the assets of these devices from the start. The next calls of `provision` and `release`
    raise what `says` and `refuses` hold, and all of them raise `always` if that is given. While
    `busy`, provisioning goes on in the background.
    """

    def __init__(
        self,
        has: Sequence[str] = (),
        says: Sequence[Exception] = (),
        refuses: Sequence[Exception] = (),
        *,
        always: Exception | None = None,
        busy: bool = False,
    ) -> None:
        self.assets = set(has)
        self.busy = busy
        self.asked = self.released = 0
        self._says, self._refuses, self._always = list(says), list(refuses), always

    async def provision(self, request: Request) -> ElasticGPU:
        self.asked += 1
        self._object(self._says)
        self.assets.add(request.name)
        if self.busy:
            raise Working("it takes a while", after=0.5)
        return request.device(handle=request.name)

    async def release(self, device: ElasticGPU) -> None:
        self.released += 1
        self._object(self._refuses)
        self.assets.discard(_MARK.sub("", device.name))

    def _object(self, script: list[Exception]) -> None:
        if self._always:
            raise self._always
        if script:
            raise script.pop(0)

    def finish(self) -> None:
        """What is made in the background is there."""
        self.busy = False
