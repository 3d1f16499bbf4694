"""The chart rendered by helm, without any cluster."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster import binaries
from tests.cluster.fixtures import check_tier
from tests.cluster.gobuild import BuildFailed

Object = dict[str, Any]
Helm = Callable[..., subprocess.CompletedProcess[str]]
Render = Callable[..., list[Object]]

CHART = Path(__file__).parents[2] / "helm" / "elasticgpu"


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Runs helm with these words; without helm and without Go to build it, a loud skip."""
    try:
        program = binaries.find("helm")
    except BuildFailed as error:
        check_tier("apiserver", [f"no helm: {error}"])
        raise
    home = str(tmp_path_factory.mktemp("helm"))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, *words],
            env={"HOME": home, "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def render(helm: Helm) -> Render:
    """The objects that `helm template` makes of the chart with these values."""

    def objects(*sets: str, release: str = "elasticgpu", values: str = "") -> list[Object]:
        words = [f"--set={one}" for one in sets] + ([f"--values={values}"] if values else [])
        done = helm("template", release, str(CHART), "--namespace", "gpu", *words)
        assert done.returncode == 0, done.stderr
        return [one for one in yaml.safe_load_all(done.stdout) if one]

    return objects


def named(objects: list[Object], kind: str, name: str = "") -> Object:
    """The one object of that kind (and name)."""
    found = [
        one for one in objects if one["kind"] == kind and name in ("", one["metadata"]["name"])
    ]
    assert len(found) == 1, [one["metadata"]["name"] for one in found]
    return found[0]
