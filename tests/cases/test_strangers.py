"""A cluster that has elastic-ai's CRDs of our names: our processes refuse to work on them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from elasticgpu.api.foreign import strangers
from tests.cluster.api import wait_for
from tests.cluster.cluster import Cluster

GROUP = "/apis/elasticgpu.io/v1alpha1"
GPUS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gpus.elasticgpu.io"
OURS = Path(__file__).parents[2] / "crds"
THEIRS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gpus.elasticgpu.io"},
    "spec": {
        "group": "elasticgpu.io",
        "scope": "Cluster",
        "names": {"kind": "GPU", "listKind": "GPUList", "plural": "gpus", "singular": "gpu"},
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["index"],
                                "properties": {
                                    "index": {"type": "integer"},
                                    "nodeName": {"type": "string"},
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}


def gpus(server: Cluster) -> list[dict[str, Any]]:
    """What discovery says of the kind."""
    return [row for row in server.api.get(GROUP)["resources"] if row["name"] == "gpus"]


@pytest.fixture
def foreign(control_plane: Cluster) -> Iterator[Cluster]:
    """A control plane with theirs in the place of ours, put right again at the end."""
    server = control_plane
    remove(server)
    server.kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump(THEIRS))
    wait_for(lambda: gpus(server), 30, "their kind served")
    yield server
    remove(server)
    server.kubectl("apply", "--server-side", "-f", str(OURS))
    wait_for(lambda: [row.get("shortNames") for row in gpus(server)] == [["gpu"]], 30, "our kind")


def remove(server: Cluster) -> None:
    """Delete the CRD of cards, whoever's it is."""
    if server.api.exists(GPUS):
        server.api.delete(GPUS)
        wait_for(lambda: not server.api.exists(GPUS), 30, "the CRD gone")


def test_processes_refuse_to_work_on_them(foreign: Cluster) -> None:
    """They end with 1 and the sentence that says what they found and what to do."""
    command = [sys.executable, "-m", "elasticgpu", "controller", "--no-leader-elect"]
    done = subprocess.run(
        [*command, "--kubeconfig", str(foreign.kubeconfig)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    sentence = strangers(foreign.api.get(GROUP))
    assert "gpus.elasticgpu.io" in sentence
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"elasticgpu controller: {sentence}"
