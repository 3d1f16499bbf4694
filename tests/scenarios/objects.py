"""What a scenario is given, as the API server takes it; each builder names what a row is about.

A name is written as people would say it. The run puts its own mark in place of `~`, so that runs
do not meet on cluster-scoped names, and the uid of claim NAME in place of `<NAME>`.
"""

from __future__ import annotations

from typing import Any

from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.names import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    CLAIM_ANNOTATION,
    CLAIM_PROTECTION,
    DEFAULT_CLASS_ANNOTATION,
    DEVICE_PROTECTION,
    DEVICE_REQUEST,
    PROVISIONED_BY,
)
from elasticgpu.api.names import DRIVER as DRA
from elasticgpu.api.vocabulary import CORE, MEMORY
from elasticgpu.rules.accepting import ClassView, judge
from elasticgpu.rules.allocation import on_node
from elasticgpu.rules.entries import LABELS, SPEC
from elasticgpu.rules.nodes import OUT_OF_SERVICE

Object = dict[str, Any]

DRIVER = "example.com/share"
"""The provisioner of all scenarios."""
GONE = "00000000-0000-4000-8000-000000000000"
"""Uid of a claim that is no more."""


def claim(
    name: str = "train",
    *,
    core: int = 10,
    memory: int | str = "10Gi",
    of_class: str | None = "gold",
    names: str = "",
    completed: bool = False,
    by_controller: bool = False,
    phase: str = "",
    reason: str = "",
    message: str = "",
    **spec: Any,
) -> Object:
    """A claim; `names` the device it points at, `completed` and `by_controller` its annotations."""
    marks = {BIND_COMPLETED: completed, BOUND_BY_CONTROLLER: by_controller}
    meta: Object = {"name": name, "annotations": {k: "yes" for k, on in marks.items() if on}}
    if completed:
        meta["finalizers"] = [CLAIM_PROTECTION]
    body: Object = {"resources": {"requests": {CORE: core, MEMORY: memory}}, **spec}
    if of_class is not None:
        body["elasticGPUClassName"] = marked(of_class)
    if names:
        body["elasticGPUName"] = marked(names)
    made = _object("ElasticGPUClaim", meta, body)
    if phase == "Bound":
        reason, message = "Bound", f"bound to {marked(names)}"
    if phase:
        size = {CORE: core, MEMORY: memory} if phase == "Bound" else {}
        made["status"] = {
            "phase": phase,
            "className": marked(of_class or ""),
            "capacity": size,
            "conditions": [_condition(phase == "Bound", reason, message)],
        }
    return made


def device(
    name: str = "d1",
    *,
    core: int = 10,
    memory: int | str = "10Gi",
    of_class: str = "gold",
    phase: str = "Available",
    reason: str = "",
    owner: str = "",
    reserved: str = "",
    uid: str = "",
    by_controller: bool = False,
    provisioned: bool = False,
    protected: bool = False,
    policy: str = "Retain",
    driver: str = DRIVER,
    cut: str = "",
    labels: dict[str, str] | None = None,
) -> Object:
    """A device of no card, or `cut` from one; `owner` names its claim, `reserved` has no uid.

    With `uid` it points at a claim of the owner's name that had this uid; an owner `train#2` is the
    second claim of that name.
    """
    marks = {BOUND_BY_CONTROLLER: "yes" if by_controller else "", PROVISIONED_BY: ""}
    marks[PROVISIONED_BY] = driver if provisioned else ""
    meta: Object = {
        "name": marked(name),
        "labels": labels or {},
        "annotations": {key: value for key, value in marks.items() if value},
        "finalizers": [DEVICE_PROTECTION] if protected else [],
    }
    part = {"gpu": marked(cut), "core": core, "memory": memory}
    body: Object = {
        "capacity": {CORE: core, MEMORY: memory},
        "elasticGPUClassName": marked(of_class),
        "reclaimPolicy": policy,
        "source": {"driver": driver, "devices": [part] if cut else []},
    }
    if cut:
        body["nodeName"] = marked("n1")
    if owner or reserved:
        points = {"uid": uid or f"<{owner}>"} if owner else {}
        name = (owner or reserved).partition("#")[0]
        body["claimRef"] = {"namespace": "~", "name": name, **points}
    made = _object("ElasticGPU", meta, body)
    if phase not in ("", "Pending"):
        why = "ClaimBound" if phase == "Bound" else reason or phase
        said = {"reason": reason, "message": "", "conditions": [_condition(phase == "Bound", why)]}
        made["status"] = {"phase": phase, **said}
    return made


