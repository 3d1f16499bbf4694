"""Why a pod waits for its claims: the sentence that its owner reads."""

from __future__ import annotations

from dataclasses import dataclass

from elasticgpu.api.claim import ElasticGPUClaim, ElasticGPUClaimTemplate
from elasticgpu.api.core import Pod, ResourceClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import find_condition

from .allocation import allocated_device, misallocated
from .classes import WAIT_FOR_POD
from .entries import SPEC, Entry
from .holders import MOST, holds, serves, strangers
from .transaction import given_up
from .withdrawing import Sharer


@dataclass(frozen=True, slots=True)
class EntryView:
    """One entry of a pod with everything behind it.

    `vanished` names the ResourceClaim that was made for it and is no longer there. `gpu_class`,
    `sharers` and `partners` are those of a `Stake`.
    """

    entry: Entry
    claim: ElasticGPUClaim | None = None
    claim_template: ElasticGPUClaimTemplate | None = None
    device: ElasticGPU | None = None
    resource_claim: ResourceClaim | None = None
    foreign_template: bool = False
    vanished: str = ""
    gpu_class: ElasticGPUClass | None = None
    sharers: tuple[Sharer, ...] = ()
    partners: tuple[str, ...] = ()


BEING_BOUND, ABSENT = "is being bound", ": create it"

STUCK = "A pod does not leave its node: delete this one, and the claim gets another device"


def passes(reason: str) -> bool:
    """Whether this is over in a moment, where pod and claim are made together; else it is news."""
    return reason.endswith((BEING_BOUND, ABSENT))


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
    if made is not None and pod.spec.node_name and misallocated(claim, made):
        return (
            f"its device {allocated_device(made)} is not ElasticGPUClaim {claim.name}'s any more: "
            "delete this pod and create it anew"
        )
    if not serves(claim, view.device):
        said = _why_unserved(claim, view.device)
        stuck = said and pod.spec.node_name and view.device and given_up(view.device)
        return f"{said}. {STUCK}" if stuck else said
    if not holds(claim, pod.uid):
        return _why_held(claim, view.device)
    return None


def _why_absent(entry: Entry) -> str:
    if entry.claim_template:
        return f"there is no ElasticGPUClaimTemplate {entry.claim_template} in {entry.namespace}"
    return f"there is no ElasticGPUClaim {entry.claim} in {entry.namespace}{ABSENT}"


def _why_unserved(claim: ElasticGPUClaim, device: ElasticGPU | None) -> str | None:
    """None while the claim says that it waits for its first pod: here that pod is."""
    if device is not None and device.terminating:
        return f"ElasticGPU {device.name} of ElasticGPUClaim {claim.name} is being deleted"
    bound = find_condition(claim.status.conditions, "Bound")
    if bound is None or bound.status != "False":
        return f"ElasticGPUClaim {claim.name} {BEING_BOUND}"
    if bound.reason == WAIT_FOR_POD:
        return None
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
