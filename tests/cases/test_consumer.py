"""Devices that are chosen for the pod that uses them, on three nodes and the real scheduler."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cases.case import OURS, Case, Object, container
from tests.cases.ours import Ours
from tests.cluster.api import wait_for

LATER = "later"
HOST = "kubernetes.io/hostname"


@pytest.fixture(scope="module", autouse=True)
def later(ours: Ours) -> Iterator[None]:
    """A class that waits for pods."""
    path = f"{OURS}/elasticgpuclasses"
    body = {
        "apiVersion": "elasticgpu.io/v1alpha1",
        "kind": "ElasticGPUClass",
        "metadata": {"name": LATER},
        "spec": {
            "provisioner": "elasticgpu.io/qgpu",
            "eGPUBindingMode": "WaitForFirstConsumer",
        },
    }
    ours.cluster.api.create(path, body)
    yield
    ours.cluster.api.delete(f"{path}/{LATER}")


def scheduled(case: Case, pod: str, timeout: float = 60) -> str:
    """Wait until the pod has its node; its name."""

    def check() -> str | None:
        found = case.api.get(case.pod_path(pod))
        assert found["spec"].get("nodeName"), (found["status"], case.events(pod))
        return str(found["spec"]["nodeName"])

    return wait_for(check, timeout, f"pod {pod} scheduled") or ""


def node_of(case: Case, claim: str) -> str:
    return str(case.device(claim)["spec"]["nodeName"])


def test_placed_where_the_pod_fits(case: Case) -> None:
    """No consumer, no device; then the first choice of placement is passed over for a selector, a
    taint, and for want of CPU."""
    for name in ("picky", "hungry"):
        case.claim(name, node="", class_name=LATER)
    case.told("picky", "its device is chosen when the first pod uses it")
    assert case.phase(case.claim_path("picky")) == "Pending"
    case.pod("picky", {"test": "picky"}, nodeSelector={HOST: "node-1"})
    assert scheduled(case, "picky") == "node-1"
    assert node_of(case, "picky") == "node-1"
    case.cluster.kubectl("taint", "nodes", "node-1", "for=others:NoSchedule")
    try:
        many = {"resources": {"requests": {"cpu": "7"}}}
        case.pod("hungry", {"test": "hungry"}, containers=({"name": "test", **many},))
        assert scheduled(case, "hungry") == "node-2"
    finally:
        case.cluster.kubectl("taint", "nodes", "node-1", "for=others:NoSchedule-")
    assert node_of(case, "hungry") == "node-2"
    assert not [note for note in case.events("hungry") if "does not take it" in note]


def test_withdrawn_while_the_controller_dies(case: Case) -> None:
    """Only the scheduler knows what speaks against the first node. Both claims of the pod leave it
    together, though the controller is killed in the middle."""
    case.api.create(
        case.pod_path(),
        case.pod_manifest(
            "guard", {}, metadata={"labels": {"app": "guard"}}, nodeSelector={HOST: "node-0"}
        ),
    )
    case.running("guard")
    for name in ("left", "right"):
        case.claim(name, node="", class_name=LATER)
    case.pod("shy", {"test": "left,right"}, affinity=away_from("guard"))
    wait_for(lambda: allocations(case) == ["node-0", "node-0"], 30, "both on the first node")
    wait_for(lambda: allocations(case) != ["node-0", "node-0"], 60, "one withdrawn")
    case.ours.restart("controller")
    node = scheduled(case, "shy", timeout=120)
    assert node in ("node-1", "node-2")
    assert allocations(case) == [node, node]
    assert (node_of(case, "left"), node_of(case, "right")) == (node, node)
    wait_for(lambda: not tried(case, "left") and not tried(case, "right"), 30, "nothing excluded")


def away_from(app: str) -> Object:
    """A pod's affinity: on no node with a pod of that app."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOST}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def allocations(case: Case) -> list[str]:
    """The nodes that the pod's ResourceClaims are allocated on; empty for none."""
    made = case.resource_claims("shy")
    found = [rc.get("status", {}).get("allocation", {}).get("devices", {}) for rc in made]
    return [one["results"][0]["pool"] if one else "" for one in found]


def tried(case: Case, claim: str) -> list[str]:
    return list(case.api.get(case.claim_path(claim))["status"].get("excludedNodes", []))


def test_templates_are_one_decision(case: Case) -> None:
    """Neither of a pod's claims goes to the node that has room for only one of them."""
    fillers = {f"filler-{number}" for number in range(cards_for_shares(case, "node-0") - 1)}
    for name in fillers:
        case.claim(name, core=90, memory="1Gi")
    for name in fillers:
        case.bound(name)
    requests = {"elasticgpu.io/gpu-core": 90, "elasticgpu.io/gpu-memory": "1Gi"}
    path = f"{OURS}/namespaces/{case.namespace}/elasticgpuclaimtemplates"
    spec = {"elasticGPUClassName": "shares", "resources": {"requests": requests}}
    for name in ("left", "right"):
        template = {
            "apiVersion": "elasticgpu.io/v1alpha1",
            "kind": "ElasticGPUClaimTemplate",
            "metadata": {"name": name},
            "spec": {"spec": spec},
        }
        case.api.create(path, template)
    marks = {f"elasticgpu.io/egpuct-{name}": name for name in ("left", "right")}
    boxes = [container("left"), container("right")]
    case.api.create(
        case.pod_path(),
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "pair", "annotations": marks},
            "spec": {"terminationGracePeriodSeconds": 1, "containers": boxes},
        },
    )
    node = scheduled(case, "pair")
    assert node in ("node-1", "node-2")
    claims = {claim["metadata"]["name"] for claim in case.api.list(case.claim_path())}
    assert [node_of(case, name) for name in claims - fillers] == [node, node]


def cards_for_shares(case: Case, node: str) -> int:
    """How many cards a node has for this class: one that stays in MIG mode is none."""
    cards = [gpu for gpu in case.api.list(f"{OURS}/gpus") if gpu["spec"]["nodeName"] == node]
    return sum(gpu["status"].get("migMode") != "Enabled" for gpu in cards)
