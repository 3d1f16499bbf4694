"""Binder: claim ⇄ ElasticGPU. A claim arrives pending; it leaves Bound, Lost, or saying why not.

One key is one claim; when it is asked again says `waking.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TypeVar

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Key, find_condition
from elasticgpu.cluster.clock import timestamp
from elasticgpu.cluster.events import Recorder
from elasticgpu.cluster.workqueue import WorkQueue
from elasticgpu.errors import Forbidden, Invalid, NotFound, Refused, Retry
from elasticgpu.rules import binding, company, growing, transaction, upkeep
from elasticgpu.rules.classes import waits_for_pod
from elasticgpu.rules.company import Forget, GiveUp, Later
from elasticgpu.rules.decisions import (
    Bind,
    Contradiction,
    Create,
    Lost,
    Provision,
    Settled,
    Unbind,
    Wait,
)
from elasticgpu.rules.growing import Grow, Short
from elasticgpu.rules.seeking import CompanyView, Place, StartAnew

from .companies import company_view
from .creating import create, provision
from .placing import Pauses, give_up, place
from .views import growth_view, upkeep_view
from .waking import Waking
from .world import World

T = TypeVar("T", ElasticGPU, ElasticGPUClaim)
M = TypeVar("M")

PATIENCE = 30.0
"""Seconds after which a sentence on a waiting claim is written anew if only its figures changed."""

LATER = 1.0
"""Seconds after which a claim is looked at again whose company is on its way."""


@dataclass
class Binder:
    """The loop over claims."""

    world: World
    recorder: Recorder
    queue: WorkQueue[Key] = field(default_factory=lambda: WorkQueue("binder"))
    waking: Waking = field(init=False)
    said: dict[Key, float] = field(default_factory=dict)
    pauses: Pauses = field(default_factory=Pauses)

    def __post_init__(self) -> None:
        self.waking = Waking(self.world, self.queue, self._forget)

    def subscribe(self) -> None:
        """Hear of everything that can change a decision."""
        self.waking.subscribe()

    def _forget(self, key: Key) -> None:
        self.said.pop(key, None)
        self.pauses.forget(key)

    async def reconcile(self, key: Key) -> None:
        """Bring one claim one step further."""
        claim = self.world.claims.get(key)
        self.waking.waiting.discard(key)
        await self._finish_strays(key, claim)
        if claim is None:
            return
        view = company_view(self.world, claim)
        with self.world.locked({claim.key}):
            await self._act(claim, view)

    async def _act(self, claim: ElasticGPUClaim, view: CompanyView) -> None:
        match company.decide(view):
            case Settled():
                await self._keep(claim)
            case Bind(device):
                await self._bind(claim, device)
                self._say_repaired(claim, device)
                self._ask_company(view)
            case Provision() as chosen:
                await self._bind_new(claim, provision(self.world, claim, chosen))
            case Create(device):
                await self._made(claim, create(self.world, device))
            case Wait() as why:
                await self._wait(claim, why)
            case Unbind(device):
                await self._unbind(claim, device)
            case Lost() as why:
                await self._lose(claim, why, view.members[0].named)
            case Contradiction(message):
                raise Refused(message)
            case Place() as order:
                await self._place(claim, view, order)
            case GiveUp(devices, message):
                await give_up(self.world, devices, message)
            case StartAnew(message):
                await self._start_anew(claim, view, message)
            case Forget():
                await self._write(claim, transaction.forgotten(claim), "status")
            case Later():
                raise Retry(f"the company of {claim.name} is not ready", after=LATER)

    async def _keep(self, claim: ElasticGPUClaim) -> None:
        """A bound claim may have more to say, and less to remember."""
        device = self.world.device_of(claim)
        if device is None or claim.terminating or claim.status.phase != transaction.BOUND:
            return
        device, short = await self._grown(claim, device)
        view = upkeep_view(self.world, claim, device, short)
        new = upkeep.kept(view, now=timestamp())
        crowded = short is not None and short.reason == growing.NO_ROOM
        if new == claim or (crowded and self._said_lately(claim, growing.RESIZED, growing.NO_ROOM)):
            return
        await self._write(claim, new, "status")
        for said in new.status.conditions:
            was = find_condition(claim.status.conditions, said.type)
            if said.type in (growing.RESIZED, upkeep.COLOCATED) and said != was:
                self.recorder.event(claim, "Warning", said.reason, said.message, action="Bind")
        if claim.status.excluded_nodes and not new.status.excluded_nodes:
            self.pauses.forget(claim.key)

    async def _grown(
        self, claim: ElasticGPUClaim, device: ElasticGPU
    ) -> tuple[ElasticGPU, Short | None]:
        """The device, larger if the claim asks for more and there is room; and what it still is
        short of. Who waits for room is asked again when some is given back."""
        match growing.decide(growth_view(self.world, claim, device)):
            case Grow(larger):
                larger = await self.world.grow(larger)
                after = growing.decide(growth_view(self.world, claim, larger))
                return larger, after if isinstance(after, Short) else None
            case Short(reason) as short:
                if reason == growing.NO_ROOM:
                    self.waking.waiting.add(claim.key)
                return device, short
            case None:
                return device, None

    def _ask_company(self, view: CompanyView) -> None:
        """What one of them has got further may be what the others wait for."""
        for member in view.members:
            if member.claim.status.phase != transaction.BOUND:
                self.queue.add(member.claim.key)

    async def _place(self, claim: ElasticGPUClaim, view: CompanyView, order: Place) -> None:
        self.pauses.end(_first(view))
        with self.world.locked(part.view.claim.key for part in order.parts):
            await self._made(claim, place(self.world, view, order))
        self._ask_company(view)

    async def _start_anew(self, claim: ElasticGPUClaim, view: CompanyView, message: str) -> None:
        """Nothing is excluded any more once they have rested."""
        first = _first(view)
        length = self.pauses.length(first)
        if left := self.pauses.left(first):
            self.queue.add_after(claim.key, left)
            words = f"{message}; all are tried again after {length:.0f} s"
            return await self._wait(claim, Wait("TriedInVain", words))
        for member in view.members:
            await self._write(member.claim, transaction.forgotten(member.claim), "status")
            self.queue.add(member.claim.key)

    async def _finish_strays(self, key: Key, claim: ElasticGPUClaim | None) -> None:
        """A create that was never answered is sent again even if nobody wants its device by now:
        only a definite answer tells whether its room is held, and the reclaimer does the rest."""
        for device in self.world.unanswered(key):
            if claim is None or not _wants(claim, device):
                await create(self.world, device)

    async def _bind_new(self, claim: ElasticGPUClaim, making: Awaitable[ElasticGPU | None]) -> None:
        """Bind what is being made; what a provisioner makes by itself comes back as a device that
        points at the claim."""
        device = await self._made(claim, making)
        if device is not None:
            await self._bind(claim, device)

    async def _made(self, claim: ElasticGPUClaim, making: Awaitable[M]) -> M:
        """What is made for the claim; why it cannot be made is said there, and tried again."""
        try:
            return await making
        except (Refused, Retry, Invalid, Forbidden) as error:
            await self._wait(claim, Wait("ProvisioningFailed", str(error)))
            raise

    async def _wait(self, claim: ElasticGPUClaim, why: Wait) -> None:
        self.waking.waiting.add(claim.key)
        await self._report(claim, why, self.world.class_in_effect(claim) or "")

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
        final = not waits_for_pod(self.world.class_of(claim))
        bound = transaction.claim_bound(claim, device, now=timestamp(), final=final)
        await self._write(claim, bound, "status")

    def _say_repaired(self, claim: ElasticGPUClaim, device: ElasticGPU) -> None:
        if said := transaction.cut_off(claim, device):
            self.recorder.event(device, "Warning", "ClaimRefTaken", said, action="Bind")
            self.recorder.event(claim, "Warning", "ClaimRefTaken", said, action="Bind")

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
        if new == claim or self._said_lately(claim, "Bound", why.reason):
            return
        await self._write(claim, new, "status")
        kind = why.event if isinstance(why, Wait) else "Warning"
        if kind is not None:
            self.recorder.event(claim, kind, why.reason, why.message, action="Bind")

    def _said_lately(self, claim: ElasticGPUClaim, kind: str, reason: str) -> bool:
        """Whether only the figures of a sentence changed, soon after it was written: that can wait,
        or every change of a full cluster would be written on every claim that waits."""
        said = find_condition(claim.status.conditions, kind)
        now = asyncio.get_running_loop().time()
        since = now - self.said.get(claim.key, -PATIENCE)
        if said is not None and said.reason == reason and since < PATIENCE:
            self.queue.add_after(claim.key, PATIENCE - since)
            return True
        self.said[claim.key] = now
        return False

    async def _lose(self, claim: ElasticGPUClaim, why: Lost, seen: ElasticGPU | None) -> None:
        """Lost is said only after a live look: what was `seen` of the device proves nothing."""
        name = claim.spec.elastic_gpu_name
        if name:
            try:
                live = await self.world.client.get(ElasticGPU, ("", name))
            except NotFound:
                live = None
            if live is not None and live != seen:
                self.world.devices.observed(live)
                raise Retry(f"ElasticGPU {name} was seen too late", after=0.05)
        await self._report(claim, why, claim.status.class_name)


def _first(view: CompanyView) -> Key:
    """The company's name among companies."""
    return min(member.claim.key for member in view.members)


def _wants(claim: ElasticGPUClaim, device: ElasticGPU) -> bool:
    """Whether a device made for this claim can still be bound to it."""
    named = claim.spec.elastic_gpu_name
    same = claim.uid == device.claim_uid and named in ("", device.name)
    return same and not claim.terminating
