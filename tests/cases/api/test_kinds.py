"""What a person sees of our kinds, and what the server makes of manifests."""

from __future__ import annotations

import pytest

from tests.api.manifests import SEED
from tests.cluster.cluster import Cluster

from .asking import PATHS, REQUESTS, SOURCE, Object, new, our_crds


def test_every_kind_is_served(bare: Cluster) -> None:
    """Five kinds, all Established, under their short names."""
    names = [crd["spec"]["names"] for crd in our_crds(bare)]
    assert {name["kind"]: name["shortNames"] for name in names} == {
        "GPU": ["gpu"],
        "ElasticGPU": ["egpu"],
        "ElasticGPUClaim": ["egpuc"],
        "ElasticGPUClaimTemplate": ["egpuct"],
        "ElasticGPUClass": ["egpuclass"],
    }


def test_one_word_for_each_kind_and_one_for_all(bare: Cluster) -> None:
    """`gpu` is a card, by name too, and `elastic-gpu` everything."""
    card = new("GPU", {"nodeName": "node-1"})
    claim = new("ElasticGPUClaim", REQUESTS)
    for one in (card, claim):
        bare.api.create(PATHS[one["kind"]], one)
    name = card["metadata"]["name"]
    assert bare.kubectl("get", "gpu", name, "-o", "name") == f"gpu.elasticgpu.io/{name}\n"
    everything = bare.kubectl("get", "elastic-gpu", "-o", "name").split()
    assert f"gpu.elasticgpu.io/{name}" in everything
    assert f"elasticgpuclaim.elasticgpu.io/{claim['metadata']['name']}" in everything


def test_the_users_manifests_are_accepted_unchanged(bare: Cluster) -> None:
    """Class and claim apply as written; a second apply finds nothing to change."""
    ours = "---".join(SEED.split("---")[:2])
    assert bare.kubectl("apply", "-f", "-", input=ours).splitlines() == [
        "elasticgpuclass.elasticgpu.io/qgpu-class created",
        "elasticgpuclaim.elasticgpu.io/qgpu-egpuc created",
    ]
    assert bare.kubectl("apply", "-f", "-", input=ours).splitlines() == [
        "elasticgpuclass.elasticgpu.io/qgpu-class unchanged",
        "elasticgpuclaim.elasticgpu.io/qgpu-egpuc unchanged",
    ]
    claim = bare.api.get(f"{PATHS['ElasticGPUClaim']}/qgpu-egpuc")
    assert claim["spec"] == {
        "storageClassName": "qgpu-class",
        "resources": {
            "requests": {
                "tke.cloud.tencent.com/qgpu-core": 10,
                "tke.cloud.tencent.com/qgpu-memory": "4Gi",
            }
        },
    }


def test_the_only_defaults(bare: Cluster) -> None:
    """Policies are written into the object, everything else stays as it was sent."""
    made = bare.api.create(PATHS["ElasticGPUClass"], new("ElasticGPUClass", {"provisioner": "p"}))
    assert made["spec"] == {
        "provisioner": "p",
        "reclaimPolicy": "Delete",
        "eGPUBindingMode": "Immediate",
    }
    device = bare.api.create(PATHS["ElasticGPU"], new("ElasticGPU", {"source": SOURCE}))
    assert device["spec"] == {"source": SOURCE, "reclaimPolicy": "Delete"}
    claim = bare.api.create(PATHS["ElasticGPUClaim"], new("ElasticGPUClaim", REQUESTS))
    assert claim["spec"] == REQUESTS


def test_null_is_absent_and_unknown_fields_are_pruned(bare: Cluster) -> None:
    """A PUT of `claimRef: null` clears it; what no schema knows is not stored."""
    spec = {"source": SOURCE, "claimRef": None, "colour": "blue"}
    made = bare.api.create(PATHS["ElasticGPU"], new("ElasticGPU", spec))
    assert "claimRef" not in made["spec"]
    assert "colour" not in made["spec"]


def test_a_template_keeps_labels_and_annotations_only(bare: Cluster) -> None:
    """Of the metadata of the claims to come."""
    metadata = {"labels": {"a": "b"}, "annotations": {"c": "d"}, "name": "no", "finalizers": ["x"]}
    body = new("ElasticGPUClaimTemplate", {"metadata": metadata, "spec": REQUESTS})
    made = bare.api.create(PATHS["ElasticGPUClaimTemplate"], body)
    assert made["spec"]["metadata"] == {"labels": {"a": "b"}, "annotations": {"c": "d"}}


