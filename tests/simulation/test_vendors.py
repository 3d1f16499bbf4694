"""Backends of vendors by their own names and example classes, side by side on one cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from .conftest import World
from .test_life import CLAIMS, OURS, PODS, claim, pod

PLUGINS = Path(__file__).parents[2] / "provisioners"
ASKED: dict[str, tuple[dict[str, int], set[str]]] = {
    "gpushare": (
        {"aliyun.com/gpu-mem": 3},
        {"ALIYUN_COM_GPU_MEM_CONTAINER=3", "CGPU_DISABLE=true", "NVIDIA_VISIBLE_DEVICES=void"},
    ),
    "cgpu": (
        {"aliyun.com/gpu-mem": 2, "aliyun.com/gpu-core.percentage": 30},
        {
            "ALIYUN_COM_GPU_MEM_CONTAINER=2",
            "ALIYUN_COM_GPU_SCHD_WEIGHT=6",
            "ELASTICGPU_0_ENFORCED=no, simulated card",
        },
    ),
    "qgpu": (
        {"tke.cloud.tencent.com/qgpu-core": 10, "tke.cloud.tencent.com/qgpu-memory": 4},
        {
            "ELASTICGPU_0_CORE=10",
            f"ELASTICGPU_0_MEMORY={4 << 30}",
            "ELASTICGPU_0_ENFORCED=no, simulated card",
        },
    ),
}


async def start(world: World, backend: str) -> tuple[str, set[str]]:
    """A claim of the backend's example class and a pod for it; the card, and its variables."""
    written = (PLUGINS / backend / "class.yaml").read_text()
    await world.make(f"{OURS}/elasticgpuclasses", yaml.safe_load(written))
    asks = claim(backend, elasticGPUClassName=backend)
    asks["spec"]["resources"]["requests"] = ASKED[backend][0]
    await world.make(CLAIMS, asks)
    made = await world.make(PODS, pod(backend, backend))
    await world.phase(f"{PODS}/{backend}", "Running")
    bound = (await world.get(f"{CLAIMS}/{backend}"))["spec"]["elasticGPUName"]
    device = await world.get(f"{OURS}/elasticgpus/{bound}")
    (env,) = world.cluster.environment(made["metadata"]["uid"]).values()
    return device["spec"]["source"]["devices"][0]["gpu"], set(env)


async def test_each_in_its_own_words(world: World) -> None:
    """Each has a card for itself, and its container what is read there."""
    cards = set()
    for backend, (_, said) in ASKED.items():
        card, env = await start(world, backend)
        assert said < env
        cards.add(card)
    assert len(cards) == len(ASKED)


@pytest.mark.parametrize("backend", ["cgpu", "gpushare", "qgpu", "remote"])
async def test_the_example_class_is_accepted(world: World, backend: str) -> None:
    """It applies as it is, and its provisioner takes its parameters."""
    body = yaml.safe_load((PLUGINS / backend / "class.yaml").read_text())
    await world.make(f"{OURS}/elasticgpuclasses", body)

    async def said() -> dict[str, str]:
        found = await world.get(f"{OURS}/elasticgpuclasses/{backend}")
        told = found.get("status", {}).get("conditions", [])
        return {one["type"]: one["status"] for one in told}

    facts = await world.until(said)
    assert facts["ParametersAccepted"] == "True"
