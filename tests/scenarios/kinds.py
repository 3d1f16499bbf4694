"""The kinds a scenario speaks of: what people call them, and where the API server has them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """One kind: its word, its place in the API, and whether it lies in a namespace."""

    word: str
    kind: str
    root: str
    plural: str
    namespaced: bool

    def path(self, namespace: str, name: str = "", subresource: str = "") -> str:
        """URL path of the collection, of an object, or of its subresource."""
        scope = f"/namespaces/{namespace}" if self.namespaced else ""
        tail = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{self.root}{scope}/{self.plural}{tail}"


_OURS, _DRA = "/apis/elasticgpu.io/v1alpha1", "/apis/resource.k8s.io/v1"
KINDS = (
    Kind("node", "Node", "/api/v1", "nodes", False),
    Kind("class", "ElasticGPUClass", _OURS, "elasticgpuclasses", False),
    Kind("card", "GPU", _OURS, "gpus", False),
    Kind("claimtemplate", "ElasticGPUClaimTemplate", _OURS, "elasticgpuclaimtemplates", True),
    Kind("pod", "Pod", "/api/v1", "pods", True),
    Kind("claim", "ElasticGPUClaim", _OURS, "elasticgpuclaims", True),
    Kind("device", "ElasticGPU", _OURS, "elasticgpus", False),
    Kind("request", "ResourceClaim", _DRA, "resourceclaims", True),
    Kind("template", "ResourceClaimTemplate", _DRA, "resourceclaimtemplates", True),
    Kind("event", "Event", "/apis/events.k8s.io/v1", "events", True),
)
"""In the order in which a scenario's objects are made: what others point at comes first."""

BY_WORD = {kind.word: kind for kind in KINDS}
BY_KIND = {kind.kind: kind for kind in KINDS}
BY_PLURAL = {kind.plural: kind for kind in KINDS}

_PATH = re.compile(
    r"/(?:api|apis/[^/]+)/[^/]+(?:/namespaces/(?P<ns>[^/]+))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>[^/]+))?"
)


@dataclass(frozen=True)
class Place:
    """What a URL path speaks of."""

    kind: Kind
    namespace: str
    name: str
    subresource: str


def place(path: str) -> Place:
    """Read a path back."""
    found = _PATH.fullmatch(path)
    assert found, path
    kind = BY_PLURAL[found["plural"]]
    return Place(kind, found["ns"] or "", found["name"] or "", found["sub"] or "")