def gpu_class(
    name: str = "gold",
    *,
    default: bool = False,
    policy: str = "Delete",
    provisioner: str = DRIVER,
    mode: str = "Immediate",
    judged: bool = True,
) -> Object:
    """A class, of which the controllers have said what there is to say, or not yet."""
    marks = {DEFAULT_CLASS_ANNOTATION: "true"} if default else {}
    spec = {"provisioner": provisioner, "reclaimPolicy": policy, "eGPUBindingMode": mode}
    made = _object("ElasticGPUClass", {"name": marked(name), "annotations": marks}, spec)
    return {**made, "status": {"conditions": _judged(made)}} if judged else made


def _judged(made: Object) -> list[Object]:
    """What the controllers say of such a class, once it has its first generation."""
    new = ElasticGPUClass.model_validate(made).with_metadata(generation=1)
    known = new.spec.provisioner == DRIVER
    said = judge(ClassView(new, (DRIVER,), verified=False if known else None))
    assert said is not None
    return [condition.wire() for condition in said.conditions]


def card(name: str = "c1", *, node: str = "n1", memory: str = "80Gi") -> Object:
    """A healthy card."""
    made = _object("GPU", {"name": marked(name)}, {"nodeName": marked(node)})
    return {**made, "status": {"memory": memory, "health": "Healthy", "uuid": f"GPU-{name}"}}


def node(name: str = "n1", *, ready: str = "True", off: bool = False) -> Object:
    """A node; one that is `off` has the taint by which an admin says so."""
    spec = {"taints": [{"key": OUT_OF_SERVICE, "effect": "NoExecute"}]} if off else {}
    made = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": marked(name)}, "spec": spec}
    room = {"cpu": "8", "pods": "10"}
    return {
        **made,
        "status": {"allocatable": room, "conditions": [{"type": "Ready", "status": ready}]},
    }


def pod(
    name: str, *claims: str, on: str = "", phase: str = "Pending", asked: bool = False
) -> Object:
    """A pod whose one container uses these claims; admission writes its entries. If it has `asked`,
    there is a ResourceClaim for the first of them."""
    spec: Object = {"containers": [{"name": "main", "image": "none"}]}
    if on:
        spec["nodeName"] = marked(on)
    meta = {"name": name, "annotations": {f"{CLAIM_ANNOTATION}main": ",".join(claims)}}
    head = {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
    made = [{"name": "egpu-0", "resourceClaimName": f"{name}-egpu-0"}] if asked else []
    return {**head, "spec": spec, "status": {"phase": phase, "resourceClaimStatuses": made}}


def request(of: str, *, given: str, on: str) -> Object:
    """The ResourceClaim that kube-controller-manager makes for a pod, with the device that it has
    had for long."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": of, "uid": f"<{of}>", "controller": True}
    meta = {"name": f"{of}-egpu-0", "labels": LABELS, "ownerReferences": [owner]}
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
    found = {"request": DEVICE_REQUEST, "driver": DRA, "pool": marked(on), "device": marked(given)}
    allocation = {
        "devices": {"results": [found]},
        "nodeSelector": on_node(marked(on)),
        "allocationTimestamp": "2026-01-01T00:00:00Z",
    }
    status = {"allocation": allocation}
    return {**head, "metadata": meta, "spec": SPEC["spec"], "status": status}


def held(claim: Object, by: str = "web") -> Object:
    """The claim with the row of a pod that holds it."""
    row = {"podUid": f"<{by}>", "podName": by, "containers": ["main"]}
    return {**claim, "status": {**claim["status"], "users": [row], "usedBy": by}}


def placed(device: Object, on: str = "n1") -> Object:
    """The device on this node."""
    return {**device, "spec": {**device["spec"], "nodeName": marked(on)}}


def marked(name: str) -> str:
    """The name with the place where the run's mark goes, unless it has a uid in it already."""
    return f"~{name}" if name and "<" not in name else name


def _condition(true: bool, reason: str, message: str = "") -> Object:
    said = {"reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return {"type": "Bound", "status": str(true), **said}


def _object(kind: str, metadata: Object, spec: Object) -> Object:
    head = {"apiVersion": "elasticgpu.io/v1alpha1", "kind": kind}
    return {**head, "metadata": metadata, "spec": spec}


def deleting(obj: Object) -> Object:
    """The object after somebody deleted it; without a finalizer of ours, another's keeps it."""
    return {**obj, "metadata": {**obj["metadata"], "deletionTimestamp": "now"}}
