"""Pods as people write them, and what the API server makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from elasticgpu.api.names import (
    CLAIM_ANNOTATION,
    OLD_CLAIM_ANNOTATION,
    PODS_LABEL,
    TEMPLATE_ANNOTATION,
)
from tests.cluster.api import ApiClient, wait_for

Object = dict[str, Any]
HERE = "admission"
PODS = f"/api/v1/namespaces/{HERE}/pods"
TRIAL = f"{PODS}?dryRun=All"
USES = {PODS_LABEL: "true"}


def claim(container: str) -> str:
    """Key of the annotation that gives this container a claim."""
    return CLAIM_ANNOTATION + container


def old(container: str) -> str:
    """The same in its older form."""
    return OLD_CLAIM_ANNOTATION + container


def template(container: str) -> str:
    """Key of the annotation that gives this container a claim made from a template."""
    return TEMPLATE_ANNOTATION + container


def remove(admin: ApiClient, path: str) -> None:
    """Delete at once and wait until it is gone; gone already is well."""
    if admin.exists(path):
        admin.delete(path, grace=0)
    wait_for(lambda: not admin.exists(path), 60, f"{path} gone")


def pod(
    annotations: dict[str, str],
    containers: Sequence[str | Object] = ("test",),
    *,
    generate: str = "",
    labels: dict[str, str] | None = None,
    **spec: Any,
) -> Object:
    """A manifest; nobody runs it."""
    name = {"generateName": generate} if generate else {"name": "trial"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**name, "annotations": annotations, "labels": labels or {}},
        "spec": {
            "schedulingGates": [{"name": "tests/hold"}],
            "containers": [container(one) for one in containers],
            **spec,
        },
    }


def container(what: str | Object, **more: Any) -> Object:
    """A container of that name, or of these fields."""
    given: Object = {"name": what} if isinstance(what, str) else what
    return {"image": "localhost/busybox:1", "imagePullPolicy": "Never", **given, **more}


LARGEST = "a" * 240


def entries_of(made: Object) -> dict[str, str]:
    """The pod's entries and what each leads to."""
    return {
        one["name"]: one.get("resourceClaimTemplateName") or one["resourceClaimName"]
        for one in made["spec"].get("resourceClaims", [])
    }


def references_of(made: Object) -> dict[str, list[str]]:
    """Per container, the entries that it refers to."""
    spec = made["spec"]
    return {
        one["name"]: [ref["name"] for ref in one["resources"].get("claims", [])]
        for one in [*spec.get("initContainers", []), *spec["containers"]]
    }


def annotate(values: dict[str, str | None]) -> Object:
    """A merge patch of annotations."""
    return {"metadata": {"annotations": values}}
