"""Kubernetes' own kinds, as far as controllers, agents and people around this project use them.

Their schemas are not known: what is sent is stored. The manners of each are written down.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from elasticgpu.api.meta import Resource

from . import checks, crds, eventviews, podactions, users
from .kinds import Json, Kind
from .selecting import at_path


def kinds() -> Iterator[Kind]:
    """All of them."""
    yield _kind("v1", "ConfigMap", short="cm")
    yield _kind("v1", "Secret", fields=("type",))
    yield _kind("v1", "Service", short="svc", status=True, names="label")
    yield _kind("v1", "ServiceAccount", short="sa", actions={"token": users.token})
    yield _kind("v1", "PersistentVolumeClaim", short="pvc", status=True)
    yield _kind(
        "v1",
        "Namespace",
        namespaced=False,
        short="ns",
        status=True,
        status_metadata=True,
        returns_deleted=True,
        names="label",
        fields=("status.phase",),
        prepare=_namespace,
        waits=lambda body: bool(body.get("spec", {}).get("finalizers")),
        grace_shown=False,
    )
    yield _kind(
        "v1",
        "Node",
        namespaced=False,
        short="no",
        status=True,
        status_metadata=True,
        fields=("spec.unschedulable",),
        prepare=_node,
    )
    yield _kind(
        "v1",
        "Pod",
        short="po",
        status=True,
        status_metadata=True,
        returns_deleted=True,
        graceful=True,
        generation="spec",
        categories=("all",),
        fields=(
            *("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "status.phase"),
            *("spec.serviceAccountName", "status.podIP", "status.nominatedNodeName"),
        ),
        prepare=_pod,
        waits=lambda body: bool(body["metadata"].get("deletionGracePeriodSeconds")),
        checker=checks.Pods(),
        actions={"binding": podactions.bind, "eviction": podactions.evict},
    )
    yield _kind(
        "v1",
        "Event",
        short="ev",
        upserts=True,
        storage="/events",
        prepare=_event,
        fields=(*(f"involvedObject.{name}" for name in eventviews.REFERENCE), "reason", "type"),
    )
    yield _kind(
        "events.k8s.io/v1",
        "Event",
        short="ev",
        upserts=True,
        storage="/events",
        view=eventviews.shown,
        unview=eventviews.stored,
        prepare=_event,
        fields=("reason", "type"),
        aliases={f"regarding.{name}": f"involvedObject.{name}" for name in eventviews.REFERENCE},
    )
    yield _kind("coordination.k8s.io/v1", "Lease", upserts=True, unconditional=False)
    yield _kind(
        "scheduling.k8s.io/v1", "PriorityClass", short="pc", **_CLUSTER, generation="content"
    )
    yield _kind("policy/v1", "PodDisruptionBudget", short="pdb", status=True, generation="spec")
    for name, short in (("Deployment", "deploy"), ("DaemonSet", "ds"), ("ReplicaSet", "rs")):
        yield _kind("apps/v1", name, short=short, status=True, generation="spec")
    yield _kind("apps/v1", "StatefulSet", short="sts", status=True, generation="spec")
    yield _kind("batch/v1", "Job", status=True, generation="spec")
    yield from _resources()
    yield from _administration()


_CLUSTER: Any = {"namespaced": False}


def _resources() -> Iterator[Kind]:
    """Dynamic resource allocation."""
    group = "resource.k8s.io/v1"
    yield _kind(
        group, "ResourceClaim", status=True, prepare=_claim, checker=checks.ResourceClaims()
    )
    yield _kind(group, "ResourceClaimTemplate", prepare=_template, checker=checks.Fixed())
    yield _kind(group, "DeviceClass", **_CLUSTER, plural="deviceclasses", generation="spec")
    yield _kind(
        group,
        "ResourceSlice",
        **_CLUSTER,
        generation="spec",
        fields=("spec.nodeName", "spec.driver"),
    )


def _administration() -> Iterator[Kind]:
    rbac: Any = {"names": "path"}
    for name in ("Role", "RoleBinding"):
        yield _kind("rbac.authorization.k8s.io/v1", name, **rbac)
        yield _kind("rbac.authorization.k8s.io/v1", f"Cluster{name}", **rbac, **_CLUSTER)
    for name in ("Validating", "Mutating"):
        group = "admissionregistration.k8s.io/v1"
        status = name == "Validating"
        policy = f"{name}AdmissionPolicy"
        plural = f"{policy.lower()[:-1]}ies"
        yield _kind(group, policy, **_CLUSTER, plural=plural, status=status, generation="spec")
        yield _kind(group, f"{policy}Binding", **_CLUSTER, generation="spec")
    yield _kind(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        **_CLUSTER,
        short="crd",
        farewell=crds.CLEANUP,
        grace_shown=False,
        status=True,
        generation="spec",
    )


def _kind(
    api_version: str,
    name: str,
    *,
    namespaced: bool = True,
    plural: str = "",
    short: str = "",
    fields: tuple[str, ...] = (),
    aliases: Mapping[str, str] | None = None,
    **manners: Any,
) -> Kind:
    group, _, version = api_version.rpartition("/")
    singular = name.lower()
    found = Resource(group, version, name, plural or _plural(singular), namespaced, short)
    return Kind(
        resource=found,
        singular=singular,
        short_names=(short,) if short else (),
        fields={
            **{path: at_path(path) for path in fields},
            **{path: at_path(stored) for path, stored in (aliases or {}).items()},
        },
        **manners,
    )


def _plural(singular: str) -> str:
    return f"{singular}es" if singular.endswith("s") else f"{singular}s"


def _namespace(body: Json, old: Json | None) -> None:
    meta = body["metadata"]
    meta["labels"] = {"kubernetes.io/metadata.name": meta["name"], **meta.get("labels", {})}
    if old is None:
        body["spec"] = {"finalizers": ["kubernetes"]}
    phase = "Terminating" if "deletionTimestamp" in meta else "Active"
    body["status"] = {**body.get("status", {}), "phase": phase}


def _event(body: Json, old: Json | None) -> None:
    body.setdefault("source", {})
    for name in ("firstTimestamp", "lastTimestamp", "eventTime"):
        body.setdefault(name, None)
    for name in ("reportingComponent", "reportingInstance"):
        body.setdefault(name, "")


def _claim(body: Json, old: Json | None) -> None:
    body.setdefault("status", {})
    _requests(body.get("spec", {}))


def _template(body: Json, old: Json | None) -> None:
    spec = body.setdefault("spec", {})
    spec.setdefault("metadata", {})
    _requests(spec.get("spec", {}))


def _requests(spec: Json) -> None:
    for one in spec.get("devices", {}).get("requests", ()):
        exactly = one.get("exactly")
        if exactly and exactly.setdefault("allocationMode", "ExactCount") == "ExactCount":
            exactly.setdefault("count", 1)


def _node(body: Json, old: Json | None) -> None:
    body.setdefault("spec", {})
    body.setdefault("status", {})


def _pod(body: Json, old: Json | None) -> None:
    if old is not None:
        return
    spec = body.setdefault("spec", {})
    for name, value in (
        ("restartPolicy", "Always"),
        ("terminationGracePeriodSeconds", 30),
        ("schedulerName", "default-scheduler"),
    ):
        spec.setdefault(name, value)
    body["status"] = {"phase": "Pending"}
