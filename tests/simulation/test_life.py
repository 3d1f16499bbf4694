"""A pod's life on simulated nodes, with the real controller and the real agents."""

from __future__ import annotations

from typing import Any

from elasticgpu.cluster.client import MERGE_PATCH

from .conftest import CLASS, Object, World

PODS = "/api/v1/namespaces/default/pods"
OURS = "/apis/elasticgpu.io/v1alpha1"
CLAIMS = f"{OURS}/namespaces/default/elasticgpuclaims"
REQUESTS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"


def claim(name: str, core: int = 10, **spec: Any) -> Object:
    """A claim for a share of a card."""
    requests = {"elasticgpu.io/gpu-core": core, "elasticgpu.io/gpu-memory": "1Gi"}
    return {
        "apiVersion": "elasticgpu.io/v1alpha1",
        "kind": "ElasticGPUClaim",
        "metadata": {"name": name},
        "spec": {"resources": {"requests": requests}, **spec},
    }


def pod(name: str, claims: str = "", **spec: Any) -> Object:
    """A pod whose container `main` uses these claims."""
    notes = {"elasticgpu.io/egpuc-main": claims} if claims else {}
    containers = [{"name": "main", "image": "x"}]
    return {
        "metadata": {"name": name, "annotations": notes},
        "spec": {"containers": containers, **spec},
    }


async def test_a_claim_and_its_pod(world: World) -> None:
    """The container gets the device's variables; what was made for the pod goes with it."""
    await world.make(CLAIMS, claim("a"))
    made = await world.make(PODS, pod("p", "a"))
    running = await world.phase(f"{PODS}/p", "Running")
    device = (await world.get(f"{CLAIMS}/a"))["spec"]["elasticGPUName"]
    found = world.cluster.environment(made["metadata"]["uid"])
    assert f"ELASTICGPU_0_DEVICE={device}" in found["main"]
    assert "ELASTICGPU_0_CORE=10" in found["main"]
    home = (await world.get(f"{OURS}/elasticgpus/{device}"))["spec"]["nodeName"]
    assert running["spec"]["nodeName"] == home

    await world.delete(f"{PODS}/p")
    await world.phase(f"{PODS}/p", "")
    await world.until(lambda: _none(world, REQUESTS))
    await world.delete(f"{CLAIMS}/a")
    await world.until(lambda: _none(world, f"{OURS}/elasticgpus"))


async def _none(world: World, path: str) -> bool:
    return not (await world.get(path))["items"]


async def test_a_pod_without_claims(world: World) -> None:
    """It runs on the emptiest node."""
    await world.make(PODS, pod("p"))
    await world.make(PODS, pod("q"))
    nodes = {(await world.phase(f"{PODS}/{n}", "Running"))["spec"]["nodeName"] for n in "pq"}
    assert nodes == {"node-0", "node-1"}


async def test_an_unshared_claim_serves_one_pod_after_the_other(world: World) -> None:
    """The second waits and says why, until the first is gone and its device undone."""
    await world.make(CLAIMS, claim("a"))
    await world.make(PODS, pod("first", "a"))
    await world.phase(f"{PODS}/first", "Running")
    await world.make(PODS, pod("second", "a"))
    said = await world.until(lambda: _told(world, "second"))
    assert "is held by pod first" in said
    await world.delete(f"{PODS}/first")
    await world.phase(f"{PODS}/second", "Running")


async def _told(world: World, name: str) -> str:
    """What the events on a pod say of our waiting."""
    events = (await world.get("/api/v1/namespaces/default/events"))["items"]
    about = [e for e in events if e["involvedObject"]["name"] == name]
    return " ".join(e["message"] for e in about if e["reason"] == "WaitingForElasticGPU")


async def test_a_pod_that_has_ended_gives_its_claim_back(world: World) -> None:
    """A finished pod may stay listed: its ResourceClaim goes, and the next pod gets the claim."""
    await world.make(CLAIMS, claim("a"))
    await world.make(PODS, pod("first", "a"))
    await world.phase(f"{PODS}/first", "Running")
    done = {"status": {"phase": "Succeeded"}}
    await world.cluster.client.raw(
        "PATCH", f"{PODS}/first/status", body=done, content_type="application/merge-patch+json"
    )
    await world.make(PODS, pod("second", "a"))
    await world.phase(f"{PODS}/second", "Running")
    assert len((await world.get(REQUESTS))["items"]) == 1


