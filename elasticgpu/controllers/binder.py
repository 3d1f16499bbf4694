"""Binder: claim ⇄ ElasticGPU. A claim arrives pending; it leaves Bound, Lost, or saying why not.

One key is one claim. Wakes on the claim, on devices that point at it or become free, and, for
claims that found no room, on cards and classes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TypeVar

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import Key, find_condition
from elasticgpu.cluster.clock import timestamp
from elasticgpu.cluster.events import Recorder
from elasticgpu.cluster.informer import Change
from elasticgpu.cluster.workqueue import WorkQueue
from elasticgpu.errors import Forbidden, Invalid, NotFound, Refused, Retry
from elasticgpu.rules import binding, transaction
from elasticgpu.rules.binding import (
    Bind,
    Contradiction,
    Create,
    Lost,
    Provision,
    Settled,
    Unbind,
    Wait,
)

from .creating import create, provision
from .views import claim_view
from .world import World

T = TypeVar("T", ElasticGPU, ElasticGPUClaim)

PATIENCE = 30.0
"""Seconds after which a sentence on a waiting claim is written anew if only its figures changed."""

WAKE_AFTER = 0.05
"""Seconds over which wakes of waiting claims are gathered into one."""


@dataclass
class Binder:
    """The loop over claims."""

    world: World
    recorder: Recorder
    queue: WorkQueue[Key] = field(default_factory=lambda: WorkQueue("binder"))
    waiting: set[Key] = field(default_factory=set)
    said: dict[Key, float] = field(default_factory=dict)
    _wake: asyncio.TimerHandle | None = None

    def subscribe(self) -> None:
        """Hear of everything that can change a decision."""
        self.world.claims.subscribe(self._claim_changed)
        self.world.devices.subscribe(self._device_changed)
        self.world.gpus.subscribe(self._gpu_changed)
        self.world.classes.subscribe(self._class_changed)
        self.world.on_freed(self.wake)
        self.world.works.on_ended.append(self.queue.add)

    def _claim_changed(self, change: Change[ElasticGPUClaim]) -> None:
        if change.new is not None:
            self.queue.add(change.new.key)
        elif change.old is not None:
            self.waiting.discard(change.old.key)
            self.said.pop(change.old.key, None)
            self.queue.add(change.old.key)

    def _device_changed(self, change: Change[ElasticGPU]) -> None:
        for device in (change.old, change.new):
            if device is not None and device.spec.claim_ref is not None:
                self.queue.add(device.spec.claim_ref.key)
            if device is not None:
                for claim in self.world.claims.by_index("device", device.name):
                    self.queue.add(claim.key)
        was, now = (device.status.phase if device else "" for device in (change.old, change.new))
        if now == "Available" != was:
            self.wake()

    def _gpu_changed(self, change: Change[GPU]) -> None:
        old, new = change.old, change.new
        if old is None or new is None or _serving(old) != _serving(new):
            self.wake()

    def _class_changed(self, change: Change[ElasticGPUClass]) -> None:
        self.wake()

    def wake(self) -> None:
        """Ask again for every claim that waits; many wakes at once become one."""
        if self._wake is None and self.waiting:
            self._wake = asyncio.get_running_loop().call_later(WAKE_AFTER, self._ask_again)

    def _ask_again(self) -> None:
        self._wake = None
        for key in sorted(self.waiting):
            self.queue.add(key)

    async def reconcile(self, key: Key) -> None:
        """Bring one claim one step further."""
        claim = self.world.claims.get(key)
        self.waiting.discard(key)
        await self._finish_strays(key, claim)
        if claim is None:
            return
        view = claim_view(self.world, claim)
        match binding.decide(view):
            case Settled():
                pass
            case Bind(device):
                await self._bind(claim, device)
            case Provision() as place:
                await self._bind_new(claim, provision(self.world, claim, place))
            case Create(device):
                await self._bind_new(claim, create(self.world, device))
            case Wait() as why:
                self.waiting.add(key)
                await self._report(claim, why, view.class_name or "")
            case Unbind(device):
                await self._unbind(claim, device)
            case Lost() as why:
                await self._lose(claim, why)
            case Contradiction(message):
                raise Refused(message)

    async def _finish_strays(self, key: Key, claim: ElasticGPUClaim | None) -> None:
        """A create that was never answered is sent again even if nobody wants its device by now:
        only a definite answer tells whether its room is held, and the reclaimer does the rest."""
        for device in self.world.unanswered(key):
            if claim is None or not _wants(claim, device):
                await create(self.world, device)

    async def _bind_new(self, claim: ElasticGPUClaim, making: Awaitable[ElasticGPU | None]) -> None:
        """Bind what is being made; why it cannot be made is said on the claim, and tried again.

        What a provisioner makes by itself comes back as a device that points at the claim.
        """
        try:
            device = await making
        except (Refused, Retry, Invalid, Forbidden) as error:
            self.waiting.add(claim.key)
            name = self.world.class_in_effect(claim) or ""
            await self._report(claim, Wait("ProvisioningFailed", str(error)), name)
            raise
        if device is not None:
            await self._bind(claim, device)

    async def _bind(self, claim: ElasticGPUClaim, device: ElasticGPU) -> None:
        """The four writes, each skipped if it is already true."""
        self.world.taken[device.name] = claim.uid
        try:
            device = await self._write(device, transaction.owned(device, claim))
        finally:
            self.world.taken.pop(device.name, None)
        device = await self._write(
            device, transaction.device_bound(device, now=timestamp()), "status"
        )
        claim = await self._write(claim, transaction.pointing(claim, device))
        await self._write(claim, transaction.claim_bound(claim, device, now=timestamp()), "status")

    async def _unbind(self, claim: ElasticGPUClaim, device: ElasticGPU) -> None:
        """The way back, each write skipped if it is already true; the reclaimer does the rest."""
        claim = await self._write(
            claim, transaction.unbound(claim, device, now=timestamp()), "status"
        )
        await self._write(claim, transaction.nameless(claim))

    async def _write(self, old: T, new: T, subresource: str = "") -> T:
        return old if new == old else await self.world.replace(new, subresource)

    async def _report(self, claim: ElasticGPUClaim, why: Wait | Lost, class_name: str) -> None:
        new = binding.unserved(claim, why, class_name, now=timestamp())
        if new == claim or self._said_lately(claim, why):
            return
        await self._write(claim, new, "status")
        kind = why.event if isinstance(why, Wait) else "Warning"
        if kind is not None:
            self.recorder.event(claim, kind, why.reason, why.message, action="Bind")

    def _said_lately(self, claim: ElasticGPUClaim, why: Wait | Lost) -> bool:
        """Whether only the figures of a sentence changed, soon after it was written: that can wait,
        or every change of a full cluster would be written on every claim that waits."""
        bound = find_condition(claim.status.conditions, "Bound")
        now = asyncio.get_running_loop().time()
        since = now - self.said.get(claim.key, -PATIENCE)
        if bound is not None and bound.reason == why.reason and since < PATIENCE:
            self.queue.add_after(claim.key, PATIENCE - since)
            return True
        self.said[claim.key] = now
        return False

    async def _lose(self, claim: ElasticGPUClaim, why: Lost) -> None:
        """Lost is said only after a live look: an absence in the cache proves nothing."""
        name = claim.spec.elastic_gpu_name
        if name:
            try:
                live = await self.world.client.get(ElasticGPU, ("", name))
            except NotFound:
                live = None
            if live is not None and live != self.world.devices.get(("", name)):
                self.world.devices.observed(live)
                raise Retry(f"ElasticGPU {name} was seen too late", after=0.05)
        await self._report(claim, why, claim.status.class_name)


def _serving(gpu: GPU) -> tuple[object, ...]:
    """What of a card decides whether it can serve."""
    status = gpu.status
    found = (status.memory, status.health, status.model, status.architecture, status.uuid)
    return (gpu.spec, *found, status.tflops, gpu.metadata.labels, gpu.terminating)


def _wants(claim: ElasticGPUClaim, device: ElasticGPU) -> bool:
    """Whether a device made for this claim can still be bound to it."""
    named = claim.spec.elastic_gpu_name
    same = claim.uid == device.claim_uid and named in ("", device.name)
    return same and not claim.terminating
