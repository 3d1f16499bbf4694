"""Released devices: how an admin gives them back.

A device whose class says Retain outlives its claim: it stays Released and keeps its room, since
what was on it may still be wanted. An admin ends that. Without its claimRef the device becomes
Available as it is; deleted, it frees its room on the card.
"""

from __future__ import annotations

from dataclasses import dataclass

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.names import BOUND_BY_CONTROLLER, NODE_FINALIZER

from .transaction import given_up


@dataclass(frozen=True, slots=True)
class Free:
    """Write this device: it belongs to no claim any more and becomes Available."""

    device: ElasticGPU


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete this device: its room on the card becomes free."""

    device: ElasticGPU


@dataclass(frozen=True, slots=True)
class Decline:
    """It must stay as it is; `reason` says why, and what comes first."""

    reason: str


Decision = Free | Remove | Decline


def decide(device: ElasticGPU, claim: ElasticGPUClaim | None, *, delete: bool) -> Decision:
    """Whether an admin may give this device back; both are read live, `claim` by its claimRef."""
    if reason := _in_use(device, claim) or _not_an_admins(device, delete=delete):
        return Decline(reason)
    return Remove(device) if delete else Free(freed(device))


def _in_use(device: ElasticGPU, claim: ElasticGPUClaim | None) -> str | None:
    ref, status = device.spec.claim_ref, device.status
    if device.terminating:
        return "it is being deleted already"
    if claim is not None and ref is not None and ref.uid in ("", claim.uid):
        if given_up(device):
            return "the controller is taking it back, for its claim goes on without it"
        owner = f"ElasticGPUClaim {ref.namespace}/{ref.name}"
        return f"it belongs to {owner}, which exists: delete that claim first"
    if status.prepared_for:
        pods, node = ", ".join(status.prepared_for), device.spec.node_name
        return f"node {node} still has it ready for the pods with uid {pods}: wait for their end"
    if NODE_FINALIZER in device.metadata.finalizers:
        return f"node {device.spec.node_name} has not undone it yet: wait until it has"
    return None


def _not_an_admins(device: ElasticGPU, *, delete: bool) -> str | None:
    phase = device.status.phase or "Pending"
    if phase == "Failed" and not delete:
        return f"it is Failed ({device.status.message or 'no reason'}): it can only be deleted"
    if phase not in ("Released", "Failed"):
        return f"it is {phase}, not Released: there is nothing to give back"
    if device.spec.claim_ref is None and not delete:
        return "it was given back already: the controller makes it Available"
    if device.spec.reclaim_policy == "Delete" and device.claim_uid:
        said = f", but: {device.status.message}" if device.status.message else ""
        return f"its policy is Delete: the controller deletes it{said}"
    return None


def freed(device: ElasticGPU) -> ElasticGPU:
    """The device without its claim, and without the mark of who made that pointer."""
    annotations = dict(device.metadata.annotations)
    annotations.pop(BOUND_BY_CONTROLLER, None)
    return device.but(spec=device.spec.but(claim_ref=None)).with_metadata(annotations=annotations)


def waits_for_admin(device: ElasticGPU) -> bool:
    """Whether only an admin's word keeps the device: nobody uses it, nothing else frees it."""
    if device.status.phase != "Released" or given_up(device):
        return False
    return _in_use(device, None) is None and _not_an_admins(device, delete=False) is None
