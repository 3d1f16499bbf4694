"""Inventory: the global view. Writes `GPU.status.allocated`: who holds what of each card.

One key is one card. Changes of a card are gathered for a second, so a burst of binds costs one
write a card; no card is written, nor tried to be written, more often than that. Server-side apply
keeps the agent's fields its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU, Holding
from elasticgpu.api.meta import Key
from elasticgpu.api.quantity import format_bytes
from elasticgpu.cluster.informer import Change
from elasticgpu.cluster.workqueue import WorkQueue
from elasticgpu.rules.fleet import Held

from .world import World

GATHER = 1.0
"""Seconds over which changes of one card are gathered, and at least between two writes of it."""

LATEST = 10.0
"""Seconds after which a card is written, however many claims there are to bind."""

MOST = 256
"""Rows of a card, and pods of a row, at most: the bounds of the schema."""

MANAGER = "elasticgpu-controller"


@dataclass
class Inventory:
    """The loop over cards."""

    world: World
    busy: Callable[[], bool] = lambda: False
    """Whether claims wait to be looked at: they go first, for one card costs as much as a bind."""
    queue: WorkQueue[Key] = field(default_factory=lambda: WorkQueue("inventory"))
    due: dict[Key, float] = field(default_factory=dict)
    """When a card that stood back for claims is written at the latest."""
    wrote: dict[Key, float] = field(default_factory=dict)
    """When each card was written last, or an attempt to do so began."""

    def subscribe(self) -> None:
        """Hear of cards, of devices cut from them, and of the claims that hold those."""
        self.world.gpus.subscribe(self._gpu_changed)
        self.world.devices.subscribe(self._device_changed)
        self.world.claims.subscribe(self._claim_changed)

    def _gpu_changed(self, change: Change[GPU]) -> None:
        if change.new is not None:
            self.queue.add_after(change.new.key, GATHER)
        elif change.old is not None:
            self.wrote.pop(change.old.key, None)

    def _device_changed(self, change: Change[ElasticGPU]) -> None:
        for device in (change.old, change.new):
            for part in device.spec.source.devices if device else ():
                self.queue.add_after(("", part.gpu), GATHER)

    def _claim_changed(self, change: Change[ElasticGPUClaim]) -> None:
        device = self.world.device_of(change.new) if change.new else None
        for part in device.spec.source.devices if device else ():
            self.queue.add_after(("", part.gpu), GATHER)

    async def reconcile(self, key: Key) -> None:
        """Write what is held of one card, if that changed."""
        gpu = self.world.gpus.get(key)
        now = asyncio.get_running_loop().time()
        if gpu is not None and self.busy() and now < self.due.setdefault(key, now + LATEST):
            return self.queue.add_after(key, GATHER)
        self.due.pop(key, None)
        if gpu is None:
            return None
        # What is counted but not there yet may never come, and then nothing would tell.
        held = self.world.ledger.held(gpu.name)
        there = [row for row in held if row.device not in self.world.assumed]
        rows = [self._row(row) for row in there[:MOST]]
        if [row.wire() for row in rows] == [row.wire() for row in gpu.status.allocated]:
            return None
        early = self.wrote.get(key, now - GATHER) + GATHER - now
        if early > 0:
            return self.queue.add_after(key, early)
        self.wrote[key] = now
        body = {"status": {"allocated": [row.wire() for row in rows]}}
        self.world.gpus.observed(
            await self.world.client.apply(GPU, key, body, manager=MANAGER, subresource="status")
        )
        return None

    def _row(self, held: Held) -> Holding:
        device = self.world.devices.get(("", held.device))
        ref = device.spec.claim_ref if device else None
        found = self.world.claims.get(ref.key) if ref else None
        claim = found if found and ref and found.uid == ref.uid else None
        return Holding(
            elastic_gpu=held.device,
            claim="/".join(ref.key) if ref else "",
            pods=sorted({row.pod_name for row in claim.status.users})[:MOST] if claim else [],
            core=held.core,
            memory=format_bytes(held.memory),
        )
