"""`make policies`: what the chart installs for the API server to do by itself, rendered for the
simulated cluster, which has no helm."""

from __future__ import annotations

import subprocess

from elasticgpu.testing.simulation.installing import NAMESPACE, POLICIES
from tests.chart.conftest import CHART
from tests.cluster import binaries

NAMES = ("admission-agent", "admission-pods", "admission-resourceclaims", "admission-typos")
HEAD = "# The chart's DeviceClass and admission policies, rendered by `make policies`.\n"


def render() -> str:
    """The text of the file."""
    shown = [f"--show-only=templates/{name}.yaml" for name in (*NAMES, "deviceclass")]
    words = [
        str(binaries.find("helm")),
        "template",
        "elasticgpu",
        str(CHART),
        "--namespace",
        NAMESPACE,
    ]
    done = subprocess.run([*words, *shown], capture_output=True, text=True, timeout=60, check=True)
    return HEAD + done.stdout


if __name__ == "__main__":
    POLICIES.write_text(render(), encoding="utf-8")
