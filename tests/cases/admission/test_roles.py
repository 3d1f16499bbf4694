"""What each account may do in the whole cluster, and nothing beside it."""

from __future__ import annotations

import pytest

from tests.cases.ours import NAMESPACE
from tests.cluster.api import ApiClient

from .pods import HERE

MAY = [
    ("controller", "update", "elasticgpu.io", "elasticgpus", ""),
    ("controller", "patch", "elasticgpu.io", "gpus", "status"),
    ("controller", "create", "elasticgpu.io", "elasticgpuclaims", ""),
    ("controller", "patch", "", "pods", ""),
    ("controller", "update", "resource.k8s.io", "resourceclaims", "status"),
    ("controller", "update", "resource.k8s.io", "resourceclaims", "binding"),
    ("controller", "create", "resource.k8s.io", "resourceclaimtemplates", ""),
    ("agent", "create", "elasticgpu.io", "gpus", ""),
    ("agent", "update", "elasticgpu.io", "elasticgpus", "status"),
    ("agent", "get", "resource.k8s.io", "resourceclaims", ""),
]
MAY_NOT = [
    ("controller", "get", "", "secrets", ""),
    ("controller", "delete", "", "pods", ""),
    ("controller", "update", "", "nodes", ""),
    ("controller", "update", "elasticgpu.io", "gpus", ""),
    ("controller", "update", "coordination.k8s.io", "leases", ""),
    ("controller", "update", "elasticgpu.io", "elasticgpuclasses", ""),
    ("agent", "list", "", "pods", ""),
    ("agent", "get", "", "secrets", ""),
    ("agent", "delete", "elasticgpu.io", "elasticgpus", ""),
    ("agent", "update", "elasticgpu.io", "elasticgpuclaims", ""),
    ("agent", "update", "resource.k8s.io", "resourceclaims", "status"),
]


@pytest.mark.parametrize(
    ("row", "allowed"), [*((row, True) for row in MAY), *((row, False) for row in MAY_NOT)]
)
def test_roles(api: ApiClient, row: tuple[str, str, str, str, str], allowed: bool) -> None:
    """Each account may do its work in the whole cluster and nothing beside it."""
    assert may(api, row, namespace="") is allowed


def test_leases_are_the_controllers_in_its_namespace(api: ApiClient) -> None:
    """The lease is taken where the chart is installed and nowhere else."""
    row = ("controller", "update", "coordination.k8s.io", "leases", "")
    assert may(api, row, namespace=NAMESPACE)
    assert not may(api, row, namespace=HERE)


def may(api: ApiClient, row: tuple[str, str, str, str, str], *, namespace: str) -> bool:
    """What the API server's authorizer says."""
    account, verb, group, resource, subresource = row
    asked = {"verb": verb, "group": group, "resource": resource, "subresource": subresource}
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{NAMESPACE}:elasticgpu-{account}",
            "resourceAttributes": {**asked, "namespace": namespace},
        },
    }
    answer = api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
    return bool(answer["status"]["allowed"])
