"""A card that is cut by MIG for a pod, and is a whole one again for the next."""

from __future__ import annotations

from pathlib import Path

import yaml

from .conftest import Object, World
from .test_life import CLAIMS, OURS, PODS, pod

CLASSES = f"{OURS}/elasticgpuclasses"
MIG = Path(__file__).parents[2] / "provisioners/mig/class.yaml"
WHOLE: Object = {
    "apiVersion": "elasticgpu.io/v1alpha1",
    "kind": "ElasticGPUClass",
    "metadata": {"name": "whole"},
    "spec": {"provisioner": "elasticgpu.io/whole"},
}


def claim(name: str, gpu_class: str, requests: dict[str, int | str]) -> Object:
    """A claim of this class, for a card that can be cut."""
    return {
        "apiVersion": "elasticgpu.io/v1alpha1",
        "kind": "ElasticGPUClaim",
        "metadata": {"name": name},
        "spec": {
            "elasticGPUClassName": gpu_class,
            "resources": {"requests": requests},
            "gpuSelector": {"model": "H200"},
        },
    }


async def mode(world: World) -> str:
    """The MIG mode that the H200's object tells."""
    cards = (await world.get(f"{OURS}/gpus"))["items"]
    (status,) = (c["status"] for c in cards if c["status"]["model"] == "NVIDIA H200")
    return str(status["migMode"])


async def test_on_demand(world: World) -> None:
    """The instance is made when its pod comes; the card is whole again once the last one is gone,
    and who waits for a whole one hears why until then."""
    await world.make(CLASSES, yaml.safe_load(MIG.read_text()))
    await world.make(CLASSES, WHOLE)
    assert await mode(world) == "Disabled"

    await world.make(CLAIMS, claim("slice", "mig", {"nvidia.com/mig-3g.71gb": 1}))
    made = await world.make(PODS, pod("p", "slice"))
    await world.phase(f"{PODS}/p", "Running")
    (uuid,) = (
        line
        for line in world.cluster.environment(made["metadata"]["uid"])["main"]
        if line.startswith("ELASTICGPU_0_UUID=")
    )
    assert uuid.startswith("ELASTICGPU_0_UUID=MIG-")
    bound = (await world.get(f"{CLAIMS}/slice"))["status"]["capacity"]
    assert bound["elasticgpu.io/gpu-core"] == 42

    async def cut() -> bool:
        return await mode(world) == "Enabled"

    await world.until(cut)
    await world.make(CLAIMS, claim("card", "whole", {"elasticgpu.io/gpu": 1}))

    async def told() -> bool:
        rows = (await world.get(f"{CLAIMS}/card")).get("status", {}).get("conditions", [])
        return any("serves elasticgpu.io/mig" in row["message"] for row in rows)

    await world.until(told)
    await world.delete(f"{PODS}/p")
    await world.delete(f"{CLAIMS}/slice")
    await world.phase(f"{CLAIMS}/card", "Bound")
    assert await mode(world) == "Disabled"
