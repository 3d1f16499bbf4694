"""Protection: a claim being deleted stays until no pod holds it, nor could be about to.

One key is one namespace: for all its claims that may go by what is known, the pods are read live
once, so that one unseen by the cache counts as well. A claim that cannot be written holds up no
other.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Pod
from elasticgpu.api.meta import Key
from elasticgpu.api.names import CLAIM_PROTECTION
from elasticgpu.cluster.events import Recorder
from elasticgpu.cluster.informer import Change
from elasticgpu.cluster.workqueue import WorkQueue
from elasticgpu.rules.holders import keepers

from .world import SELECTOR, World


@dataclass
class Protection:
    """The loop over namespaces in which claims are being deleted."""

    world: World
    recorder: Recorder
    queue: WorkQueue[Key] = field(default_factory=lambda: WorkQueue("protection"))
    said: dict[str, str] = field(default_factory=dict)
    """What was said about a claim last, by its uid."""

    def subscribe(self) -> None:
        """Hear of claims that somebody deletes, and of the pods for which they stay."""
        self.world.claims.subscribe(self._claim_changed)
        self.world.pods.subscribe(self._pod_changed)

    def _claim_changed(self, change: Change[ElasticGPUClaim]) -> None:
        if change.new is not None and change.new.terminating:
            self.queue.add((change.new.namespace, ""))
        elif change.new is None and change.old is not None:
            self.said.pop(change.old.uid, None)

    def _pod_changed(self, change: Change[Pod]) -> None:
        pod = change.new or change.old
        if pod is not None and (change.new is None or pod.finished) and self._going(pod.namespace):
            self.queue.add((pod.namespace, ""))

    def _going(self, namespace: str) -> list[ElasticGPUClaim]:
        """The claims of a namespace that are being deleted and wait for our finalizer."""
        return self.world.claims.by_index("going", namespace)

    async def reconcile(self, key: Key) -> None:
        """Let those claims of the namespace go that nobody holds. Raises the first error."""
        namespace, _ = key
        free = [c for c in self._going(namespace) if self._free(c, self._known(c))]
        if not free:
            return
        live = self.world.client.list(Pod, namespace=namespace, label_selector=SELECTOR)
        pods = [pod async for pod in live]
        letting = [self._let_go(claim) for claim in free if self._free(claim, pods)]
        for error in await asyncio.gather(*letting, return_exceptions=True):
            if error is not None:
                raise error

    def _known(self, claim: ElasticGPUClaim) -> list[Pod]:
        return self.world.pods.by_index("claim", claim.key)

    def _free(self, claim: ElasticGPUClaim, pods: list[Pod]) -> bool:
        """Whether no pod keeps it; if one does, the claim says so, once."""
        names = keepers(claim, pods)
        message = f"is being deleted: it goes when pod {', '.join(names)} has ended"
        if names and self.said.get(claim.uid) != message:
            self.said[claim.uid] = message
            self.recorder.event(claim, "Normal", "InUse", message, action="Protect")
        return not names

    async def _let_go(self, claim: ElasticGPUClaim) -> None:
        await self.world.replace(claim.without_finalizers(CLAIM_PROTECTION))
