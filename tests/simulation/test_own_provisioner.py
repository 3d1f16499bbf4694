"""examples/02-own-provisioner, installed for real: the library has never heard of it."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from elasticgpu.provisioner import discover

from .conftest import Object, World

EXAMPLE = Path(__file__).parents[2] / "examples/02-own-provisioner"
NAME = "example.com/lanes"
OURS = "/apis/elasticgpu.io/v1alpha1"
COLLECTIONS = {
    "ElasticGPUClass": f"{OURS}/elasticgpuclasses",
    "ElasticGPUClaim": f"{OURS}/namespaces/default/elasticgpuclaims",
    "Pod": "/api/v1/namespaces/default/pods",
}


def python(*arguments: str, **env: str) -> None:
    """Run Python with these arguments to its end."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the example is installed, by pip, with what is at hand."""
    found = tmp_path_factory.mktemp("installed")
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet")
    python("-m", "pip", "install", *offline, "--target", str(found), str(EXAMPLE))
    return found


@pytest.fixture
def installed(target: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """It is found as what is installed is found, for one test."""
    assert NAME not in discover()
    monkeypatch.syspath_prepend(target)
    yield
    sys.modules.pop("lanes", None)
    importlib.invalidate_caches()


def test_its_own_tests(target: Path) -> None:
    """They pass, and what they try is what was installed."""
    python(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio"),
        *("-c", os.devnull, "--rootdir", str(EXAMPLE), "--import-mode=importlib", str(EXAMPLE)),
        PYTHONPATH=os.pathsep.join([str(target), str(EXAMPLE.parents[1])]),
        PYTHONDONTWRITEBYTECODE="1",
    )


def manifests() -> dict[str, Object]:
    """What its author applies, by kind."""
    found = yaml.safe_load_all((EXAMPLE / "lanes.yaml").read_text())
    return {body["kind"]: body for body in found}


async def test_it_serves(installed: None, world: World) -> None:
    """Its class is taken, and the pod of its manifests runs with a ticket to its lane."""
    made: dict[str, Object] = {}
    for kind, body in manifests().items():
        made[kind] = await world.make(COLLECTIONS[kind], body)
    await world.phase(f"{COLLECTIONS['Pod']}/driver", "Running")
    claim = await world.get(f"{COLLECTIONS['ElasticGPUClaim']}/slow-lane")
    device = await world.get(f"{OURS}/elasticgpus/{claim['spec']['elasticGPUName']}")
    assert device["spec"]["source"]["driver"] == NAME
    assert device["spec"]["source"]["parameters"] == {"lanes": "2"}
    seen = world.cluster.environment(made["Pod"]["metadata"]["uid"])["main"]
    assert f"ELASTICGPU_0_TICKET=/run/lanes/{device['metadata']['name']}" in seen
    gpu_class = await world.get(f"{COLLECTIONS['ElasticGPUClass']}/lanes")
    says = {row["type"]: row["status"] for row in gpu_class["status"]["conditions"]}
    assert says == {"ParametersAccepted": "True", "Verified": "False"}


async def test_a_class_that_it_refuses(installed: None, world: World) -> None:
    """The class says so by the field's name, its claim waits and says the same, and no device is
    made; a class that is written anew serves."""
    refused = "parameters of example.com/lanes: lanes: "
    given = manifests()
    bad = {**given["ElasticGPUClass"], "spec": {"provisioner": NAME, "parameters": {"lanes": "0"}}}
    await world.make(COLLECTIONS["ElasticGPUClass"], bad)
    await world.make(COLLECTIONS["ElasticGPUClaim"], given["ElasticGPUClaim"])

    async def said(kind: str, name: str, reason: str) -> str:
        found = await world.get(f"{COLLECTIONS[kind]}/{name}")
        rows = found.get("status", {}).get("conditions", [])
        return next((row["message"] for row in rows if row["reason"] == reason), "")

    where = ("ElasticGPUClass", "lanes"), ("ElasticGPUClaim", "slow-lane")
    for kind, name in where:
        message = await world.until(partial(said, kind, name, "BadParameters"))
        assert refused in message

    async def told() -> bool:
        events = (await world.get("/apis/events.k8s.io/v1/events"))["items"]
        warnings = [one for one in events if one["type"] == "Warning"]
        about = {one["regarding"]["kind"] for one in warnings if refused in one["note"]}
        return about == {kind for kind, _ in where}

    await world.until(told)
    assert not (await world.get(f"{OURS}/elasticgpus"))["items"]
    await world.delete(f"{COLLECTIONS['ElasticGPUClass']}/lanes")
    await world.make(COLLECTIONS["ElasticGPUClass"], given["ElasticGPUClass"])
    await world.phase(f"{COLLECTIONS['ElasticGPUClaim']}/slow-lane", "Bound")
