"""The simulated cluster has the chart's policies as they stand."""

from __future__ import annotations

from elasticgpu.testing.simulation.installing import POLICIES, policies
from tests.chart.conftest import Helm
from tests.chart.policies import render


def test_rendered(helm: Helm) -> None:
    """The committed file is what helm renders; else: `make policies`."""
    assert POLICIES.read_text(encoding="utf-8") == render()


def test_all_of_them() -> None:
    """Every policy of the chart is in it, each with its binding, and the DeviceClass."""
    kinds = [body["kind"] for body in policies()]
    folder = POLICIES.parents[3] / "helm" / "elasticgpu" / "templates"
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("*.yaml")]
    for kind in ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy", "DeviceClass"):
        written = sum(text.count(f"\nkind: {kind}\n") for text in texts)
        assert kinds.count(kind) == written > 0
    for kind in ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"):
        assert kinds.count(f"{kind}Binding") == kinds.count(kind)
