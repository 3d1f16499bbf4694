"""What a pod needs next: its ResourceClaims allocated, or a sentence why it waits.

The allocation carries a `reservedFor` entry for the ElasticGPUClaim itself, without which the
scheduler's PostFilter erases it whenever the pod does not fit the node at the moment; the entry
goes as soon as the pod has a node, ends or is deleted.
"""

from __future__ import annotations

from dataclasses import dataclass

from elasticgpu.api.claim import ElasticGPUClaim, ElasticGPUClaimTemplate
from elasticgpu.api.core import (
    Allocation,
    ConsumerReference,
    DeviceAllocation,
    DeviceResult,
    Pod,
    ResourceClaim,
)
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import GROUP, ObjectMeta, OwnerReference, find_condition
from elasticgpu.api.names import DEVICE_REQUEST, DRIVER

from .entries import SPEC, Entry, annotated, entries
from .holders import MOST, holds, serves, strangers

CLAIMS = ElasticGPUClaim.resource.plural


@dataclass(frozen=True, slots=True)
class EntryView:
    """One entry of a pod with everything behind it.

    `vanished` names the ResourceClaim that was made for it and is no longer there.
    """

    entry: Entry
    claim: ElasticGPUClaim | None = None
    claim_template: ElasticGPUClaimTemplate | None = None
    device: ElasticGPU | None = None
    resource_claim: ResourceClaim | None = None
    foreign_template: bool = False
    vanished: str = ""


@dataclass(frozen=True, slots=True)
class PodView:
    """A pod, or what it left behind (`pod` is None), and its entries.

    `resource_claims` are all that were made for it.
    """

    pod: Pod | None
    entries: tuple[EntryView, ...] = ()
    resource_claims: tuple[ResourceClaim, ...] = ()


@dataclass(frozen=True, slots=True)
class MakeClaim:
    """Create the ElasticGPUClaim of an entry that names a claim template."""

    claim: ElasticGPUClaim


@dataclass(frozen=True, slots=True)
class Allocate:
    """Write this ResourceClaim's allocation."""

    resource_claim: ResourceClaim
    claim: ElasticGPUClaim
    device: ElasticGPU
    reserve: bool


@dataclass(frozen=True, slots=True)
class Unreserve:
    """Take our entry out of `reservedFor`."""

    resource_claim: ResourceClaim


@dataclass(frozen=True, slots=True)
class Say:
    """Tell the person who looks at the pod why it waits."""

    message: str


Action = MakeClaim | Allocate | Unreserve | Say


def decide(view: PodView) -> tuple[Action, ...]:
    """What to do about a pod, in this order."""
    pod = view.pod
    if pod is None or pod.finished or pod.terminating:
        return tuple(_unreserve(view))
    if not entries(pod):
        return (Say(MISSED),) if annotated(pod) else ()
    if made := tuple(_missing_claims(pod, view)):
        return made
    if reason := why(pod, view.entries):
        return (Say(reason), *_unreserve_scheduled(view))
    return (*_allocate(pod, view), *_unreserve_scheduled(view))


MISSED = (
    "this pod names ElasticGPUClaims in its annotations, but was created before the admission "
    "policy of elasticgpu or past it, so its containers will not see a device: delete it and "
    "create it anew"
)


def _unreserve(view: PodView) -> list[Unreserve]:
    return [Unreserve(rc) for rc in view.resource_claims if any(map(is_ours, reserved(rc)))]


def _unreserve_scheduled(view: PodView) -> list[Unreserve]:
    return _unreserve(view) if view.pod and view.pod.spec.node_name else []


def reserved(resource_claim: ResourceClaim) -> list[ConsumerReference]:
    """The entries of `status.reservedFor`."""
    return resource_claim.status.reserved_for


def is_ours(entry: ConsumerReference) -> bool:
    """Whether a `reservedFor` entry is the one we put there."""
    return entry.api_group == GROUP and entry.resource == CLAIMS


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


def why(pod: Pod, views: tuple[EntryView, ...]) -> str | None:
    """Why the pod's claims cannot be handed to it yet, in words; None if they can."""
    for view in views:
        if reason := _why(pod, view):
            return reason
    nodes = {v.device.spec.node_name for v in views if v.device and v.device.spec.node_name}
    if len(nodes) > 1:
        places = ", ".join(
            f"{v.entry.claim} on {v.device.spec.node_name}" for v in views if v.device
        )
        return f"its claims lie on different nodes ({places}): no node can run it"
    if pod.spec.node_name and nodes and nodes != {pod.spec.node_name}:
        return f"its device is on {nodes.pop()}, but the pod is on {pod.spec.node_name}"
    return None


