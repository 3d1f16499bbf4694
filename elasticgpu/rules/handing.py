"""What a pod needs next: its ResourceClaims allocated, or a sentence why it waits.

Our entry in `reservedFor` (see `allocation.py`) goes as soon as the pod has a node, ends or is
deleted.
"""

from __future__ import annotations

from dataclasses import dataclass

from elasticgpu.api.claim import ElasticGPUClaim, ElasticGPUClaimTemplate
from elasticgpu.api.core import Pod, ResourceClaim
from elasticgpu.api.gpuclass import Topology
from elasticgpu.api.meta import ObjectMeta, OwnerReference

from . import withdrawing
from .allocation import Allocate, misallocated, movable, reserved_by_us
from .entries import Entry, annotated, entries
from .holders import holds, serves
from .transaction import given_up
from .waiting import EntryView, why
from .withdrawing import (
    LookAgain,
    Stake,
    Stays,
    Verdict,
    Withdraw,
)


@dataclass(frozen=True, slots=True)
class PodView:
    """A pod, or what it left behind (`pod` is None), and its entries.

    `resource_claims` are all that were made for it. `now` is the time as the server writes it.
    """

    pod: Pod | None
    entries: tuple[EntryView, ...] = ()
    resource_claims: tuple[ResourceClaim, ...] = ()
    now: str = ""


@dataclass(frozen=True, slots=True)
class MakeClaim:
    """Create the ElasticGPUClaim of an entry that names a claim template."""

    claim: ElasticGPUClaim


@dataclass(frozen=True, slots=True)
class Unreserve:
    """Take our entry out of `reservedFor`."""

    resource_claim: ResourceClaim


@dataclass(frozen=True, slots=True)
class Deallocate:
    """Take the allocation away: its device is not the claim's any more."""

    resource_claim: ResourceClaim


@dataclass(frozen=True, slots=True)
class Say:
    """Tell the person who looks at the pod why it waits."""

    message: str


Action = MakeClaim | Allocate | Unreserve | Deallocate | Withdraw | LookAgain | Say


def decide(view: PodView) -> tuple[Action, ...]:
    """What to do about a pod, in this order."""
    pod = view.pod
    if pod is None or pod.finished or pod.terminating:
        return tuple(_unreserve(view))
    if not entries(pod):
        return (Say(MISSED),) if annotated(pod) else ()
    if made := tuple(_missing_claims(pod, view)):
        return made
    if stale := tuple(_stale(pod, view)):
        return stale
    verdict = None if pod.spec.node_name else _verdict(pod, view)
    if isinstance(verdict, Withdraw):
        return (Say(verdict.message), verdict)
    if reason := why(pod, view.entries):
        return (Say(reason), *_unreserve_scheduled(view))
    if isinstance(verdict, Stays):
        return (Say(verdict.message),)
    if isinstance(verdict, LookAgain):
        return (verdict,)
    return (*_allocate(pod, view), *_unreserve_scheduled(view))


def _stale(pod: Pod, view: PodView) -> list[Deallocate]:
    """Allocations of devices that are not the claims' any more, while the pod has no node."""
    return [
        Deallocate(one.resource_claim)
        for one in view.entries
        if one.resource_claim and one.claim and movable(one.resource_claim)
        if not pod.spec.node_name
        if misallocated(one.claim, one.resource_claim) or (one.device and given_up(one.device))
    ]


def _verdict(pod: Pod, view: PodView) -> Verdict | None:
    """What becomes of the devices of a pod that has no node."""
    stakes, unserved = [], []
    for one in view.entries:
        if one.claim is None or one.resource_claim is None:
            return None
        if one.device is not None and (serves(one.claim, one.device) or given_up(one.device)):
            stakes.append(
                Stake(
                    one.claim,
                    one.device,
                    one.resource_claim,
                    one.gpu_class,
                    one.sharers,
                    one.partners,
                )
            )
        else:
            unserved.append(one.claim)
    return withdrawing.decide(pod, stakes, unserved, now=view.now)


MISSED = (
    "this pod names ElasticGPUClaims in its annotations, but was created before the admission "
    "policy of elasticgpu or past it, so its containers will not see a device: delete it and "
    "create it anew"
)


def _unreserve(view: PodView) -> list[Unreserve]:
    return [Unreserve(rc) for rc in view.resource_claims if reserved_by_us(rc)]


def _unreserve_scheduled(view: PodView) -> list[Unreserve]:
    return _unreserve(view) if view.pod and view.pod.spec.node_name else []


def _missing_claims(pod: Pod, view: PodView) -> list[MakeClaim]:
    return [
        MakeClaim(claim_of(pod, item.entry, item.claim_template))
        for item in view.entries
        if item.claim is None and item.claim_template is not None
    ]


def claim_of(pod: Pod, entry: Entry, source: ElasticGPUClaimTemplate) -> ElasticGPUClaim:
    """The claim made for one pod from a template; the pod owns it."""
    meta = source.spec.metadata
    owner = OwnerReference(
        api_version="v1",
        kind="Pod",
        name=pod.name,
        uid=pod.uid,
        controller=True,
    )
    return ElasticGPUClaim(
        metadata=ObjectMeta(
            namespace=entry.namespace,
            name=entry.claim,
            labels=meta.labels,
            annotations=meta.annotations,
            owner_references=[owner],
        ),
        spec=source.spec.spec,
    )


def _topologies(view: EntryView) -> tuple[Topology, ...]:
    """Where its class lets a device be used that is on no node; others were placed by that."""
    if view.gpu_class is None or view.device is None or view.device.spec.node_name:
        return ()
    return tuple(view.gpu_class.spec.allowed_topologies)


def _allocate(pod: Pod, view: PodView) -> list[Allocate]:
    """All of the pod's claims are handed over together, or none is."""
    ready = [v for v in view.entries if v.claim and holds(v.claim, pod.uid)]
    if len(ready) < len(view.entries):
        return []
    return [
        Allocate(v.resource_claim, v.claim, v.device, not pod.spec.node_name, _topologies(v))
        for v in ready
        if v.resource_claim and v.claim and v.device and not v.resource_claim.status.allocation
    ]
