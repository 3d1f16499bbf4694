"""Reclaimer: devices that no bind is working on: admitted, released, reclaimed, rolled back.

One key is one device. Nothing is released or rolled back on the word of the cache alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Node
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.api.meta import Key
from elasticgpu.api.names import DEVICE_PROTECTION
from elasticgpu.cluster.clock import timestamp
from elasticgpu.cluster.events import Recorder
from elasticgpu.cluster.informer import Change
from elasticgpu.cluster.workqueue import WorkQueue
from elasticgpu.errors import NotFound, Retry
from elasticgpu.rules import reclaiming
from elasticgpu.rules.answers import Answer
from elasticgpu.rules.ledger import OVERCOMMITTED
from elasticgpu.rules.nodes import lost
from elasticgpu.rules.reclaiming import (
    Admit,
    Delete,
    Deny,
    InUse,
    Keep,
    Lose,
    Recover,
    Release,
    RollBack,
    Unprotect,
    in_phase,
    rolled_back,
)
from elasticgpu.rules.releasing import RELEASE_FAILED, Call, Free, Hold, unreleased
from elasticgpu.rules.transaction import NODE_LOST, device_bound, given_up

from .releasing import Releasing
from .views import device_view, lost_for_certain
from .world import World


@dataclass
class Reclaimer:
    """The loop over devices."""

    world: World
    recorder: Recorder
    queue: WorkQueue[Key] = field(default_factory=lambda: WorkQueue("reclaimer"))
    denied: set[Key] = field(default_factory=set)
    told: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.releasing = Releasing(self.world, self.queue.add_after)

    def subscribe(self) -> None:
        """Hear of devices, of the claims they point at, and of cards for a denied one."""
        self.world.devices.subscribe(self._device_changed)
        self.world.claims.subscribe(self._claim_changed)
        self.world.gpus.subscribe(self._gpu_changed)
        self.world.nodes.subscribe(self._node_changed)
        self.world.on_freed(self._ask_denied)

    def _device_changed(self, change: Change[ElasticGPU]) -> None:
        if change.new is not None:
            self.queue.add(change.new.key)
        elif change.old is not None:
            self.releasing.forget(change.old.uid)
            self.told.discard(change.old.uid)

    def _claim_changed(self, change: Change[ElasticGPUClaim]) -> None:
        for claim in (change.old, change.new):
            if claim is not None:
                for device in self.world.devices.by_index("claim", claim.key):
                    self.queue.add(device.key)

    def _gpu_changed(self, change: Change[GPU]) -> None:
        old, new = change.old, change.new
        if old is None or new is None or (old.spec, old.memory) != (new.spec, new.memory):
            self._ask_denied()
        if old is None and new is not None:
            self._ask("node", new.spec.node_name)

    def _node_changed(self, change: Change[Node]) -> None:
        name = (change.new or change.old or Node()).name
        if lost(name, change.old) != lost(name, change.new):
            self._ask("node", name)

    def _ask(self, index: str, value: str) -> None:
        for device in self.world.devices.by_index(index, value):
            self.queue.add(device.key)

    def _ask_denied(self) -> None:
        for key in sorted(self.denied):
            self.queue.add(key)

    async def reconcile(self, key: Key) -> None:
        """Bring one device one step further."""
        device = self.world.devices.get(key)
        self.denied.discard(key)
        if device is None:
            return
        decision = reclaiming.decide(device_view(self.world, device))
        if not isinstance(decision, Delete):
            self.releasing.forget(device.uid)
        match decision:
            case Keep():
                if device.status.reason == OVERCOMMITTED:
                    self.denied.add(key)
            case Admit():
                await self._phase(device, "Available")
            case Deny(message):
                self.denied.add(key)
                await self._phase(device, "Failed", OVERCOMMITTED, message)
                self.recorder.event(device, "Warning", OVERCOMMITTED, message, action="Admit")
            case Release():
                await self._confirm_gone(device)
                await self._phase(device, "Released")
            case RollBack():
                await self._confirm_elsewhere(device)
                freed = await self.world.replace(rolled_back(device))
                if freed.status.phase != "Failed":  # else the ledger lets it in first
                    await self._phase(freed, "Available")
            case Lose(message):
                await self._confirm_lost(device)
                await self._phase(device, "Failed", NODE_LOST, message)
                self.recorder.event(device, "Warning", NODE_LOST, message, action="Lose")
            case Recover():
                await self.world.replace(device_bound(device, now=timestamp()), "status")
            case InUse(message):
                if device.uid not in self.told:
                    self.told.add(device.uid)
                    self.recorder.event(device, "Normal", "InUse", message, action="Protect")
            case Delete():
                await self._delete(device)
            case Unprotect():
                await self._confirm_gone(device)
                await self.world.replace(device.without_finalizers(DEVICE_PROTECTION))

    async def _phase(
        self, device: ElasticGPU, phase: str, reason: str = "", message: str = ""
    ) -> None:
        if phase == "Available":
            # Counted before the write is sent: what is admitted next must see it.
            self.world.ledger.set_device(device.with_status(phase="Available"))
        new = in_phase(device, phase, now=timestamp(), reason=reason, message=message)  # type: ignore[arg-type]
        if new != device:
            await self.world.replace(new, "status")

    async def _live_claim(self, device: ElasticGPU) -> ElasticGPUClaim | None:
        ref = device.spec.claim_ref
        if ref is None:
            return None
        try:
            return await self.world.client.get(ElasticGPUClaim, ref.key)
        except NotFound:
            return None

    async def _confirm_gone(self, device: ElasticGPU) -> None:
        claim = await self._live_claim(device)
        if claim is not None and claim.uid == device.claim_uid:
            unnamed = claim.spec.elastic_gpu_name != device.name
            ended = device.terminating or given_up(device)
            if not (unnamed and (claim.spec.elastic_gpu_name or ended)):
                raise Retry(f"claim {claim.namespace}/{claim.name} is there after all", after=0.2)

    async def _confirm_lost(self, device: ElasticGPU) -> None:
        if await lost_for_certain(self.world, device.spec.node_name) is None:
            raise Retry(f"node {device.spec.node_name} is there after all", after=0.2)

    async def _confirm_elsewhere(self, device: ElasticGPU) -> None:
        claim = await self._live_claim(device)
        waits = ("", device.name) if not given_up(device) else (device.name,)
        if claim is not None and claim.spec.elastic_gpu_name in waits:
            raise Retry(f"claim {claim.namespace}/{claim.name} points here after all", after=0.2)

    async def _delete(self, device: ElasticGPU) -> None:
        """Free what it stands for outside the cluster, then the object; both can be repeated."""
        match self.releasing.look(device):
            case Free():
                await self._confirm_gone(device)
                if device.terminating:
                    await self.world.replace(device.without_finalizers(DEVICE_PROTECTION))
                elif (left := await self.world.client.delete(device)) is not None:
                    self.world.devices.observed(left)  # or the next look would delete it again
            case Call():
                await self._confirm_gone(device)
                await self.releasing.call(device)
            case Hold(answer):
                if answer is not None:
                    await self._say(device, answer)

    async def _say(self, device: ElasticGPU, answer: Answer) -> None:
        phase, reason, message = unreleased(device, answer)
        said = device.status
        if (phase, reason, message) == (said.phase, said.reason, said.message):
            return
        if not self.releasing.tells(device, reason):
            return
        await self._phase(device, phase, reason, message)
        if phase == "Failed":
            self.recorder.event(device, "Warning", RELEASE_FAILED, message, action="Release")
