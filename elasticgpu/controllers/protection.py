"""Protection: a claim being deleted stays until no pod holds it.

One key is one claim. The rows of `status.users` are the only witness needed: a pod gets the
device only through a row, and a row and this finalizer are written to the same object by
compare-and-swap, so one of two racing writers always loses.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.meta import Key
from elasticgpu.api.names import CLAIM_PROTECTION
from elasticgpu.cluster.events import Recorder
from elasticgpu.cluster.informer import Change
from elasticgpu.cluster.workqueue import WorkQueue

from .world import World


@dataclass
class Protection:
    """The loop over claims that are being deleted."""

    world: World
    recorder: Recorder
    queue: WorkQueue[Key] = field(default_factory=lambda: WorkQueue("protection"))

    def subscribe(self) -> None:
        """Hear of claims that somebody deletes."""
        self.world.claims.subscribe(self._claim_changed)

    def _claim_changed(self, change: Change[ElasticGPUClaim]) -> None:
        if change.new is not None and change.new.terminating:
            self.queue.add(change.new.key)

    async def reconcile(self, key: Key) -> None:
        """Let the claim go once nobody holds it."""
        claim = self.world.claims.get(key)
        if claim is None or not claim.terminating:
            return
        if claim.status.users:
            pods = ", ".join(row.pod_name for row in claim.status.users)
            message = f"is being deleted: it goes when pod {pods} has ended"
            return self.recorder.event(claim, "Normal", "InUse", message, action="Protect")
        if CLAIM_PROTECTION in claim.metadata.finalizers:
            await self.world.replace(claim.without_finalizers(CLAIM_PROTECTION))
