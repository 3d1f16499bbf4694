"""`kubectl explain` on a real API server: every field has its sentence, and it reads well.

`explained/` holds the words as they are printed; `EXPLAIN=write` before the test's command renews
them after a change, and the change is read in the diff.
"""

from __future__ import annotations

import os
from difflib import unified_diff
from pathlib import Path

import pytest

from tests.cluster.api import wait_for
from tests.cluster.cluster import Cluster

EXPLAINED = Path(__file__).parent / "explained"
TREE = "--recursive"
PAGES: dict[str, list[tuple[str, ...]]] = {
    "elasticgpuclaim": [
        ("elasticgpuclaim.spec", TREE),
        ("elasticgpuclaim.spec",),
        ("elasticgpuclaim.spec.resources",),
        ("elasticgpuclaim.spec.gpuSelector",),
        ("elasticgpuclaim.spec.selector",),
        ("elasticgpuclaim.status",),
        ("elasticgpuclaim.status.users",),
        ("elasticgpuclaim.status.conditions",),
    ],
    "elasticgpuclaimtemplate": [("elasticgpuclaimtemplate.spec", TREE)],
    "elasticgpu": [
        ("elasticgpu.spec", TREE),
        ("elasticgpu.spec",),
        ("elasticgpu.spec.source",),
        ("elasticgpu.spec.source.devices",),
        ("elasticgpu.status",),
    ],
    "gpu": [
        ("gpu.status", TREE),
        ("gpu.spec",),
        ("gpu.status",),
        ("gpu.status.allocated",),
        ("gpu.status.mig",),
    ],
    "elasticgpuclass": [
        ("elasticgpuclass.spec", TREE),
        ("elasticgpuclass.spec",),
        ("elasticgpuclass.spec.placement",),
    ],
}


@pytest.mark.parametrize("kind", PAGES)
def test_what_kubectl_explains(bare: Cluster, kind: str) -> None:
    """Word for word, with nothing left unsaid."""
    wait_for(lambda: "FIELDS" in bare.kubectl("explain", kind, check=False), 30, "its explanation")
    printed = "".join(
        f"$ kubectl explain {' '.join(page)}\n{bare.kubectl('explain', *page).rstrip()}\n\n"
        for page in PAGES[kind]
    )
    text = "\n".join(line.rstrip() for line in printed.splitlines()) + "\n"
    path = EXPLAINED / f"{kind}.txt"
    if os.environ.get("EXPLAIN") == "write":
        path.write_text(text, encoding="utf-8")
    kept = path.read_text(encoding="utf-8")
    assert "<no description>" not in text
    if changes := list(unified_diff(kept.splitlines(), text.splitlines(), path.name, lineterm="")):
        pytest.fail("\n".join(changes), pytrace=False)
