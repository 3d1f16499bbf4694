"""Devices taken back from a pod that the scheduler finds no place for on their node.

What speaks against a node is often known to the scheduler alone. A pod whose devices were placed
for it, and which is unschedulable for ten seconds since, loses them again: first the allocations,
by compare-and-swap, so that the scheduler either has chosen the node before or sees that they are
gone; then the devices are given up; then they are placed elsewhere. All of its claims go together:
one that excludes a node where another still is shows that a crash came in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Pod, PodCondition, ResourceClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.names import BOUND_BY_CONTROLLER

from .allocation import allocated_device, scheduled
from .classes import waits_for_pod
from .transaction import given_up

PATIENCE = 10.0
"""Seconds for which a pod has to be unschedulable. It is tried again at once when an allocation
appears, unless it failed just before: then after at most ten seconds."""

RESOLUTION = 1.0
"""Seconds that are added because times are written in whole ones."""

LONGEST = 300
"""Characters of the scheduler's words, at most, that are repeated."""


@dataclass(frozen=True, slots=True)
class Sharer:
    """Another pod that holds the claim, None if it is gone, and its ResourceClaims."""

    name: str
    pod: Pod | None = None
    resource_claims: tuple[ResourceClaim, ...] = ()


@dataclass(frozen=True, slots=True)
class Stake:
    """What a waiting pod has of one of its claims.

    `sharers` hold the claim too. `partners` are bound claims, of other pods or of none, with which
    this one is colocated.
    """

    claim: ElasticGPUClaim
    device: ElasticGPU
    resource_claim: ResourceClaim
    gpu_class: ElasticGPUClass | None = None
    sharers: tuple[Sharer, ...] = ()
    partners: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Take these allocations away, then give the devices up. `words` are the scheduler's."""

    pod: Pod
    resource_claims: tuple[ResourceClaim, ...]
    stakes: tuple[Stake, ...]
    node: str
    words: str

    @property
    def message(self) -> str:
        """What happens, for the pod."""
        said = f" ({self.words})" if self.words else ""
        return f"node {self.node} does not take it{said}: its devices move to another node"


@dataclass(frozen=True, slots=True)
class LookAgain:
    """It may be time in so many seconds."""

    after: float


@dataclass(frozen=True, slots=True)
class Stays:
    """The scheduler finds no place, and the devices stay where they are, for that reason."""

    message: str


Verdict = Withdraw | LookAgain | Stays


def decide(
    pod: Pod, stakes: Sequence[Stake], unserved: Sequence[ElasticGPUClaim], *, now: str
) -> Verdict | None:
    """What becomes of the devices of a pod that has no node; None: they are its to wait with.

    `unserved` are its claims that have no device, or none that serves.
    """
    if left := _left_behind(pod, stakes, unserved):
        return _withdraw(pod, left, "")
    refused = _refused(pod)
    unserved = [*unserved, *(one.claim for one in stakes if given_up(one.device))]
    if unserved or refused is None or not _handed_over(stakes) or pod.status.nominated_node_name:
        return None
    times = [_allocated_at(one.resource_claim) for one in stakes]
    waited = _seconds(max(refused.last_transition_time, *times), now)
    if waited < PATIENCE + RESOLUTION:
        return LookAgain(PATIENCE + RESOLUTION - waited)
    words = refused.message[:LONGEST]
    here = [one for one in stakes if one.device.spec.node_name]
    reasons = ((one, fixed(pod, one)) for one in here)
    if stay := next(((one, why) for one, why in reasons if why), None):
        one, why = stay
        where = f"ElasticGPUClaim {one.claim.name} stays on node {one.device.spec.node_name}"
        return Stays(f"{where}, which does not take the pod ({words}): {why}")
    return _withdraw(pod, here, words)


def fixed(pod: Pod, stake: Stake) -> str | None:
    """Why the claim's device stays where it is, in words; None if it may be placed elsewhere."""
    claim, device = stake.claim, stake.device
    if not waits_for_pod(stake.gpu_class):
        return "devices of its class are placed at once, and not moved for a pod"
    chosen = BOUND_BY_CONTROLLER in claim.metadata.annotations
    if not chosen or BOUND_BY_CONTROLLER not in device.metadata.annotations:
        return f"{device.name} was chosen for it by name"
    if device.status.prepared_for:
        return f"{device.name} is prepared for a pod there"
    for sharer in stake.sharers:
        if sharer.pod is None or sharer.pod.spec.node_name or scheduled(sharer.resource_claims):
            return f"pod {sharer.name} has it too"
    if stake.partners:
        return f"it is colocated with {', '.join(stake.partners)}"
    return None


def _left_behind(
    pod: Pod, stakes: Sequence[Stake], unserved: Sequence[ElasticGPUClaim]
) -> list[Stake]:
    """Devices on a node from which another of the pod's has been withdrawn."""
    nodes = {node for claim in unserved for node in claim.status.excluded_nodes}
    nodes |= {one.device.spec.node_name for one in stakes if given_up(one.device)} - {""}
    return [
        one
        for one in stakes
        if one.device.spec.node_name in nodes
        and not given_up(one.device)
        and not scheduled((one.resource_claim,))
        and fixed(pod, one) is None
    ]


def _withdraw(pod: Pod, stakes: Sequence[Stake], words: str) -> Withdraw:
    made = [one.resource_claim for one in stakes]
    made += [rc for one in stakes for sharer in one.sharers for rc in sharer.resource_claims]
    held = tuple(rc for rc in made if rc.status.allocation)
    return Withdraw(pod, held, tuple(stakes), stakes[0].device.spec.node_name, words)


def _refused(pod: Pod) -> PodCondition | None:
    """What the scheduler says, if it finds no place for the pod."""
    said = (c for c in pod.status.conditions if c.type == "PodScheduled")
    return next((c for c in said if c.status == "False" and c.reason == "Unschedulable"), None)


def _handed_over(stakes: Sequence[Stake]) -> bool:
    """Whether the scheduler has all it waits for from us, and has not chosen the node."""
    whole = all(allocated_device(one.resource_claim) == one.device.name for one in stakes)
    placed = any(one.device.spec.node_name for one in stakes)
    return bool(stakes) and whole and placed and not scheduled([s.resource_claim for s in stakes])


def _allocated_at(resource_claim: ResourceClaim) -> str:
    allocation = resource_claim.status.allocation
    return (allocation.allocation_timestamp or "") if allocation else ""


def _seconds(since: str, now: str) -> float:
    """Seconds between two times as the server writes them; 0 if the first is not known."""
    if not since or not now:
        return 0.0
    return (datetime.fromisoformat(now) - datetime.fromisoformat(since)).total_seconds()
