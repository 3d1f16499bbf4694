"""CRDs of our names that are somebody else's, by what the API server says it serves."""

from __future__ import annotations

from typing import Any

import pytest

from elasticgpu.api.foreign import strangers

OURS = {
    "gpus": "gpu",
    "elasticgpus": "egpu",
    "elasticgpuclaims": "egpuc",
    "elasticgpuclaimtemplates": "egpuct",
    "elasticgpuclasses": "egpuclass",
}


def served(**short: list[str] | None) -> dict[str, Any]:
    """An APIResourceList with these kinds, and the subresource of one."""
    rows: list[dict[str, Any]] = [{"name": "gpus/status", "kind": "GPU"}]
    for name, names in short.items():
        rows.append({"name": name} if names is None else {"name": name, "shortNames": names})
    return {"kind": "APIResourceList", "resources": rows}


@pytest.mark.parametrize(
    "kinds",
    [
        {},
        {name: [short] for name, short in OURS.items()},
        {name: [short, "more"] for name, short in OURS.items()},
        {"gpus": ["gpu"], "elsewhere": None},
    ],
    ids=["nothing", "ours", "ours-and-more-names", "some-of-ours"],
)
def test_ours_are_let_be(kinds: dict[str, list[str] | None]) -> None:
    """Also while the CRDs are being installed, and when a later release adds to them."""
    assert strangers(served(**kinds)) == ""
    assert strangers({}) == ""


def test_the_others_are_refused_with_the_way_out() -> None:
    """Which they are, whose they may be, and each command that helps, in their order."""
    theirs = {"gpus": None, "elasticgpus": [], "elasticgpuclaims": ["egpuc"]}
    assert strangers(served(**theirs)) == (
        "this cluster has CRDs of our names that are somebody else's (gpus.elasticgpu.io "
        "elasticgpus.elasticgpu.io; elastic-ai/elastic-gpu has such ones): keep their objects with "
        "`kubectl get -A -o yaml gpus,elasticgpus`, delete them with `kubectl delete crd "
        "gpus.elasticgpu.io elasticgpus.elasticgpu.io`, which deletes the objects too, and install "
        "ours with `elasticgpu crds | kubectl apply --server-side -f -`"
    )
