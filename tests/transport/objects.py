"""Objects as a server would send them."""

from __future__ import annotations

from typing import Any

from elasticgpu.api.gpuclass import ElasticGPUClass

Json = dict[str, Any]

CLASSES = "/apis/elasticgpu.io/v1alpha1/elasticgpuclasses"
CLAIMS = "/apis/elasticgpu.io/v1alpha1/namespaces/lab/elasticgpuclaims"


def raw(name: str, version: int, *, uid: str = "", provisioner: str = "a/b", **meta: Any) -> Json:
    """A class of that name at that resourceVersion."""
    return {
        "apiVersion": "elasticgpu.io/v1alpha1",
        "kind": "ElasticGPUClass",
        "metadata": {
            "name": name,
            "uid": uid or f"uid-{name}",
            "resourceVersion": str(version),
            **meta,
        },
        "spec": {"provisioner": provisioner},
    }


def model(name: str, version: int, **rest: Any) -> ElasticGPUClass:
    """The same as a model."""
    return ElasticGPUClass.model_validate(raw(name, version, **rest))


def unreadable(name: str, version: int) -> Json:
    """A class that does not parse."""
    return {**raw(name, version), "spec": {"provisioner": {"not": "a string"}}}


def page(*items: Json, version: int, more: str = "") -> Json:
    """A list body."""
    return {
        "kind": "ElasticGPUClassList",
        "metadata": {"resourceVersion": str(version), "continue": more},
        "items": list(items),
    }


def event(kind: str, obj: Json) -> Json:
    """A watch event."""
    return {"type": kind, "object": obj}


def bookmark(version: int, *, complete: bool = False) -> Json:
    """A bookmark, or the one after the last object of a streamed list."""
    notes = {"annotations": {"k8s.io/initial-events-end": "true"}} if complete else {}
    return event("BOOKMARK", {"metadata": {"resourceVersion": str(version), **notes}})
