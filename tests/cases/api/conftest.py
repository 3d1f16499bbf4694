"""A control plane that has our CRDs and nothing else."""

from __future__ import annotations

from functools import partial

import pytest

from tests.cluster.api import wait_for
from tests.cluster.cluster import Cluster

from .asking import CRDS, ROOT, our_crds


@pytest.fixture(scope="package")
def bare(control_plane: Cluster) -> Cluster:
    """A control plane with our CRDs and nothing that acts on them."""
    control_plane.kubectl("apply", "--server-side", "-f", str(ROOT / "crds"))
    for crd in our_crds(control_plane):
        wait_for(partial(established, control_plane, f"{CRDS}/{crd['metadata']['name']}"))
    return control_plane


def established(server: Cluster, path: str) -> bool:
    """Whether the API server serves that kind, with nothing to complain about its schema."""
    conditions = server.api.get(path)["status"]["conditions"]
    facts = {c["type"]: c["status"] for c in conditions}
    return facts.get("Established") == "True" and "NonStructuralSchema" not in facts
