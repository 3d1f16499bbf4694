"""Companies: which claims share one decision about their node, and which pods wait for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Pod
from elasticgpu.api.meta import Key
from elasticgpu.errors import Retry
from elasticgpu.rules.classes import waits_for_pod
from elasticgpu.rules.consumer import Consumer
from elasticgpu.rules.entries import entries, made_for
from elasticgpu.rules.holders import turn
from elasticgpu.rules.seeking import CompanyView

from .views import claim_view, holds_another
from .world import World

MOST = 64
"""Claims of a company, at most."""

SOON = 0.05
"""Seconds after which a claim is looked at again that somebody else is writing."""


def company_view(world: World, claim: ElasticGPUClaim) -> CompanyView:
    """What decides about a claim, and about those that go with it. Raises Retry while the first
    write of one of them is under way, or what it takes to choose a node is not known yet."""
    own = claim_view(world, claim)
    if claim.spec.elastic_gpu_name or claim.terminating:
        return CompanyView((own,))
    circle = _Circle(world)
    circle.gather(claim)
    if circle.members.keys() & world.locking:
        raise Retry(f"the company of {claim.name} is being placed", after=SOON)
    views = [own, *(claim_view(world, one) for one in circle.members.values() if one is not claim)]
    waits = any(waits_for_pod(v.gpu_class) for v in views if not v.claim.spec.elastic_gpu_name)
    if len(views) == 1 and not circle.absent and not own.company:
        return CompanyView((own,))
    taken = world.tenants.counted() if waits else world.tenants.occupancy
    pods = tuple(circle.pods.values()) if waits else ()
    return CompanyView(
        members=tuple(replace(view, company=True) for view in views),
        absent=tuple(circle.absent),
        consumers=tuple(Consumer.of(pod) for pod in pods),
        refusals={n: w for pod in pods for n, w in world.tenants.refused.get(pod.uid, {}).items()},
        node=lambda name: world.nodes.get(("", name)),
        taken=lambda name, uid: taken.on(name, without=uid),
    )


@dataclass
class _Circle:
    """A claim's company while it is being gathered."""

    world: World
    members: dict[Key, ElasticGPUClaim] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)

    def gather(self, claim: ElasticGPUClaim) -> None:
        """Everybody who goes with it. A claim that has its device leads to nobody else."""
        self.members[claim.key] = claim
        unseen = [claim]
        while unseen and len(self.members) <= MOST:
            one = unseen.pop()
            if not one.spec.elastic_gpu_name:
                unseen += self._new(self._beside(one))
        if len(self.members) > MOST:
            self.absent.append(f"more than {MOST} claims would have to be on one node")

    def _new(self, keys: Iterator[Key]) -> Iterator[ElasticGPUClaim]:
        for key in keys:
            found = self.world.claims.get(key)
            if found is None:
                self.absent.append(f"ElasticGPUClaim {key[1]} does not exist")
            elif found.terminating:
                self.absent.append(f"ElasticGPUClaim {key[1]} is being deleted")
            elif key not in self.members:
                self.members[key] = found
                yield found

    def _beside(self, claim: ElasticGPUClaim) -> Iterator[Key]:
        for name in claim.spec.colocate_with:
            yield (claim.namespace, name)
        for other in self.world.claims.by_index("colocated", claim.key):
            if not other.terminating and other.status.phase != "Lost":
                yield other.key
        pod = self._pod(claim)
        if pod is not None:
            self.pods[pod.uid] = pod
            for entry in entries(pod):
                yield entry.key

    def _pod(self, claim: ElasticGPUClaim) -> Pod | None:
        """The pod whose claims go with this one: the one it was made for, or the first to use it
        if its class waits for that."""
        owner = made_for(claim)
        if owner is not None:
            pod = self.world.pods.get((claim.namespace, owner.name))
            if pod is None or pod.uid != owner.uid or pod.finished or pod.terminating:
                self.absent.append(f"pod {owner.name}, which it was made for, is gone")
                return None
            return pod
        if not waits_for_pod(self.world.class_of(claim)):
            return None
        return first_pod(self.world, claim)


def first_pod(world: World, claim: ElasticGPUClaim) -> Pod | None:
    """The pod that will hold the claim once it is bound; None if no living one names it."""
    pods = world.pods.by_index("claim", claim.key)
    living = [pod for pod in pods if not pod.finished and not pod.terminating]
    return min(living, key=lambda p: turn(p, holds_another(world, p, claim)), default=None)
