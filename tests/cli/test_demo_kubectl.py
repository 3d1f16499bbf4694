"""Plain kubectl against what `elasticgpu demo --keep` serves: what the README promises of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from elasticgpu.api.names import CLAIM_ANNOTATION
from tests.cluster import binaries
from tests.cluster.fixtures import check_tier

Object = dict[str, Any]
Kubectl = Callable[..., str]
OURS = "elasticgpu.io/v1alpha1"
PATIENCE = "--timeout=60s"


@pytest.fixture(scope="module")
def program() -> str:
    """kubectl, or a loud skip."""
    found = binaries.present(binaries.tool("kubectl"))
    check_tier("apiserver", [] if found else ["no kubectl"])
    return str(found)


@pytest.fixture(scope="module")
def environment(program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What kubectl needs to find the demo, which stays up meanwhile."""
    words = [sys.executable, "-m", "elasticgpu", "demo", "--keep"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        config = next(
            (line.partition("=")[2].strip() for line in demo.stdout if "KUBECONFIG=" in line), ""
        )
        assert config, "the demo ended before it served anybody"
        home = str(tmp_path_factory.mktemp("home"))
        yield os.environ | {"KUBECONFIG": config, "HOME": home}
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=60)


@pytest.fixture
def kubectl(program: str, environment: dict[str, str]) -> Kubectl:
    """Runs kubectl; what it prints. Fails if it does."""

    def run(*words: str, given: list[Object] | None = None, **more: str) -> str:
        done = subprocess.run(
            [program, *words],
            input="\n".join(map(json.dumps, given or [])),
            env=environment | more,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def claim(name: str) -> list[Object]:
    """A class of the test's own, and a claim of a tenth of a card."""
    spec = {"provisioner": "elasticgpu.io/qgpu", "reclaimPolicy": "Delete"}
    meta = {"name": f"{name}-class"}
    asked = {"elasticgpu.io/gpu-core": 10, "elasticgpu.io/gpu-memory": "1Gi"}
    wants = {"elasticGPUClassName": f"{name}-class", "resources": {"requests": asked}}
    return [
        {"apiVersion": OURS, "kind": "ElasticGPUClass", "metadata": meta, "spec": spec},
        {"apiVersion": OURS, "kind": "ElasticGPUClaim", "metadata": {"name": name}, "spec": wants},
    ]


def pod(name: str) -> Object:
    """A pod of this name that uses the claim of this name."""
    meta = {"name": name, "annotations": {f"{CLAIM_ANNOTATION}main": name}}
    spec = {"containers": [{"name": "main", "image": "none"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def test_a_claim_from_apply_to_delete(
    kubectl: Kubectl, program: str, environment: dict[str, str]
) -> None:
    """It is seen to be bound, serves a pod, and goes with its device."""
    columns = '-o=jsonpath={.metadata.name} {.status.phase}{"\\n"}'
    words = [program, "get", "egpuc", "-w", columns, "--request-timeout=60s"]
    seen: list[str] = []
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        made = kubectl("apply", "-f", "-", given=[*claim("mine"), pod("mine")])
        assert "elasticgpuclaim.elasticgpu.io/mine created\npod/mine created\n" in made
        for line in watching.stdout:
            seen.append(line.strip())
            if line == "mine Bound\n":
                break
        watching.terminate()
    phases = [line.partition(" ")[2] for line in seen if line.startswith("mine")]
    assert phases[-1] == "Bound"
    assert {*phases[:-1]} <= {"", "Pending"}
    bound = kubectl("wait", "--for=condition=Bound", PATIENCE, "egpuc/mine")
    assert bound == "elasticgpuclaim.elasticgpu.io/mine condition met\n"
    kubectl("wait", "--for=jsonpath={.status.phase}=Running", PATIENCE, "pod/mine")
    device = kubectl("get", "egpuc", "mine", "-o=jsonpath={.spec.elasticGPUName}")
    assert "unchanged" in kubectl("apply", "-f", "-", given=claim("mine"))
    assert 'pod "mine" deleted' in kubectl("delete", "pod/mine", "egpuc/mine")
    kubectl("wait", "--for=delete", PATIENCE, f"egpu/{device}")


def test_describe_and_edit(kubectl: Kubectl, tmp_path: Path) -> None:
    """What is edited is judged, and what is wrong then is described."""
    kubectl("apply", "-f", "-", given=claim("grown"))
    kubectl("wait", "--for=condition=Bound", PATIENCE, "egpuc/grown")
    script = tmp_path / "editor"
    script.write_text("#!/bin/sh\nsed -i 's/gpu-core: 10/gpu-core: 20/' \"$1\"\n")
    script.chmod(0o755)
    edited = kubectl("edit", "egpuc", "grown", EDITOR=str(script))
    assert edited == "elasticgpuclaim.elasticgpu.io/grown edited\n"
    kubectl("wait", "--for=condition=Resized=false", PATIENCE, "egpuc/grown")
    told = kubectl("describe", "egpuc", "grown")
    assert "a bound claim keeps its device" in told
    assert "Events:" in told
    kubectl("delete", "egpuc/grown")


def test_patch(kubectl: Kubectl) -> None:
    """A card is taken out of use, and into use again."""
    card = kubectl("get", "gpus", "-o=name").split()[0]
    for closed in ("true", "false"):
        change = f'{{"spec": {{"unschedulable": {closed}}}}}'
        assert kubectl("patch", card, "--type=merge", "-p", change).endswith(" patched\n")
        assert kubectl("get", card, "-o=jsonpath={.spec.unschedulable}") == closed


def test_explain(kubectl: Kubectl) -> None:
    """The fields of our kinds have their sentences."""
    told = kubectl("explain", "elasticgpuclaim.spec.resources")
    assert "KIND:       ElasticGPUClaim" in told
    assert "Amounts by resource name" in told
