"""Provisioning: claims whose place is chosen, until a provisioner's device is stored or refused.

One key is one claim by its uid: a claim that is gone is seen to its end like any other. Calls run
in the background, at most one a claim; the key comes back when its call has ended.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import find_condition
from elasticgpu.api.names import PROVISIONING, device_name
from elasticgpu.cluster.clock import timestamp
from elasticgpu.cluster.events import Recorder
from elasticgpu.cluster.informer import Change
from elasticgpu.cluster.workqueue import WorkQueue
from elasticgpu.errors import AlreadyExists, Forbidden, Invalid
from elasticgpu.rules import answers, marks, provisioning
from elasticgpu.rules.answers import CLEANUP_FAILED, EFFECTS, SLOW, Answer, Kind
from elasticgpu.rules.provisioning import Ask, Begin, End, Leave, Rest, Store, Undo

from .attempts import Attempt, attempt
from .creating import send
from .works import Ref, Work, ref
from .world import World


@dataclass
class Provisioning:
    """The loop over claims for which a provisioner is at work."""

    world: World
    recorder: Recorder
    queue: WorkQueue[Ref] = field(default_factory=lambda: WorkQueue("provisioning"))
    attempts: dict[str, Attempt] = field(default_factory=dict)
    expiry: dict[str, float] = field(default_factory=dict)

    def subscribe(self) -> None:
        """Hear of claims in progress, whoever began, and of those that are gone."""
        self.world.works.on_begun.append(self.queue.add)
        self.world.claims.subscribe(self._claim_changed)

    def _claim_changed(self, change: Change[ElasticGPUClaim]) -> None:
        new, works = change.new, self.world.works
        if new is not None and new.uid not in works and self._stored(new.uid) is None:
            self.world.resume(new)
        for claim in (change.old, new):
            if claim is not None and (claim.uid in works or marks.has_marks(claim)):
                self.queue.add(ref(claim))
        if new is None and change.old is not None:
            works.refusals.pop(change.old.uid, None)
            self.expiry.pop(change.old.uid, None)

    async def reconcile(self, at: Ref) -> None:
        """Bring one claim one step further."""
        claim = self.world.claims.get(at.key)
        claim = claim if claim is not None and claim.uid == at.uid else None
        work = self.world.works.by_uid.get(at.uid)
        self._expire(at)
        if work is None:
            return await self._tidy(claim)
        work.claim = claim or work.claim
        await self._step(work, self._attempt(at), claim)

    async def _step(self, work: Work, tried: Attempt, claim: ElasticGPUClaim | None) -> None:
        stored = self._stored(work.ref.uid) is not None
        plugin = self.world.runners.get(work.request.provisioner)
        view = tried.view(work, claim, stored=stored, installed=plugin is not None)
        match provisioning.decide(view):
            case Begin():
                await self._begin(work, tried)
            case Ask():
                assert plugin is not None
                tried.ask(work, plugin)
            case Store(device):
                await self._store(work, tried, device)
            case Undo(device):
                if view.cleanup is None:
                    await self._say(tried, claim, view.answer)
                assert plugin is not None
                tried.undo(device, plugin)
            case Rest(answer):
                failing = answer is not None and answer is view.cleanup
                await self._say(tried, claim, answer, CLEANUP_FAILED if failing else "")
            case End(answer):
                await self._end(work, claim, answer)
            case Leave():
                self._leave(work)

    def _attempt(self, at: Ref) -> Attempt:
        if at.uid not in self.attempts:
            self.attempts[at.uid] = attempt(lambda seconds: self.queue.add_after(at, seconds))
        return self.attempts[at.uid]

    def _stored(self, uid: str) -> ElasticGPU | None:
        device = self.world.devices.get(("", device_name(uid)))
        return device if device is not None and device.claim_uid == uid else None

    async def _begin(self, work: Work, tried: Attempt) -> None:
        """Both writes before the first call, each skipped if it is already true."""
        claim = work.claim
        try:
            if PROVISIONING not in claim.metadata.finalizers:
                claim = await self.world.replace(claim.with_finalizers(PROVISIONING))
            if claim.status.provisioning != work.request:
                new = marks.recorded(claim, work.request, now=timestamp())
                await self.world.replace(new, "status")
        except Invalid as error:
            words = f"the request to {work.request.provisioner} cannot be written down: {error}"
            tried.making.answer = Answer(Kind.REFUSED, words)
        self.queue.add(work.ref)

    async def _store(self, work: Work, tried: Attempt, device: ElasticGPU) -> None:
        """Create it. What the API server refuses for certain is to be released again."""
        try:
            await send(self.world, device)
        except (Invalid, Forbidden, AlreadyExists) as error:
            name = work.request.provisioner
            tried.reject(device, f"what {name} made cannot be stored: {error.message}")
        self.queue.add(work.ref)

    async def _say(
        self, tried: Attempt, claim: ElasticGPUClaim | None, answer: Answer | None, why: str = ""
    ) -> None:
        """On the claim, if it does not say so already or has just said much the same."""
        if claim is None or answer is None:
            return
        reason = why or EFFECTS[answer.kind].reason
        new = marks.told(claim, answer, now=timestamp(), reason=reason)
        bound = find_condition(claim.status.conditions, "Bound")
        if new != claim and tried.making.tells(bound is not None and bound.reason == reason):
            await self._write(claim, new)

    async def _write(self, claim: ElasticGPUClaim, new: ElasticGPUClaim) -> ElasticGPUClaim:
        """Write its status; news that somebody should act on is an event as well."""
        written = await self.world.replace(new, "status")
        was, now = (find_condition(c.status.conditions, "Bound") for c in (claim, new))
        if now is not None and now != was and now.reason in answers.WARNINGS:
            self.recorder.event(claim, "Warning", now.reason, now.message, action="Provision")
        return written

    async def _end(self, work: Work, claim: ElasticGPUClaim | None, answer: Answer | None) -> None:
        if claim is not None:
            claim = await self._unmark(claim, work, answer)
            if answer is not None and answer.kind in (Kind.REFUSED, Kind.FOREIGN):
                self._remember(work, claim, answer)
        self._leave(work)

    async def _unmark(
        self, claim: ElasticGPUClaim, work: Work | None, answer: Answer | None
    ) -> ElasticGPUClaim:
        """The request leaves the status, with a word on why; only then the finalizer goes."""
        node = work.request.node_name if work else ""
        new = marks.closed(claim, node, answer, now=timestamp())
        claim = await self._write(claim, new) if new != claim else claim
        if PROVISIONING in claim.metadata.finalizers:
            claim = await self.world.replace(claim.without_finalizers(PROVISIONING))
        return claim

    async def _tidy(self, claim: ElasticGPUClaim | None) -> None:
        """Marks of which nothing is under way any more go, unless the bind that goes on does it."""
        if claim is None or not marks.has_marks(claim):
            return
        if self._stored(claim.uid) is None or not marks.wanted(claim):
            await self._unmark(claim, None, None)

    def _leave(self, work: Work) -> None:
        self.attempts.pop(work.ref.uid, None)
        self.world.end(work)

    def _remember(self, work: Work, claim: ElasticGPUClaim, answer: Answer) -> None:
        gpu_class = self.world.classes.get(("", work.request.class_name))
        refused = marks.refusal(answer, claim, gpu_class)
        self.world.works.refusals[claim.uid] = refused
        if answer.kind is Kind.REFUSED:
            self.expiry[claim.uid] = _now() + SLOW
            self.queue.add_after(work.ref, SLOW)

    def _expire(self, at: Ref) -> None:
        """After a while the binder may ask again, though nothing has changed."""
        until = self.expiry.get(at.uid)
        if until is not None and _now() < until:
            self.queue.add_after(at, until - _now())
        elif until is not None:
            del self.expiry[at.uid]
            self.world.works.refusals.pop(at.uid, None)
            self.world.works.end(at)


def _now() -> float:
    return asyncio.get_running_loop().time()
