"""Holders: which pods hold a bound claim. See `rules/holders.py` for the order of its writes.

One key is one claim.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from elasticgpu.api.claim import ClaimUser, ElasticGPUClaim
from elasticgpu.api.core import Pod
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Key
from elasticgpu.cluster.informer import Change
from elasticgpu.cluster.workqueue import WorkQueue
from elasticgpu.errors import NotFound, Retry
from elasticgpu.rules import holders
from elasticgpu.rules.entries import entries
from elasticgpu.rules.holders import Add, Drop, Keep, strangers

from .views import holders_view
from .world import World

UNSEEN = 5.0
"""Seconds after which a living pod is looked for again that the cache does not show: its event
comes sooner, unless somebody took our label from it."""


@dataclass
class Holders:
    """The loop over claims and the pods that name them."""

    world: World
    queue: WorkQueue[Key] = field(default_factory=lambda: WorkQueue("holders"))

    def subscribe(self) -> None:
        """Hear of claims, the pods that name them, and what the node has prepared."""
        self.world.claims.subscribe(self._claim_changed)
        self.world.pods.subscribe(self._pod_changed)
        self.world.devices.subscribe(self._device_changed)

    def _claim_changed(self, change: Change[ElasticGPUClaim]) -> None:
        if change.new is not None:
            self.queue.add(change.new.key)

    def _pod_changed(self, change: Change[Pod]) -> None:
        for pod in (change.old, change.new):
            for entry in entries(pod) if pod else ():
                self.queue.add(entry.key)

    def _device_changed(self, change: Change[ElasticGPU]) -> None:
        for device in (change.old, change.new):
            if device is not None and device.spec.claim_ref is not None:
                self.queue.add(device.spec.claim_ref.key)
            for claim in self.world.claims.by_index("device", device.name) if device else ():
                self.queue.add(claim.key)

    async def reconcile(self, key: Key) -> None:
        """Bring the claim's rows one step further."""
        claim = self.world.claims.get(key)
        if claim is None:
            return
        match holders.decide(holders_view(self.world, claim)):
            case Keep():
                pass
            case Drop(users, unseen):
                await self._confirm_gone(claim, unseen)
                await self._write(claim, users)
            case Add(users):
                await self._grant(claim, users)

    async def _confirm_gone(self, claim: ElasticGPUClaim, rows: tuple[ClaimUser, ...]) -> None:
        """An absence in the cache proves nothing. Raises Retry if one of these pods lives."""
        for row in rows:
            try:
                pod = await self.world.client.get(Pod, (claim.namespace, row.pod_name))
            except NotFound:
                continue
            if pod.uid == row.pod_uid and not pod.finished:
                raise Retry(f"pod {pod.name} is there after all", after=UNSEEN)

    async def _grant(self, claim: ElasticGPUClaim, users: tuple[ClaimUser, ...]) -> None:
        """Known from the decision on, so that decisions about the pods' other claims see it."""
        self.world.granting[claim.key] = frozenset(row.pod_uid for row in users)
        try:
            if await self._unprepared(claim, users):
                await self._write(claim, users)
        finally:
            del self.world.granting[claim.key]

    async def _unprepared(self, claim: ElasticGPUClaim, users: tuple[ClaimUser, ...]) -> bool:
        """Whether the node, asked live, has the device ready for nobody but these."""
        try:
            device = await self.world.client.get(ElasticGPU, ("", claim.spec.elastic_gpu_name))
        except NotFound:
            return False
        self.world.devices.observed(device)
        return not strangers(users, device.status.prepared_for)

    async def _write(self, claim: ElasticGPUClaim, users: tuple[ClaimUser, ...]) -> None:
        await self.world.replace(claim.with_users(users), "status")