async def test_a_pod_deleted_by_force_is_undone(world: World) -> None:
    """The object is gone at once; the node undoes what it prepared, and the next pod runs."""
    await world.make(CLAIMS, claim("a"))
    await world.make(PODS, pod("first", "a"))
    await world.phase(f"{PODS}/first", "Running")
    await world.delete(f"{PODS}/first", gracePeriodSeconds=0)
    assert not await world.get(f"{PODS}/first")
    await world.make(PODS, pod("second", "a"))
    await world.phase(f"{PODS}/second", "Running")


async def test_wait_for_first_consumer(world: World) -> None:
    """Nothing is cut before the pod comes, then where the pod can run."""
    late = {"provisioner": "elasticgpu.io/qgpu", "eGPUBindingMode": "WaitForFirstConsumer"}
    body = {"metadata": {"name": "late"}, "spec": late}
    head = {"apiVersion": "elasticgpu.io/v1alpha1", "kind": "ElasticGPUClass"}
    await world.make(f"{OURS}/elasticgpuclasses", {**head, **body})
    await world.make(CLAIMS, claim("a", elasticGPUClassName="late"))
    await world.phase(f"{CLAIMS}/a", "Pending")
    assert not (await world.get(f"{OURS}/elasticgpus"))["items"]
    await world.make(PODS, pod("p", "a", nodeSelector={"kubernetes.io/hostname": "node-1"}))
    found = await world.phase(f"{PODS}/p", "Running")
    assert found["spec"]["nodeName"] == "node-1"


async def test_claims_that_fill_the_cards_exactly(world: World) -> None:
    """Thirty claims of 10% take all three cards, the next one waits, and goes in when one goes."""
    for number in range(30):
        await world.make(CLAIMS, claim(f"c{number}"))
    for number in range(30):
        await world.phase(f"{CLAIMS}/c{number}", "Bound")
    await world.make(CLAIMS, claim("last"))
    await world.phase(f"{CLAIMS}/last", "Pending")
    await world.delete(f"{CLAIMS}/c7")
    await world.phase(f"{CLAIMS}/last", "Bound")


async def test_a_pod_waits_while_no_node_suits_it(world: World) -> None:
    """The scheduler's stand-in says why, and looks again when a node changes."""
    await world.make(PODS, pod("p", nodeSelector={"zone": "east"}))

    async def refused() -> Object | None:
        facts = (await world.get(f"{PODS}/p"))["status"].get("conditions", [])
        return next((f for f in facts if f["reason"] == "Unschedulable"), None)

    said = await world.until(refused)
    assert "node-0: it is not labelled zone=east" in said["message"]
    await world.cluster.client.raw(
        "PATCH",
        "/api/v1/nodes/node-1",
        body={"metadata": {"labels": {"zone": "east"}}},
        content_type="application/merge-patch+json",
    )
    found = await world.phase(f"{PODS}/p", "Running")
    assert found["spec"]["nodeName"] == "node-1"


async def test_a_claim_grows_under_its_pod(world: World) -> None:
    """Controller, then agent, then the claim no longer says that something is missing."""
    named = {"metadata": {"name": "live"}, "spec": {"provisioner": "elasticgpu.io/vcuda"}}
    await world.make(f"{OURS}/elasticgpuclasses", CLASS | named)
    await world.make(CLAIMS, claim("a", elasticGPUClassName="live"))
    await world.make(PODS, pod("p", "a"))
    await world.phase(f"{PODS}/p", "Running")
    more = {"spec": {"resources": {"requests": {"elasticgpu.io/gpu-memory": "3Gi"}}}}
    await world.cluster.client.raw("PATCH", f"{CLAIMS}/a", body=more, content_type=MERGE_PATCH)

    async def done() -> bool:
        grown = await world.get(f"{CLAIMS}/a")
        device = await world.get(f"{OURS}/elasticgpus/{grown['spec']['elasticGPUName']}")
        has = grown["status"]["capacity"]["elasticgpu.io/gpu-memory"]
        missing = [c for c in grown["status"]["conditions"] if c["type"] == "Resized"]
        return device["status"].get("preparedMemory") == has == "3Gi" and not missing

    await world.until(done)
    await world.delete(f"{PODS}/p")
    await world.phase(f"{PODS}/p", "")