def _why(pod: Pod, view: EntryView) -> str | None:
    entry, claim = view.entry, view.claim
    if view.foreign_template:
        return (
            f"ResourceClaimTemplate {entry.template} is not elasticgpu's, though it has its name: "
            "delete it, and it is made anew"
        )
    if view.vanished:
        return f"its ResourceClaim {view.vanished} was deleted: delete this pod and create it anew"
    made = view.resource_claim
    if made is not None and made.spec != SPEC["spec"]:
        return (
            f"ResourceClaim {made.name} was made from a template that is not elasticgpu's: delete "
            "this pod and create it anew"
        )
    if claim is None:
        return _why_absent(entry)
    if entry.claim_template and all(o.uid != pod.uid for o in claim.metadata.owner_references):
        return (
            f"ElasticGPUClaim {claim.name} was not made for this pod, though it has that name: "
            "delete it, and it is made anew"
        )
    if claim.terminating:
        return f"ElasticGPUClaim {claim.name} is being deleted"
    if not serves(claim, view.device):
        return _why_unserved(claim, view.device)
    if not holds(claim, pod.uid):
        return _why_held(claim, view.device)
    return None


def _why_absent(entry: Entry) -> str:
    if entry.claim_template:
        return f"there is no ElasticGPUClaimTemplate {entry.claim_template} in {entry.namespace}"
    return f"there is no ElasticGPUClaim {entry.claim} in {entry.namespace}: create it"


def _why_unserved(claim: ElasticGPUClaim, device: ElasticGPU | None) -> str:
    if device is not None and device.terminating:
        return f"ElasticGPU {device.name} of ElasticGPUClaim {claim.name} is being deleted"
    bound = find_condition(claim.status.conditions, "Bound")
    if bound is None or bound.status != "False":
        return f"ElasticGPUClaim {claim.name} is being bound"
    return f"ElasticGPUClaim {claim.name} is {claim.status.phase or 'Pending'}: {bound.message}"


def _why_held(claim: ElasticGPUClaim, device: ElasticGPU | None) -> str | None:
    """None while nobody else keeps the pod from it: its row is on its way, which is no news."""
    users = claim.status.users
    if claim.spec.shared:
        full = len(users) >= MOST
        return (
            f"ElasticGPUClaim {claim.name} has {MOST} pods already: no more fit" if full else None
        )
    if device is not None and (left := strangers(users, device.status.prepared_for)):
        node, pods = device.spec.node_name, ", ".join(sorted(left))
        return (
            f"node {node} has not yet undone ElasticGPU {device.name} for an earlier pod ({pods})"
        )
    if not users:
        return None
    names = ", ".join(row.pod_name for row in claim.status.users)
    return (
        f"ElasticGPUClaim {claim.name} is held by pod {names}: this pod gets it when that one "
        "has ended. A claim with spec.shared true serves several pods at once"
    )


def _allocate(pod: Pod, view: PodView) -> list[Allocate]:
    """All of the pod's claims are handed over together, or none is."""
    ready = [v for v in view.entries if v.claim and holds(v.claim, pod.uid)]
    if len(ready) < len(view.entries):
        return []
    return [
        Allocate(v.resource_claim, v.claim, v.device, reserve=not pod.spec.node_name)
        for v in ready
        if v.resource_claim and v.claim and v.device and not v.resource_claim.status.allocation
    ]


def allocated(action: Allocate, *, now: str) -> ResourceClaim:
    """The ResourceClaim with its allocation, and our entry if the pod has no node yet."""
    device, claim = action.device, action.claim
    node = device.spec.node_name
    result = DeviceResult(
        request=DEVICE_REQUEST, driver=DRIVER, pool=node or "remote", device=device.name
    )
    entry = ConsumerReference(api_group=GROUP, resource=CLAIMS, name=claim.name, uid=claim.uid)
    allocation = Allocation(
        devices=DeviceAllocation(results=[result]), allocation_timestamp=now
    ).but(**({"node_selector": on_node(node)} if node else {}))
    status = action.resource_claim.status.but(allocation=allocation)
    if action.reserve:
        status = status.but(reserved_for=[*status.reserved_for, entry])
    return action.resource_claim.but(status=status)


def unreserved(resource_claim: ResourceClaim) -> ResourceClaim:
    """The ResourceClaim without our entry."""
    rest = [entry for entry in reserved(resource_claim) if not is_ours(entry)]
    return resource_claim.but(status=resource_claim.status.but(reserved_for=rest))


def on_node(name: str) -> dict[str, object]:
    """A node selector that only this node matches."""
    term = {"key": "metadata.name", "operator": "In", "values": [name]}
    return {"nodeSelectorTerms": [{"matchFields": [term]}]}
