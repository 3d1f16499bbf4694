"""The kinds: what is read is what is written back; small questions have small answers."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from elasticgpu.api.claim import ElasticGPUClaim, ElasticGPUClaimTemplate
from elasticgpu.api.core import Pod, ResourceClaim
from elasticgpu.api.elasticgpu import CardSlice, ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import KubeObject, Resource, labels_match
from elasticgpu.api.names import DEFAULT_CLASS_ANNOTATION
from elasticgpu.api.schema import KINDS

from .accepted import objects
from .manifests import CARD, DEVICE, FULL_CLAIM, SEED, TEMPLATE

MODELS: dict[str, type[KubeObject]] = {
    "ElasticGPUClaim": ElasticGPUClaim,
    "ElasticGPUClaimTemplate": ElasticGPUClaimTemplate,
    "ElasticGPU": ElasticGPU,
    "ElasticGPUClass": ElasticGPUClass,
    "GPU": GPU,
    "Pod": Pod,
}
MANIFESTS = [
    document
    for text in (SEED, FULL_CLAIM, DEVICE, CARD, TEMPLATE)
    for document in yaml.safe_load_all(text)
]


def read(text: str) -> Any:
    """The first object of that text."""
    document = next(iter(yaml.safe_load_all(text)))
    return MODELS[document["kind"]].model_validate(document)


# -- in and out -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "document", MANIFESTS, ids=lambda d: f"{d['kind']}-{d['metadata']['name']}"
)
def test_what_people_write_comes_back_unchanged(document: dict[str, Any]) -> None:
    """Nothing lost, nothing added, `10` stays a number and `"30"` a text."""
    model = MODELS[document["kind"]].model_validate(document)
    assert model.wire() == document


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_what_the_server_accepts_is_read_and_comes_back(
    kind: type[KubeObject], data: st.DataObject
) -> None:
    """Every object that fits the schema fits the model, and a PUT of it changes nothing."""
    document = data.draw(objects(kind))
    assert kind.model_validate(document).wire() == document


def test_an_object_made_here_says_what_it_is() -> None:
    """`apiVersion` and `kind` come from the model, and only what was set travels."""
    claim = ElasticGPUClaim.model_validate({"metadata": {"name": "a"}, "spec": {}})
    assert claim.wire() == {
        "apiVersion": "elasticgpu.io/v1alpha1",
        "kind": "ElasticGPUClaim",
        "metadata": {"name": "a"},
        "spec": {},
    }


def test_a_change_keeps_what_the_model_does_not_know() -> None:
    """A field of a newer release survives read, change and write at every depth."""
    claim = ElasticGPUClaim.model_validate(
        {"metadata": {"name": "a", "new": 1}, "spec": {"newer": 2}, "status": {"newest": 3}}
    )
    changed = claim.with_status(phase="Bound").with_metadata(labels={"a": "b"}).wire()
    assert changed["metadata"] == {"name": "a", "new": 1, "labels": {"a": "b"}}
    assert changed["spec"] == {"newer": 2}
    assert changed["status"] == {"newest": 3, "phase": "Bound"}


def test_objects_do_not_change_under_their_readers() -> None:
    """Models are frozen: a cache may hand out the same one to everybody."""
    claim = read(FULL_CLAIM)
    with pytest.raises(ValidationError, match="frozen"):
        claim.metadata.name = "b"


def test_a_spec_is_required() -> None:
    """As in the schema."""
    for kind in KINDS:
        with pytest.raises(ValidationError, match="spec"):
            kind.model_validate({"metadata": {"name": "a"}})


# -- metadata -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resource", "where", "path"),
    [
        (Pod.resource, ("team", "a"), "/api/v1/namespaces/team/pods/a"),
        (Pod.resource, (), "/api/v1/pods"),
        (Pod.resource, ("team", "a", "binding"), "/api/v1/namespaces/team/pods/a/binding"),
        (
            ElasticGPUClaim.resource,
            ("team", "", ""),
            "/apis/elasticgpu.io/v1alpha1/namespaces/team/elasticgpuclaims",
        ),
        (GPU.resource, ("", "a", "status"), "/apis/elasticgpu.io/v1alpha1/gpus/a/status"),
        (GPU.resource, ("ignored", "a"), "/apis/elasticgpu.io/v1alpha1/gpus/a"),
    ],
)
def test_paths(resource: Resource, where: tuple[str, ...], path: str) -> None:
    """Where the API server serves it; a cluster-scoped kind has no namespace."""
    assert resource.path(*where) == path


def test_api_version() -> None:
    """The core group has no name."""
    assert (Pod.resource.api_version, GPU.resource.api_version) == ("v1", "elasticgpu.io/v1alpha1")


def test_short_words_for_metadata() -> None:
    """Name, namespace, key, uid."""
    claim, device = read(FULL_CLAIM), read(DEVICE)
    assert (claim.name, claim.namespace, claim.key) == (
        "everything",
        "team",
        ("team", "everything"),
    )
    assert (device.namespace, device.key, device.uid) == ("", ("", "egpu-1"), "u1")


def test_terminating() -> None:
    """Asked to be deleted, whatever keeps it."""
    claim = read(FULL_CLAIM)
    assert not claim.terminating
    assert claim.with_metadata(deletion_timestamp="2026-01-01T00:00:00Z").terminating


def test_finalizers_are_added_once_and_removed_alone() -> None:
    """Others' finalizers and their order stay."""
    claim = read(FULL_CLAIM).with_finalizers("b", "elasticgpu.io/claim-protection", "c")
    assert claim.metadata.finalizers == ["elasticgpu.io/claim-protection", "b", "c"]
    assert claim.without_finalizers("b", "absent").metadata.finalizers == [
        "elasticgpu.io/claim-protection",
        "c",
    ]


