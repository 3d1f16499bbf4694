"""Cards outside the cluster: a pod runs on any node, and hears where they are."""

from __future__ import annotations

from typing import Any

from .conftest import Object, World
from .test_life import CLAIMS, OURS, PODS, claim, pod

SERVERS = "gpu-1.example.com:0,gpu-2.example.com@8309:0"


async def pool(world: World, mode: str = "Immediate", **spec: Any) -> None:
    """A class of two cards of 16 GiB on two servers."""
    parameters = {"servers": SERVERS, "memory": "16Gi"}
    body = {"provisioner": "elasticgpu.io/remote", "parameters": parameters, **spec}
    head = {"apiVersion": "elasticgpu.io/v1alpha1", "kind": "ElasticGPUClass"}
    meta = {"metadata": {"name": "pool"}, "spec": {**body, "eGPUBindingMode": mode}}
    await world.make(f"{OURS}/elasticgpuclasses", {**head, **meta})


def asks(name: str, **requests: Any) -> Object:
    """A claim of the pool."""
    made = claim(name, elasticGPUClassName="pool")
    made["spec"]["resources"]["requests"] = {f"elasticgpu.io/{n}": v for n, v in requests.items()}
    return made


def on(node: str) -> dict[str, str]:
    return {"kubernetes.io/hostname": node}


async def device_of(world: World, name: str) -> Object:
    found = (await world.get(f"{CLAIMS}/{name}"))["spec"]["elasticGPUName"]
    return await world.get(f"{OURS}/elasticgpus/{found}")


async def test_one_pod_after_the_other_on_different_nodes(world: World) -> None:
    """The container has the client's variables; the device is on no node and is marked by none;
    once the pod is gone nothing is left where it was, and the next one runs elsewhere."""
    await pool(world)
    await world.make(CLAIMS, asks("a", gpu=2))
    await world.phase(f"{CLAIMS}/a", "Bound")
    device = await device_of(world, "a")
    assert device["spec"].get("nodeName", "") == ""
    assert device["spec"]["capacity"] == {
        "elasticgpu.io/gpu-core": 200,
        "elasticgpu.io/gpu-memory": "32Gi",
    }
    for node in ("node-0", "node-1"):
        made = await world.make(PODS, pod("p", "a", nodeSelector=on(node)))
        await world.phase(f"{PODS}/p", "Running")
        (env,) = world.cluster.environment(made["metadata"]["uid"]).values()
        assert {
            "RCUDA_DEVICE_COUNT=2",
            "RCUDA_DEVICE_0=gpu-1.example.com:0",
            "RCUDA_DEVICE_1=gpu-2.example.com@8309:0",
            "NVIDIA_VISIBLE_DEVICES=void",
        } < set(env)
        device = await device_of(world, "a")
        assert "preparedFor" not in device["status"]
        assert "elasticgpu.io/node" not in device["metadata"].get("finalizers", [])
        await world.delete(f"{PODS}/p")
        await world.phase(f"{PODS}/p", "")
        assert not list((world.cluster.folder / node / "cdi").iterdir())
    await world.delete(f"{CLAIMS}/a")
    await world.phase(f"{OURS}/elasticgpus/{device['metadata']['name']}", "")


async def test_the_pool_is_never_oversold(world: World) -> None:
    """Shares and whole cards count together; who finds no room hears what each card lacks, and
    goes in when one goes."""
    await pool(world)
    await world.make(CLAIMS, asks("share", **{"gpu-memory": "10Gi"}))
    await world.phase(f"{CLAIMS}/share", "Bound")
    await world.make(CLAIMS, asks("whole", gpu=1))
    await world.phase(f"{CLAIMS}/whole", "Bound")
    await world.make(CLAIMS, asks("other", **{"gpu-memory": "8Gi"}))
    await world.phase(f"{CLAIMS}/other", "Pending")

    async def said() -> str:
        found = (await world.get(f"{CLAIMS}/other"))["status"].get("conditions", [])
        return next((c["message"] for c in found if c["type"] == "Bound"), "")

    words = await world.until(said)
    assert "gpu-1.example.com:0 (6Gi of 16Gi memory free, 8Gi wanted)" in words
    assert "gpu-2.example.com@8309:0 (0 of 16Gi memory free, 8Gi wanted)" in words
    await world.delete(f"{CLAIMS}/whole")
    await world.phase(f"{CLAIMS}/other", "Bound")
    (part,) = (await device_of(world, "other"))["spec"]["source"]["devices"]
    assert part["gpu"] == "gpu-2.example.com@8309:0"


async def test_where_its_class_allows(world: World) -> None:
    """Agents need not run everywhere: the class says on which nodes its devices may be used."""
    term = {"matchLabelExpressions": [{"key": "kubernetes.io/hostname", "values": ["node-1"]}]}
    await pool(world, "WaitForFirstConsumer", allowedTopologies=[term])
    for name in ("a", "b"):
        await world.make(CLAIMS, asks(name, gpu=1))
        await world.make(PODS, pod(f"pod-{name}", name))
        found = await world.phase(f"{PODS}/pod-{name}", "Running")
        assert found["spec"]["nodeName"] == "node-1"


async def test_beside_a_card_of_the_node(world: World) -> None:
    """A pod with a card of a node and one of the pool runs where the node's is."""
    await pool(world, "WaitForFirstConsumer")
    await world.make(CLAIMS, asks("far", gpu=1))
    await world.make(CLAIMS, claim("near", gpuSelector={"model": "H200"}))
    made = await world.make(PODS, pod("p", "far,near"))
    found = await world.phase(f"{PODS}/p", "Running")
    assert found["spec"]["nodeName"] == "node-1"
    (env,) = world.cluster.environment(made["metadata"]["uid"]).values()
    assert "RCUDA_DEVICE_0=gpu-1.example.com:0" in env
    assert "ELASTICGPU_1_CORE=10" in env


async def test_made_by_an_admin(world: World) -> None:
    """A device that an admin makes of the pool's cards is let in by the same ledger."""
    await pool(world)
    source = {
        "driver": "elasticgpu.io/remote",
        "parameters": {"servers": SERVERS, "memory": "16Gi"},
        "devices": [{"gpu": "gpu-1.example.com:0", "core": 100, "memory": "16Gi"}],
    }
    for name, phase in (("first", "Available"), ("second", "Failed")):
        body = {"metadata": {"name": name}, "spec": {"source": source, "reclaimPolicy": "Retain"}}
        head = {"apiVersion": "elasticgpu.io/v1alpha1", "kind": "ElasticGPU"}
        await world.make(f"{OURS}/elasticgpus", {**head, **body})
        await world.phase(f"{OURS}/elasticgpus/{name}", phase)
