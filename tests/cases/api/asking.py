"""Manifests of our kinds, and what the API server says against them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from tests.api.asks import CORE
from tests.cluster.api import ApiError
from tests.cluster.cluster import Cluster

Object = dict[str, Any]

ROOT = Path(__file__).parents[3]
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OURS = "/apis/elasticgpu.io/v1alpha1"
PATHS = {
    "GPU": f"{OURS}/gpus",
    "ElasticGPU": f"{OURS}/elasticgpus",
    "ElasticGPUClass": f"{OURS}/elasticgpuclasses",
    "ElasticGPUClaim": f"{OURS}/namespaces/default/elasticgpuclaims",
    "ElasticGPUClaimTemplate": f"{OURS}/namespaces/default/elasticgpuclaimtemplates",
}
TEN = {CORE: 10}
REQUESTS = {"resources": {"requests": TEN}}
SOURCE = {"driver": "elasticgpu.io/qgpu", "devices": [{"gpu": "card-0", "core": 10}]}
_serial = count(1)


def new(kind: str, spec: Object, name: str = "") -> Object:
    """A manifest, under a fresh name if none is given."""
    return {
        "apiVersion": "elasticgpu.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": name or f"api-{next(_serial)}"},
        "spec": spec,
    }


def our_crds(server: Cluster) -> list[Object]:
    """The five, as the API server has them."""
    return [crd for crd in server.api.list(CRDS) if crd["spec"]["group"] == "elasticgpu.io"]


def refusal(call: Callable[[], object]) -> str:
    """What the API server says against the request, or nothing."""
    try:
        call()
    except ApiError as error:
        return error.message
    return ""


def words(kind: str, name: str, errors: tuple[str, ...]) -> str:
    """The whole refusal, as the person who wrote the manifest reads it."""
    said = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
    return f'{kind}.elasticgpu.io "{name}" is invalid: {said}' if errors else ""