def test_labels_match() -> None:
    """Every pair of the selector, whatever else there is."""
    assert labels_match({}, {})
    assert labels_match({"a": "b"}, {"a": "b", "c": "d"})
    assert not labels_match({"a": "b"}, {"a": "c"})
    assert not labels_match({"a": "b"}, {})


# -- what the kinds answer ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ({}, None),
        ({"elasticGPUClassName": ""}, ""),
        ({"elasticGPUClassName": "a"}, "a"),
        ({"storageClassName": "a"}, "a"),
        ({"storageClassName": ""}, ""),
        ({"elasticGPUClassName": "a", "storageClassName": "a"}, "a"),
    ],
)
def test_the_class_has_two_names(spec: dict[str, str], name: str | None) -> None:
    """None: the default class, "": never provision."""
    assert ElasticGPUClaim.model_validate({"spec": spec}).class_name == name


def test_the_device_knows_its_claim() -> None:
    """A reservation for a name has no uid yet, nor has a free device."""
    device: ElasticGPU = read(DEVICE)
    assert device.claim_uid == "c1"
    assert device.spec.claim_ref
    assert device.spec.claim_ref.key == ("team", "everything")
    reserved = device.spec.but(claim_ref=device.spec.claim_ref.but(uid=""))
    assert device.but(spec=reserved).claim_uid == ""
    assert device.but(spec=device.spec.but(claim_ref=None)).claim_uid == ""
    assert device.with_status(phase="Released").status.phase == "Released"


def test_memory_is_bytes() -> None:
    """Of a card and of a slice of it, however it was written."""
    assert read(CARD).memory == 143771 << 20
    assert CardSlice(gpu="a", memory="4Gi").memory_bytes == 4 << 30


@pytest.mark.parametrize("memory", ["x", "1.5", "1e-3"])
def test_a_card_of_unreadable_memory_serves_nobody(memory: str) -> None:
    """An older release's agent, or somebody's hand, may have written it."""
    card = GPU.model_validate({"spec": {"nodeName": "n"}, "status": {"memory": memory}})
    assert card.memory == 0


def test_the_default_class_is_marked() -> None:
    """By the annotation, and only if it says true."""
    one = read(SEED)
    assert not one.is_default
    for text, default in (("true", True), ("false", False)):
        marked = one.with_metadata(annotations={DEFAULT_CLASS_ANNOTATION: text})
        assert marked.is_default is default


@pytest.mark.parametrize(
    ("phase", "finished"),
    [
        ("", False),
        ("Pending", False),
        ("Running", False),
        ("Unknown", False),
        ("Succeeded", True),
        ("Failed", True),
    ],
)
def test_a_pod_is_finished(phase: str, finished: bool) -> None:
    """When its containers never run again."""
    assert Pod.model_validate({"status": {"phase": phase}}).finished is finished


def test_a_resource_claim_knows_its_pod() -> None:
    """The pod that controls it; another owner is none."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
    cases = [
        ([owner], "u"),
        ([], ""),
        ([{**owner, "kind": "Job"}], ""),
        ([{**owner, "controller": False}], ""),
    ]
    for owners, uid in cases:
        claim = ResourceClaim.model_validate({"metadata": {"ownerReferences": owners}})
        assert claim.pod_uid == uid
