"""The user's three manifests, applied unchanged, end in a container with its device."""

from __future__ import annotations

from tests.cases.case import Case
from tests.cases.conftest import SEEDS


def test_the_users_manifests(case: Case) -> None:
    """Class, claim and pod apply; the claim is Bound; /proc/1/environ shows the device."""
    kubectl = case.cluster.kubectl
    kubectl("apply", "-n", case.namespace, "-f", str(SEEDS))
    kubectl(
        "wait", "-n", case.namespace, "--for=condition=Bound", "--timeout=30s",
        "elasticgpuclaim/qgpu-egpuc",
    )  # fmt: skip
    case.running("qgpu-pod")
    claim, device = case.bound("qgpu-egpuc"), case.device("qgpu-egpuc")
    (part,) = device["spec"]["source"]["devices"]
    env = case.env("qgpu-pod")
    assert env["ELASTICGPU_0_CLAIM"] == f"{case.namespace}/qgpu-egpuc"
    assert env["ELASTICGPU_0_DEVICE"] == device["metadata"]["name"]
    assert env["ELASTICGPU_0_UUID"] == part["uuid"]
    assert env["ELASTICGPU_0_CORE"] == "10"
    assert env["ELASTICGPU_0_MEMORY"] == str(4 << 30)
    assert claim["status"]["className"] == "qgpu-class"
    shown = kubectl("get", "elasticgpuclaim", "-n", case.namespace)
    assert "Bound" in shown
    assert "qgpu-class" in shown

    kubectl("delete", "-n", case.namespace, "pod/qgpu-pod", "--grace-period=1")
    kubectl("delete", "-n", case.namespace, "elasticgpuclaim/qgpu-egpuc")
    path = case.device_path(device["metadata"]["name"])
    kept = case.api.get(path)
    assert kept["spec"]["reclaimPolicy"] == "Retain", "the class retains: the device stays"
    kubectl(
        "wait", "--for=jsonpath={.status.phase}=Released", "--timeout=30s",
        f"elasticgpu/{device['metadata']['name']}",
    )  # fmt: skip
    kubectl("delete", "elasticgpu", device["metadata"]["name"], "--timeout=30s")
    kubectl("delete", "elasticgpuclass", "qgpu-class")
