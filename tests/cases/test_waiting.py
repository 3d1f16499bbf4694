"""Who waits for whom: pods, claims, devices and nodes in every order.

These cases run under the current scheduler and under an older one.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cases.case import Case, assert_quiet
from tests.cluster.api import wait_for
from tests.cluster.cluster import Cluster

FULL = {"resources": {"requests": {"cpu": "1200m"}}}
NODE_0 = {"kubernetes.io/hostname": "node-0"}


@pytest.fixture(scope="module", params=["1.36", "1.35"], autouse=True)
def scheduler(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[str]:
    """The scheduler of that release, beside the same API server."""
    if request.param == "1.36":
        yield request.param
        return
    cluster.use_scheduler(request.param)
    yield request.param
    cluster.use_scheduler()


def test_pod_before_claim(case: Case) -> None:
    """The pod says which claim it misses, and runs once that exists."""
    case.pod("early", {"test": "share"})
    case.told("early", f"there is no ElasticGPUClaim share in {case.namespace}")
    case.claim("share")
    case.running("early")
    assert case.env("early")["ELASTICGPU_0_CLAIM"] == f"{case.namespace}/share"
    assert case.users("share") == ["early"]


def test_claim_before_pod(case: Case) -> None:
    """The claim is Bound before any pod; the pod then gets exactly that device."""
    case.claim("share", core=20, memory="2Gi")
    case.bound("share")
    device = case.device("share")
    case.pod("late", {"test": "share"})
    case.running("late")
    env = case.env("late")
    assert env["ELASTICGPU_0_DEVICE"] == device["metadata"]["name"]
    assert (env["ELASTICGPU_0_CORE"], env["ELASTICGPU_0_MEMORY"]) == ("20", str(2 << 30))


def test_device_made_ahead(case: Case) -> None:
    """A static device with room is Available, serves the claim, and nothing new is made."""
    made = {
        "apiVersion": "elasticgpu.io/v1alpha1",
        "kind": "ElasticGPU",
        "metadata": {"name": f"made-{case.namespace}"[:63].strip("-")},
        "spec": {
            "elasticGPUClassName": "shares",
            "nodeName": "node-0",
            "capacity": {"elasticgpu.io/gpu-core": 30, "elasticgpu.io/gpu-memory": "3Gi"},
            "source": {
                "driver": "elasticgpu.io/qgpu",
                "devices": [{"gpu": card_of(case, "node-0"), "core": 30, "memory": "3Gi"}],
            },
        },
    }
    name = made["metadata"]["name"]  # type: ignore[index]
    case.api.create(case.device_path("").rstrip("/"), made)
    wait_for(
        lambda: case.phase(case.device_path(name)) == "Available",
        30,
        "the device Available",
    )
    case.claim("share", core=25, memory="2Gi")
    assert case.bound("share")["spec"]["elasticGPUName"] == name
    case.pod("user", {"test": "share"})
    case.running("user")
    assert case.env("user")["ELASTICGPU_0_CORE"] == "30", "it gets all of the device"


def card_of(case: Case, node: str) -> str:
    cards = case.api.list("/apis/elasticgpu.io/v1alpha1/gpus")
    return str(min(c["metadata"]["name"] for c in cards if c["spec"]["nodeName"] == node))


def test_cpu_short_on_the_devices_node(case: Case) -> None:
    """No CPU on the device's node while others have some: the allocation stays, the pod waits."""
    case.api.create(
        case.pod_path(),
        case.pod_manifest("filler", {}, ({"name": "fill", **FULL},), nodeSelector=NODE_0),
    )
    case.running("filler")
    case.claim("share")
    case.pod("wants", {"test": "share"}, containers=({"name": "test", **FULL},))
    case.allocated("wants")
    wait_for(lambda: unschedulable(case, "wants"), 30, "the scheduler finds no room")
    before = case.allocated("wants")["status"]["allocation"]
    assert_quiet(case.cluster)
    case.settled()
    assert case.allocated("wants")["status"]["allocation"] == before, "it was never taken back"
    case.delete_pod("filler")
    case.running("wants")
    assert case.allocated("wants")["status"]["allocation"] == before


def test_node_selector_points_elsewhere(case: Case) -> None:
    """The pod may not run where its device is: it waits, and nothing is rewritten."""
    case.claim("share")
    case.pod("astray", {"test": "share"}, nodeSelector={"kubernetes.io/hostname": "node-1"})
    case.allocated("astray")
    message = wait_for(lambda: unschedulable(case, "astray"), 30, "the scheduler's verdict")
    assert "node affinity" in (message or "")
    assert case.users("share") == ["astray"]


def test_node_cordoned(case: Case) -> None:
    """A cordoned node gets no new device and keeps its pod waiting; uncordoned, it gets both."""
    case.claim("share")
    case.bound("share")
    case.cluster.kubectl("cordon", "node-0")
    try:
        case.claim("new")
        case.pod("patient", {"test": "share"})
        case.allocated("patient")
        wait_for(lambda: unschedulable(case, "patient"), 30, "the scheduler's verdict")
        case.told("new", "node node-0 is cordoned")
    finally:
        case.cluster.kubectl("uncordon", "node-0")
    assert case.running("patient")["spec"]["nodeName"] == "node-0"
    case.bound("new")


def test_job_completed_and_kept(case: Case) -> None:
    """A finished pod, still listed, holds nothing: the next one gets the claim."""
    case.claim("share")
    pod = case.pod_manifest("x", {"test": "share"}, ({"name": "test", "command": "env"},))
    spec = {**pod["spec"], "restartPolicy": "Never"}
    annotations = pod["metadata"]["annotations"]
    template = {"metadata": {"annotations": annotations}, "spec": spec}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "once"},
        "spec": {"template": template, "backoffLimit": 0},
    }
    case.api.create(f"/apis/batch/v1/namespaces/{case.namespace}/jobs", job)
    path = f"/apis/batch/v1/namespaces/{case.namespace}/jobs/once"
    wait_for(lambda: case.api.get(path)["status"].get("succeeded"), 60, "the job complete")
    wait_for(lambda: case.users("share") == [], 30, "the claim free")
    (done,) = case.api.list(case.pod_path(), labelSelector="job-name=once")
    log = case.cluster.kubectl("logs", "-n", case.namespace, done["metadata"]["name"])
    assert f"ELASTICGPU_0_CLAIM={case.namespace}/share" in log
    case.pod("next", {"test": "share"})
    case.running("next")


def test_second_pod_waits_for_the_first(case: Case) -> None:
    """An unshared claim has one holder; the second pod says whom it waits for, then runs."""
    case.claim("share")
    case.pod("first", {"test": "share"})
    case.running("first")
    case.pod("second", {"test": "share"})
    case.told("second", "is held by pod first")
    assert case.api.get(case.pod_path("second"))["status"]["phase"] == "Pending"
    assert case.users("share") == ["first"]
    case.delete_pod("first")
    case.running("second")
    assert case.users("share") == ["second"]


def unschedulable(case: Case, pod: str) -> str | None:
    """The scheduler's message once it has found no node for the pod."""
    conditions = case.api.get(case.pod_path(pod))["status"].get("conditions", [])
    return next((c["message"] for c in conditions if c.get("reason") == "Unschedulable"), None)
