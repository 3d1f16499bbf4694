"""Placing: the first writes of claims that get their devices together, and starting anew.

What all of them take is marked before the first write, so that two companies cannot mix.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Key
from elasticgpu.cluster.clock import timestamp
from elasticgpu.rules import transaction
from elasticgpu.rules.decisions import Bind
from elasticgpu.rules.reclaiming import in_phase
from elasticgpu.rules.seeking import CompanyView, Part, Place
from elasticgpu.rules.transaction import WITHDRAWN

from .creating import create, take
from .world import World

FIRST, LONGEST = 10.0, 300.0
"""Seconds of the first pause after all nodes were tried in vain, and of the longest: each is twice
the one before."""


async def place(world: World, view: CompanyView, order: Place) -> None:
    """The first write of each part: what is refused leaves the others for the next decision.

    Raises as `create` or a replace does, at the first part that fails.
    """
    for consumer in view.consumers if order.node else ():
        world.tenants.occupancy.expect(consumer.pod.uid, order.node, consumer.takes)
    marked: list[tuple[Part, ElasticGPU]] = []
    sent = 0
    try:
        for part in order.parts:
            device = _mark(world, part)
            if device is not None:
                marked.append((part, device))
        for part, device in marked:
            sent += 1
            await _lock(world, part, device)
    finally:
        for part, device in marked:
            if isinstance(part.what, Bind):
                world.taken.pop(device.name, None)
        for part, device in marked[sent:]:
            if not isinstance(part.what, Bind):
                world.forget(device)


def _mark(world: World, part: Part) -> ElasticGPU | None:
    """The device of the part, counted; None if its provisioner makes it by itself."""
    if isinstance(part.what, Bind):
        world.taken[part.what.device.name] = part.view.claim.uid
        return part.what.device
    return take(world, part.view.claim, part.what)


async def _lock(world: World, part: Part, device: ElasticGPU) -> None:
    if isinstance(part.what, Bind):
        await world.replace(transaction.owned(device, part.view.claim))
    else:
        await create(world, device)


async def give_up(world: World, devices: Sequence[ElasticGPU], message: str) -> None:
    """Devices of which only the lock was written: they say that they are given up, and the
    reclaimer sees to the rest."""
    for device in devices:
        new = in_phase(device, "Released", now=timestamp(), reason=WITHDRAWN, message=message)
        await world.replace(new, "status")


@dataclass
class Pauses:
    """How long companies rest that tried every node in vain, by one of their claims."""

    _rounds: dict[Key, int] = field(default_factory=dict)
    _until: dict[Key, float] = field(default_factory=dict)

    def left(self, key: Key) -> float:
        """Seconds that are left of the pause, which begins with the first question; 0: it is over,
        and the next one will be longer."""
        now = asyncio.get_running_loop().time()
        until = self._until.setdefault(key, now + self.length(key))
        if until > now:
            return until - now
        del self._until[key]
        self._rounds[key] = self._rounds.get(key, 0) + 1
        return 0.0

    def length(self, key: Key) -> float:
        """Seconds of the present pause, or the next."""
        return min(FIRST * 2.0 ** self._rounds.get(key, 0), LONGEST)

    def end(self, key: Key) -> None:
        """A place was found before the pause was over."""
        self._until.pop(key, None)

    def forget(self, key: Key) -> None:
        """The pod has its node, or the claim is gone: the next pause is the first again."""
        self._rounds.pop(key, None)
        self._until.pop(key, None)
