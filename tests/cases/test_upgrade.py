"""An upgrade keeps what is stored, on a real API server, from every release in `tests/api/stored`.

The objects are those that `tests/api/test_stored.py` reads. Here they are stored under their own
release's CRDs, found whole under the present ones, and written to as the controllers do, those
included that today's rules would refuse as new.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Condition, KubeObject, ObjectReference, merge_condition
from elasticgpu.api.schema import KINDS
from tests.api.asks import COUNTED
from tests.api.compat import STORED
from tests.api.test_stored import RELEASES, objects
from tests.cluster.api import ApiError, wait_for
from tests.cluster.cluster import Cluster

Object = dict[str, Any]

CRDS = Path(__file__).parents[2] / "crds"
BY_NAME = {kind.__name__: kind for kind in KINDS}
SERVERS = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")
OWNERS = "ownerReferences"  # the owner is not there: the garbage collector would take the object


def path(one: Object) -> str:
    """Where the API server serves it."""
    metadata = one["metadata"]
    return BY_NAME[one["kind"]].resource.path(metadata.get("namespace", ""), metadata["name"])


def apply(server: Cluster, crds: Path) -> None:
    """Install or replace the CRDs."""
    server.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(crds))


def served(server: Cluster) -> bool:
    """Whether the present CRDs are what is served: what is kept of older ones has no columns."""
    plurals = ",".join(kind.resource.plural for kind in KINDS)
    tables = server.kubectl("get", plurals, "--no-headers=false").split("\n\n")
    assert len(tables) == len(KINDS)
    return all(len(table.splitlines()[0].split()) > len(("NAME", "AGE")) for table in tables)


def store(server: Cluster, document: Object) -> Object:
    """Create it as it was stored, its status included."""
    metadata = {k: v for k, v in document["metadata"].items() if k not in (*SERVERS, OWNERS)}
    body, collection = {**document, "metadata": metadata}, path(document).rpartition("/")[0]
    made = wait_for(partial(server.api.create, collection, body), 30, "the old CRDs")
    if "status" in document:
        made = server.api.replace(f"{path(made)}/status", {**made, "status": document["status"]})
    return made


@pytest.fixture(scope="module", params=RELEASES)
def stored(control_plane: Cluster, request: pytest.FixtureRequest) -> Iterator[list[Object]]:
    """Everything kept of a release, stored under its CRDs; then the present ones are installed."""
    server = control_plane
    apply(server, STORED / request.param / "crds.yaml")
    made = [store(server, document) for document in objects(request.param)]
    apply(server, CRDS)
    wait_for(partial(served, server), 60, "the present CRDs")
    yield made
    for one in made:
        server.api.patch(path(one), {"metadata": {"finalizers": None}})
        server.api.delete(path(one))


def now(server: Cluster, one: Object) -> Any:
    """The object as the controllers read it."""
    return BY_NAME[one["kind"]].model_validate(server.api.get(path(one)))


def put(server: Cluster, model: KubeObject, subresource: str = "") -> None:
    """Write it as the controllers do, and see that the server kept every field of it."""
    wire = model.wire()
    kept = server.api.replace(model.resource.path(*model.key, subresource), wire)
    assert kept["spec"] == {key: value for key, value in wire["spec"].items() if value is not None}
    assert kept.get("status") == wire.get("status")


def test_nothing_is_lost(control_plane: Cluster, stored: list[Object]) -> None:
    """What was accepted then is found now, field by field."""
    documents = {path(one): one for name in RELEASES for one in objects(name)}
    for one in stored:
        found = control_plane.api.get(path(one))
        assert found["spec"] == one["spec"] == documents[path(one)]["spec"]
        assert found.get("status") == one.get("status") == documents[path(one)].get("status")


def test_metadata_and_status_are_written(control_plane: Cluster, stored: list[Object]) -> None:
    """A finalizer and a condition, which every object may get at any time."""
    for one in stored:
        put(control_plane, now(control_plane, one).with_finalizers("elasticgpu.io/test"))
        model = now(control_plane, one)
        if "status" in type(model).model_fields:
            told = Condition(type="Told", status="True", reason="Test", message="it was told")
            conditions = merge_condition(model.status.conditions, told, now="2026-11-21T00:00:00Z")
            put(control_plane, model.but(status=model.status.but(conditions=conditions)), "status")


def test_claims_are_bound(control_plane: Cluster, stored: list[Object]) -> None:
    """The claim's half of the transaction goes through, whatever it asks for."""
    for one in stored:
        if one["kind"] != "ElasticGPUClaim" or one["spec"].get("elasticGPUName"):
            continue
        claim: ElasticGPUClaim = now(control_plane, one)
        put(control_plane, claim.but(spec=claim.spec.but(elastic_gpu_name="egpu-1")))
        bound = now(control_plane, one).with_status(phase="Bound", class_name="shares")
        put(control_plane, bound, "status")


def test_devices_change_hands(control_plane: Cluster, stored: list[Object]) -> None:
    """A claimRef goes, another comes, and the status says so."""
    for one in stored:
        if one["kind"] != "ElasticGPU":
            continue
        for owner in (None, ObjectReference(namespace="team", name="next", uid="u")):
            device: ElasticGPU = now(control_plane, one)
            put(control_plane, device.but(spec=device.spec.but(claim_ref=owner)))
        put(control_plane, now(control_plane, one).with_status(phase="Bound"), "status")


def test_cards_are_reported(control_plane: Cluster, stored: list[Object]) -> None:
    """Both writers of a card apply their fields over what is there."""
    head = {"apiVersion": "elasticgpu.io/v1alpha1", "kind": "GPU"}
    rows = [{"elasticGPU": "egpu-9", "claim": "team/next", "core": 10, "memory": "4Gi"}]
    for one in stored:
        if one["kind"] == "GPU":
            for manager, said in (("agent", {"health": "Healthy"}), ("ours", {"allocated": rows})):
                control_plane.api.patch(
                    f"{path(one)}/status", {**head, "status": said}, kind="apply", manager=manager
                )
            assert rows[0] in control_plane.api.get(path(one))["status"]["allocated"]


def test_the_present_rules_hold_for_what_is_new(
    control_plane: Cluster, stored: list[Object]
) -> None:
    """An old object is let be, a new one of its kind is not: the rules are really there."""
    (odd,) = [one for one in stored if one["metadata"]["name"] == "odd-whole-and-count"
              and one["kind"] == "ElasticGPUClaim"]  # fmt: skip
    again = {**odd, "metadata": {"name": "again", "namespace": "default"}}
    with pytest.raises(ApiError, match=COUNTED):
        control_plane.api.create(path(odd).rpartition("/")[0], again)
