"""The four writes of a bind, each as the object that is to be written; and the way back.

A write that is already true answers its argument unchanged, so a bind that is repeated after a
crash goes on exactly where it stopped. Their order is the binder's; why it is that one:
the first is the lock, and the only one that can lose a race for the device; the third cannot lose
one for the claim without leaving a device that shows it; bind-completed shares the third, so
"named but not completed" can only mean that a person named the device.

The way back is for a device that is *given up* while its claim lives: the device says so first (its
phase and reason), then the claim's status, then its name goes. The mark is on the device, so that a
crash in between cannot be taken for a bind that is half done.
"""

from __future__ import annotations

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Condition, ObjectReference, merge_condition
from elasticgpu.api.names import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    CLAIM_PROTECTION,
    DEVICE_PROTECTION,
    PROVISIONING,
    device_name,
)

from .ledger import OVERCOMMITTED

BOUND = "Bound"

READY = "Ready"
"""Type of the condition that says whether what is bound can be used: False on a device that its
node fails to undo, and on a claim whose node is not ready."""

WITHDRAWN = "Withdrawn"
"""Reason of a Released device whose claim lives: its node would not have the claim's pod."""

MOST_EXCLUDED = 64
"""Nodes a claim remembers as tried in vain: the bound of the schema."""

NODE_LOST = "NodeLost"
"""Reason of a Failed device whose node is gone."""


def owned(device: ElasticGPU, claim: ElasticGPUClaim) -> ElasticGPU:
    """First write: the device points at the claim, with its uid."""
    if device.claim_uid == claim.uid:
        return device
    annotations = dict(device.metadata.annotations)
    if device.spec.claim_ref is None:
        annotations[BOUND_BY_CONTROLLER] = "yes"
    ref = ObjectReference(namespace=claim.namespace, name=claim.name, uid=claim.uid)
    new = device.but(spec=device.spec.but(claim_ref=ref)).with_metadata(annotations=annotations)
    # What is being deleted takes no new finalizer: the API server would refuse the whole write.
    return new if device.terminating else new.with_finalizers(DEVICE_PROTECTION)


def device_bound(device: ElasticGPU, *, now: str) -> ElasticGPU:
    """Second write: the device says so."""
    if device.status.phase == BOUND:
        return device
    condition = Condition(type=BOUND, status="True", reason="ClaimBound")
    return device.with_status(
        phase=BOUND,
        reason="",
        message="",
        conditions=merge_condition(device.status.conditions, condition, now=now),
    )


def pointing(claim: ElasticGPUClaim, device: ElasticGPU) -> ElasticGPUClaim:
    """Third write: the claim names the device and its class; from now on a missing half is Lost.

    If the device was provisioned for it, that is over: what kept the claim from going does so no
    longer, here and in the fourth write.
    """
    annotations = claim.metadata.annotations
    if claim.spec.elastic_gpu_name == device.name and BIND_COMPLETED in annotations:
        return claim
    chosen = {} if claim.spec.elastic_gpu_name else {BOUND_BY_CONTROLLER: "yes"}
    spec = claim.spec.but(elastic_gpu_name=device.name)
    if device.spec.elastic_gpu_class_name and claim.class_name in (
        None,
        device.spec.elastic_gpu_class_name,
    ):
        spec = spec.but(elastic_gpu_class_name=device.spec.elastic_gpu_class_name)
    return (
        claim.but(spec=spec)
        .with_metadata(annotations={**annotations, BIND_COMPLETED: "yes", **chosen})
        .without_finalizers(*([PROVISIONING] if _made_for(device, claim) else []))
        .with_finalizers(CLAIM_PROTECTION)
    )


def _made_for(device: ElasticGPU, claim: ElasticGPUClaim) -> bool:
    return device.name == device_name(claim.uid)


def claim_bound(
    claim: ElasticGPUClaim, device: ElasticGPU, *, now: str, final: bool = False
) -> ElasticGPUClaim:
    """Fourth write: the claim says so. If the place is `final`, no pod's verdict on the node being
    awaited, it forgets which nodes were tried in vain."""
    if claim.status.phase == BOUND:
        return claim
    if final and claim.status.excluded_nodes:
        claim = forgotten(claim)
    condition = Condition(
        type=BOUND, status="True", reason="Bound", message=f"bound to {device.name}"
    )
    if claim.status.provisioning is not None and _made_for(device, claim):
        claim = claim.with_status(provisioning=None)
    return claim.with_status(
        phase=BOUND,
        class_name=device.spec.elastic_gpu_class_name,
        capacity=dict(device.spec.capacity),
        conditions=merge_condition(claim.status.conditions, condition, now=now),
    )


def cut_off(claim: ElasticGPUClaim, device: ElasticGPU) -> str | None:
    """What was wrong, in words, if a bind only repairs what somebody undid by hand; else None."""
    if claim.status.phase != BOUND or device.claim_uid:
        return None
    return (
        f"somebody took claimRef away from ElasticGPU {device.name}, which ElasticGPUClaim "
        f"{claim.namespace}/{claim.name} is bound to: it was written again. To free the device, "
        "delete the claim"
    )


def given_up(device: ElasticGPU) -> bool:
    """Whether the device will not serve the claim it points at, though that claim lives."""
    match device.status.phase:
        case "Released":
            return device.status.reason == WITHDRAWN
        case "Failed":
            return device.status.reason in (OVERCOMMITTED, NODE_LOST)
        case _:
            return False


def why_given_up(device: ElasticGPU) -> str:
    """What its claim says of a device that is given up."""
    return f"{device.name} is given up: {device.status.message or device.status.reason}"[:1024]


def unbound(claim: ElasticGPUClaim, device: ElasticGPU, *, now: str) -> ElasticGPUClaim:
    """First write of the way back: the claim waits again, and not for that device's node."""
    if claim.status.phase == "Pending":
        return claim
    reason = device.status.reason
    condition = Condition(type=BOUND, status="False", reason=reason, message=why_given_up(device))
    others = [c for c in claim.status.conditions if c.type != READY]
    waiting = claim.with_users([]).with_status(
        phase="Pending",
        capacity={},
        conditions=merge_condition(others, condition, now=now),
    )
    pods = [row.pod_uid for row in claim.status.users]
    if reason != WITHDRAWN or not pods:
        return waiting
    return excluded(waiting, device.spec.node_name).with_status(excluded_for=pods)


def excluded(claim: ElasticGPUClaim, node: str) -> ElasticGPUClaim:
    """The claim remembers that this node was tried for it in vain; of too many the oldest goes."""
    tried = claim.status.excluded_nodes
    if node in ("", *tried):
        return claim
    return claim.with_status(excluded_nodes=[*tried, node][-MOST_EXCLUDED:])


def forgotten(claim: ElasticGPUClaim) -> ElasticGPUClaim:
    """The claim without the nodes that were tried for it, and for whom: its search is over."""
    return claim.with_status(excluded_nodes=[], excluded_for=[])


def nameless(claim: ElasticGPUClaim) -> ElasticGPUClaim:
    """Second write of the way back: the claim names no device and never was bound."""
    gone = (BIND_COMPLETED, BOUND_BY_CONTROLLER)
    kept = {k: v for k, v in claim.metadata.annotations.items() if k not in gone}
    return claim.but(spec=claim.spec.but(elastic_gpu_name="")).with_metadata(annotations=kept)
