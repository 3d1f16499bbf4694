"""Pods: hands bound claims to pods through their ResourceClaims, or says why a pod waits.

One key is one pod. A pod arrives with its `resourceClaims` entries; it leaves allocated, and the
scheduler and kubelet take over.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from elasticgpu.api.claim import ElasticGPUClaim, ElasticGPUClaimTemplate
from elasticgpu.api.core import Pod, ResourceClaim, ResourceClaimTemplate
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Key
from elasticgpu.cluster.clock import timestamp
from elasticgpu.cluster.events import Recorder
from elasticgpu.cluster.informer import Change
from elasticgpu.cluster.workqueue import WorkQueue
from elasticgpu.errors import Forbidden, Invalid, NamespaceTerminating
from elasticgpu.rules import handing, waiting
from elasticgpu.rules.allocation import Allocate, allocated, unallocated, unreserved
from elasticgpu.rules.handing import Action, Deallocate, MakeClaim, Say, Unreserve
from elasticgpu.rules.withdrawing import LookAgain, Withdraw

from . import withdrawing
from .lasting import Lasting
from .views import pod_view
from .world import World

WAITING = "WaitingForElasticGPU"
"""Reason of the Warning on a pod whose claims cannot be handed to it yet."""

PASSING = 1.0
"""Seconds after which what is over in a moment, as a rule, is news."""


@dataclass
class Pods:
    """The loop over pods that name claims."""

    world: World
    recorder: Recorder
    queue: WorkQueue[Key] = field(default_factory=lambda: WorkQueue("pods"))
    said: dict[Key, str] = field(default_factory=dict)
    lasting: Lasting = field(default_factory=Lasting)

    def subscribe(self) -> None:
        """Hear of pods, and of everything their entries lead to."""
        self.world.pods.subscribe(self._pod_changed)
        self.world.resource_claims.subscribe(self._resource_claim_changed)
        self.world.claims.subscribe(self._claim_changed)
        self.world.devices.subscribe(self._device_changed)
        self.world.templates.subscribe(self._template_changed)
        self.world.claim_templates.subscribe(self._claim_template_changed)

    def _pod_changed(self, change: Change[Pod]) -> None:
        pod = change.new or change.old
        if pod is not None:
            self.queue.add(pod.key)
        if change.new is None and pod is not None:
            self.said.pop(pod.key, None)
            self.lasting.seconds(pod.uid, holds=False)

    def _resource_claim_changed(self, change: Change[ResourceClaim]) -> None:
        claim = change.new or change.old
        for pod in claim.pods if claim else ():
            self.queue.add(pod)

    def _claim_changed(self, change: Change[ElasticGPUClaim]) -> None:
        claim = change.new or change.old
        if claim is not None:
            self._ask("claim", claim.key)

    def _device_changed(self, change: Change[ElasticGPU]) -> None:
        if change.new is not None and change.new.spec.claim_ref is not None:
            self._ask("claim", change.new.spec.claim_ref.key)

    def _template_changed(self, change: Change[ResourceClaimTemplate]) -> None:
        template = change.new or change.old
        if template is not None:
            self._ask("template", template.key)

    def _claim_template_changed(self, change: Change[ElasticGPUClaimTemplate]) -> None:
        if change.new is not None and change.old is None:
            self._ask("claim template", change.new.key)

    def _ask(self, index: str, key: Key) -> None:
        for pod in self.world.pods.by_index(index, key):
            self.queue.add(pod.key)

    async def reconcile(self, key: Key) -> None:
        """Bring one pod one step further."""
        view = await pod_view(self.world, key)
        actions = handing.decide(view)
        if not any(isinstance(action, Say) for action in actions):
            self.said.pop(key, None)
            self.lasting.seconds(view.pod.uid if view.pod else "", holds=False)
        made = {action.claim.key for action in actions if isinstance(action, MakeClaim)}
        with self.world.locked(made):  # they are placed together, once all are there
            for action in actions:
                try:
                    await self._act(key, view.pod, action)
                except (Invalid, Forbidden) as error:
                    self._say(view.pod, f"the API server refuses what it needs: {error.message}")
                    raise

    async def _act(self, key: Key, pod: Pod | None, action: Action) -> None:
        match action:
            case MakeClaim(claim):
                await self._make(claim)
            case Allocate(device=device) as order:
                with withdrawing.handing(self.world, device.name):
                    await withdrawing.write(self.world, allocated(order, now=timestamp()))
            case Unreserve(resource_claim):
                await withdrawing.write(self.world, unreserved(resource_claim))
            case Deallocate(resource_claim):
                await withdrawing.write(self.world, unallocated(resource_claim))
            case Withdraw() as order:
                await withdrawing.withdraw(self.world, order)
            case LookAgain(after):
                self.queue.add_after(key, after)
            case Say(message):
                self._say(pod, message)

    async def _make(self, claim: ElasticGPUClaim) -> None:
        try:
            self.world.claims.observed(await self.world.client.create(claim))
        except NamespaceTerminating:
            return

    def _say(self, pod: Pod | None, message: str) -> None:
        if pod is None:
            return
        lasted = self.lasting.seconds(pod.uid, waiting.passes(message))
        if waiting.passes(message) and lasted < PASSING:
            return self.queue.add_after(pod.key, PASSING - lasted)
        if self.said.get(pod.key) != message:
            self.said[pod.key] = message
            self.recorder.event(pod, "Warning", WAITING, message, action="HandOver")
