"""What the chart installs besides workloads, put into an API server of this process.

`policies.yaml` is the chart rendered by helm; `make policies` renders it anew.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from elasticgpu.api.schema import KINDS, crd
from elasticgpu.testing.apiserver import ApiServer

NAMESPACE = "elasticgpu-system"
POLICIES = Path(__file__).with_name("policies.yaml")


def define(server: ApiServer) -> None:
    """The kinds alone."""
    for body in _definitions():
        server.create("apiextensions.k8s.io/v1", "CustomResourceDefinition", body)


def install(server: ApiServer) -> None:
    """The kinds, the DeviceClass and the admission policies, which let the accounts of the
    controller and the agents in namespace `NAMESPACE` do their work."""
    server.create("v1", "Namespace", {"metadata": {"name": NAMESPACE}})
    define(server)
    for body in policies():
        server.create(body["apiVersion"], body["kind"], body)


@cache
def _definitions() -> list[dict[str, Any]]:
    """Ours; to derive them takes longer than all the rest, and tests have many servers."""
    return [crd(kind) for kind in KINDS]


def policies() -> list[dict[str, Any]]:
    """The DeviceClass and the policies as manifests."""
    text = POLICIES.read_text(encoding="utf-8")
    return list(yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