def test_devices_and_cards_are_found_by_their_node(bare: Cluster) -> None:
    """`--field-selector spec.nodeName=…` serves the agent's watch."""
    for kind, spec in (("GPU", {}), ("ElasticGPU", {"source": SOURCE})):
        name = f"here-{kind.lower()}"
        bare.api.create(PATHS[kind], new(kind, {**spec, "nodeName": "here"}, name))
        found = bare.api.list(PATHS[kind], fieldSelector="spec.nodeName=here")
        assert [one["metadata"]["name"] for one in found] == [name]


def test_two_writers_of_a_card_do_not_meet(bare: Cluster) -> None:
    """The agent applies what it found, the controller `allocated`; neither erases the other's."""
    body = new("GPU", {"nodeName": "node-1"})
    path = f"{PATHS['GPU']}/{body['metadata']['name']}"
    bare.api.create(PATHS["GPU"], body)
    head = {key: body[key] for key in ("apiVersion", "kind")}
    row = {"elasticGPU": "d", "core": 10, "memory": "4Gi"}
    for manager, status in (("agent", {"index": 3}), ("controller", {"allocated": [row]})):
        bare.api.patch(f"{path}/status", {**head, "status": status}, kind="apply", manager=manager)
    bare.api.patch(
        f"{path}/status", {**head, "status": {"index": 4}}, kind="apply", manager="agent"
    )
    assert bare.api.get(path)["status"] == {"index": 4, "allocated": [row]}


COLUMNS = {
    "elasticgpuclaims": "NAME PHASE CLASS DEVICE SHARED USED-BY AGE MESSAGE",
    "elasticgpuclaimtemplates": "NAME CLASS AGE",
    "elasticgpus": "NAME PHASE CLASS CLAIM-NAMESPACE CLAIM NODE RECLAIM AGE REASON MESSAGE",
    "gpus": "NAME NODE INDEX MODEL MEMORY MODE HEALTH AGE UNSCHEDULABLE UUID DRIVER",
    "elasticgpuclasses": "NAME PROVISIONER RECLAIMPOLICY BINDINGMODE DEFAULT ACCEPTED AGE "
    "VERIFIED MESSAGE",
}


@pytest.mark.parametrize(("plural", "header"), COLUMNS.items(), ids=COLUMNS)
def test_columns(bare: Cluster, plural: str, header: str) -> None:
    """`kubectl get -o wide` answers what a person asks first."""
    specs: dict[str, tuple[str, Object]] = {
        "elasticgpuclaims": ("ElasticGPUClaim", REQUESTS),
        "elasticgpuclaimtemplates": ("ElasticGPUClaimTemplate", {"spec": REQUESTS}),
        "elasticgpus": ("ElasticGPU", {"source": SOURCE}),
        "gpus": ("GPU", {"nodeName": "node-1"}),
        "elasticgpuclasses": ("ElasticGPUClass", {"provisioner": "p"}),
    }
    kind, spec = specs[plural]
    bare.api.create(PATHS[kind], new(kind, spec))
    assert bare.kubectl("get", plural, "-o", "wide").splitlines()[0].split() == header.split()


def test_a_claim_in_use_at_a_glance(bare: Cluster) -> None:
    """Phase, class in effect, device, who uses it and why, in one line; `kubectl wait` works."""
    spec = {**REQUESTS, "elasticGPUName": "d1", "shared": True}
    bare.api.create(PATHS["ElasticGPUClaim"], new("ElasticGPUClaim", spec, "glance"))
    status = {
        "phase": "Bound",
        "className": "shares",
        "users": [{"podUid": "u", "podName": "trainer-0"}],
        "usedBy": "trainer-0",
        "conditions": [
            {"type": "Ready", "status": "False", "message": "not this one"},
            {"type": "Bound", "status": "True", "message": "to d1 on node-1"},
        ],
    }
    bare.api.patch(f"{PATHS['ElasticGPUClaim']}/glance/status", {"status": status})
    row = bare.kubectl("get", "egpuc", "glance", "-o", "wide").splitlines()[1].split(maxsplit=7)
    assert row[:6] == ["glance", "Bound", "shares", "d1", "true", "trainer-0"]
    assert row[7].strip() == "to d1 on node-1"
    bare.kubectl("wait", "--for=condition=Bound", "egpuc/glance", "--timeout=5s")


def test_the_default_class_at_a_glance(bare: Cluster) -> None:
    """The annotation that makes a class the default is a column."""
    body = new("ElasticGPUClass", {"provisioner": "p"}, "glance")
    body["metadata"]["annotations"] = {"elasticgpu.io/is-default-class": "true"}
    bare.api.create(PATHS["ElasticGPUClass"], body)
    row = bare.kubectl("get", "egpuclass", "glance").splitlines()[1].split()
    assert row[:5] == ["glance", "p", "Delete", "Immediate", "true"]
