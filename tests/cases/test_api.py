"""What the API server itself refuses, and the sentence a person reads: the CRDs on a real server.

Nobody else takes part: no controller, no webhook. The tables are the contract of `crd_rules.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.api.asks import ASKS, Ask
from tests.api.manifests import SEED
from tests.cluster.api import ApiError, wait_for
from tests.cluster.cluster import Cluster
from tests.cluster.fixtures import control_plane  # noqa: F401 # a fixture

Object = dict[str, Any]

ROOT = Path(__file__).parents[2]
OURS = "/apis/elasticgpu.io/v1alpha1"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PATHS = {
    "GPU": f"{OURS}/gpus",
    "ElasticGPU": f"{OURS}/elasticgpus",
    "ElasticGPUClass": f"{OURS}/elasticgpuclasses",
    "ElasticGPUClaim": f"{OURS}/namespaces/default/elasticgpuclaims",
    "ElasticGPUClaimTemplate": f"{OURS}/namespaces/default/elasticgpuclaimtemplates",
}
CORE = {"elasticgpu.io/gpu-core": 10}
_serial = count(1)


@pytest.fixture(scope="module")
def bare(request: pytest.FixtureRequest) -> Cluster:
    """A control plane with our CRDs and nothing that acts on them."""
    server: Cluster = request.getfixturevalue("control_plane")
    server.kubectl("apply", "--server-side", "-f", str(ROOT / "crds"))
    for crd in our_crds(server):
        wait_for(partial(established, server, f"{CRDS}/{crd['metadata']['name']}"))
    return server


def our_crds(server: Cluster) -> list[Object]:
    """The five, as the API server has them."""
    return [crd for crd in server.api.list(CRDS) if crd["spec"]["group"] == "elasticgpu.io"]


def established(server: Cluster, path: str) -> bool:
    """Whether the API server serves that kind, with nothing to complain about its schema."""
    conditions = server.api.get(path)["status"]["conditions"]
    facts = {c["type"]: c["status"] for c in conditions}
    return facts.get("Established") == "True" and "NonStructuralSchema" not in facts


def new(kind: str, spec: Object, name: str = "") -> Object:
    """A manifest, under a fresh name if none is given."""
    return {
        "apiVersion": "elasticgpu.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": name or f"api-{next(_serial)}"},
        "spec": spec,
    }


def refusal(call: Callable[[], object]) -> str:
    """What the API server says against the request, or nothing."""
    try:
        call()
    except ApiError as error:
        return error.message
    return ""


def creation(server: Cluster, kind: str, spec: Object) -> str:
    """What the API server says against a new object of that spec, or nothing."""
    return refusal(partial(server.api.create, PATHS[kind], new(kind, spec)))


# -- what a claim may ask for, in a claim and in a template alike -------------------------------


@pytest.mark.parametrize("ask", ASKS, ids=[ask.what for ask in ASKS])
def test_what_may_be_asked_for(bare: Cluster, ask: Ask) -> None:
    """A claim and a template say the same, each at its own place."""
    spec = {"resources": {"requests": ask.requests}}
    claim = creation(bare, "ElasticGPUClaim", spec)
    template = creation(bare, "ElasticGPUClaimTemplate", {"spec": spec})
    if ask.sentence:
        assert f"spec.{ask.where}" in claim
        assert f"spec.spec.{ask.where}" in template
    assert ask.sentence in claim
    assert ask.sentence in template
    assert bool(ask.sentence) == bool(claim) == bool(template)


# -- what else is refused at creation -----------------------------------------------------------

LONG = (
    "the name is longer than 240 characters: choose a shorter one, for the names of what is made "
)
LABEL = (
    "metadata.name: Invalid value: the name is the device's name on its node too: "
    "write at most 63 lower-case letters, digits and '-', and no '.'"
)
REQUESTS = {"resources": {"requests": CORE}}
SOURCE = {"driver": "elasticgpu.io/qgpu", "devices": [{"gpu": "card-0", "core": 10}]}
CREATIONS = [
    (
        "no spec",
        "ElasticGPUClaim",
        {
            "apiVersion": "elasticgpu.io/v1alpha1",
            "kind": "ElasticGPUClaim",
            "metadata": {"name": "none"},
        },
        "spec: Required value",
    ),
    (
        "two classes",
        "ElasticGPUClaim",
        new("ElasticGPUClaim", REQUESTS | {"elasticGPUClassName": "a", "storageClassName": "b"}),
        "spec.storageClassName: Invalid value: storageClassName is another name of "
        "elasticGPUClassName and the two differ: keep one of them",
    ),
    (
        "the class under both names",
        "ElasticGPUClaim",
        new("ElasticGPUClaim", REQUESTS | {"elasticGPUClassName": "a", "storageClassName": "a"}),
        "",
    ),
    (
        "a claim of 240 characters",
        "ElasticGPUClaim",
        new("ElasticGPUClaim", REQUESTS, "x" * 240),
        "",
    ),
    (
        "a claim of 241 characters",
        "ElasticGPUClaim",
        new("ElasticGPUClaim", REQUESTS, "x" * 241),
        f"metadata.name: Invalid value: {LONG}for the claim contain it",
    ),
    (
        "a template of 241 characters",
        "ElasticGPUClaimTemplate",
        new("ElasticGPUClaimTemplate", {"spec": REQUESTS}, "x" * 241),
        f"metadata.name: Invalid value: {LONG}from the template contain it",
    ),
    (
        "the same claim twice",
        "ElasticGPUClaim",
        new("ElasticGPUClaim", REQUESTS | {"colocateWith": ["a", "a"]}),
        'spec.colocateWith[1]: Duplicate value: "a"',
    ),
    (
        "a device of 63 characters",
        "ElasticGPU",
        new("ElasticGPU", {"source": SOURCE}, "x" * 63),
        "",
    ),
    ("a device of 64", "ElasticGPU", new("ElasticGPU", {"source": SOURCE}, "x" * 64), LABEL),
    ("a device with a dot", "ElasticGPU", new("ElasticGPU", {"source": SOURCE}, "a.b"), LABEL),
    (
        "a card twice in a device",
        "ElasticGPU",
        new("ElasticGPU", {"source": SOURCE | {"devices": [{"gpu": "a"}, {"gpu": "a"}]}}),
        'spec.source.devices[1]: Duplicate value: {"gpu":"a"}',
    ),
    (
        "a policy of one's own",
        "ElasticGPUClass",
        new("ElasticGPUClass", {"provisioner": "p", "reclaimPolicy": "Recycle"}),
        'spec.reclaimPolicy: Unsupported value: "Recycle": supported values: "Retain", "Delete"',
    ),
    (
        "a class of nobody",
        "ElasticGPUClass",
        new("ElasticGPUClass", {"reclaimPolicy": "Retain"}),
        "spec.provisioner: Required value",
    ),
]


@pytest.mark.parametrize(
    ("kind", "body", "sentence"), [row[1:] for row in CREATIONS], ids=[row[0] for row in CREATIONS]
)
def test_what_may_be_created(bare: Cluster, kind: str, body: Object, sentence: str) -> None:
    """The sentence stands in the refusal; an empty one means that it is created."""
    said = refusal(partial(bare.api.create, PATHS[kind], body))
    assert sentence in said
    assert bool(sentence) == bool(said)


# -- what may change ----------------------------------------------------------------------------


class Change(NamedTuple):
    """From this spec, in that phase, by a merge patch of the spec; no sentence: it goes through."""

    what: str
    kind: str
    spec: Object
    patch: Object
    sentence: str = ""
    phase: str = ""


CLASS = (
    "the class does not change once it is set: "
    "delete the claim and make a new one of the other class"
)
NAMED = (
    "spec.elasticGPUName: Forbidden: elasticGPUName does not change once it is set, and is emptied "
    "only while the claim is Pending: to use another device, delete the claim and make a new one"
)
GROW = (
    "spec.resources.requests: Forbidden: requests may grow, but not shrink or lose a name: "
    "delete the claim and make a smaller one"
)
CHOSEN = (
    "says how the device was chosen, and the claim is bound: delete the claim and make a new one"
)
BOTH = {"elasticgpu.io/gpu-core": 10, "elasticgpu.io/gpu-memory": "4Gi"}
HELD = {"namespace": "default", "name": "c", "uid": "u1"}
OWNED = (
    "spec.claimRef: Forbidden: the device belongs to a claim: "
    "remove claimRef first, then name another claim"
)
DEVICE = {
    "source": SOURCE,
    "capacity": {"elasticgpu.io/gpu-core": 10},
    "nodeName": "node-1",
    "elasticGPUClassName": "shares",
}


def claim_change(
    what: str, before: Object, patch: Object, sentence: str = "", phase: str = ""
) -> Change:
    return Change(what, "ElasticGPUClaim", REQUESTS | before, patch, sentence, phase)


def grow(
    what: str, before: Object, requests: Object, sentence: str = "", phase: str = ""
) -> Change:
    patch = {"resources": {"requests": requests}}
    return claim_change(what, {"resources": {"requests": before}}, patch, sentence, phase)


def device_change(what: str, patch: Object, sentence: str = "", **before: Any) -> Change:
    return Change(what, "ElasticGPU", DEVICE | before, patch, sentence)


CHANGES = [
    claim_change("a class is named", {}, {"elasticGPUClassName": "a"}),
    claim_change(
        "a class replaces none", {"elasticGPUClassName": ""}, {"elasticGPUClassName": "a"}
    ),
    claim_change("the old name is filled", {"storageClassName": "a"}, {"elasticGPUClassName": "a"}),
    claim_change(
        "the old name is contradicted",
        {"storageClassName": "a"},
        {"elasticGPUClassName": "b"},
        "storageClassName is another name of elasticGPUClassName and the two differ: keep one",
    ),
    claim_change(
        "the class changes",
        {"elasticGPUClassName": "a"},
        {"elasticGPUClassName": "b"},
        f"spec.elasticGPUClassName: Forbidden: {CLASS}",
    ),
    claim_change(
        "the class goes",
        {"elasticGPUClassName": "a"},
        {"elasticGPUClassName": None},
        f"spec.elasticGPUClassName: Forbidden: {CLASS}",
    ),
    claim_change(
        "the class under its old name goes",
        {"storageClassName": "a"},
        {"storageClassName": None, "elasticGPUClassName": "b"},
        f"spec.storageClassName: Forbidden: {CLASS}",
    ),
    claim_change("a device is named", {}, {"elasticGPUName": "d"}, phase="Pending"),
    claim_change("a device is named at once", {}, {"elasticGPUName": "d"}),
    claim_change(
        "the device changes", {"elasticGPUName": "d"}, {"elasticGPUName": "e"}, NAMED, "Pending"
    ),
    claim_change(
        "the device is withdrawn", {"elasticGPUName": "d"}, {"elasticGPUName": ""}, "", "Pending"
    ),
    claim_change(
        "the device is taken away", {"elasticGPUName": "d"}, {"elasticGPUName": None}, "", "Pending"
    ),
    claim_change(
        "the device goes, bound", {"elasticGPUName": "d"}, {"elasticGPUName": None}, NAMED, "Bound"
    ),
    claim_change(
        "the device goes, lost", {"elasticGPUName": "d"}, {"elasticGPUName": ""}, NAMED, "Lost"
    ),
    claim_change(
        "the device goes, no phase yet", {"elasticGPUName": "d"}, {"elasticGPUName": ""}, NAMED
    ),
    grow("core grows", BOTH, {"elasticgpu.io/gpu-core": 20}),
    grow("memory grows in another unit", BOTH, {"elasticgpu.io/gpu-memory": "4097Mi"}),
    grow("the same in another unit", BOTH, {"elasticgpu.io/gpu-memory": 4 << 30}),
    grow("a name joins", CORE, BOTH, "", "Bound"),
    grow("core shrinks", BOTH, {"elasticgpu.io/gpu-core": 9}, GROW),
    grow("core shrinks, as text", BOTH, {"elasticgpu.io/gpu-core": "9"}, GROW, "Bound"),
    grow("memory shrinks in another unit", BOTH, {"elasticgpu.io/gpu-memory": "4G"}, GROW),
    grow("a name goes", BOTH, {"elasticgpu.io/gpu-memory": None}, GROW),
    claim_change("all requests go", {}, {"resources": None}, GROW),
    *[
        claim_change(f"{field} changes, unbound", {field: before}, {field: after}, "", "Pending")
        for field, before, after in [
            ("selector", {"matchLabels": {"a": "b"}}, {"matchLabels": {"a": "c"}}),
            ("gpuSelector", {"model": "h200"}, {"model": "h100"}),
            ("shared", False, True),
            ("colocateWith", ["a"], ["b"]),
        ]
    ],
    *[
        claim_change(
            f"{field} changes, bound",
            {} if before is None else {field: before},
            {field: after},
            f"spec.{field}: Forbidden: {field} {CHOSEN}",
            "Bound",
        )
        for field, before, after in [
            ("selector", {"matchLabels": {"a": "b"}}, {"matchLabels": {"a": "c"}}),
            ("selector", {"matchLabels": {"a": "b"}}, None),
            ("gpuSelector", None, {"model": "h100"}),
            ("shared", False, True),
            ("colocateWith", ["a"], ["b"]),
        ]
    ],
    claim_change("priority changes, bound", {}, {"priorityClassName": "p"}, "", "Bound"),
    device_change(
        "the source changes",
        {"source": {"handle": "h"}},
        "spec.source: Forbidden: a device stays what it is: make another ElasticGPU",
    ),
    device_change(
        "the capacity changes",
        {"capacity": {"elasticgpu.io/gpu-core": 20}},
        "spec.capacity: Forbidden: a device stays as large as it is: make another ElasticGPU",
    ),
    device_change(
        "the node changes",
        {"nodeName": "node-2"},
        "spec.nodeName: Forbidden: a device stays on its node: make another ElasticGPU",
    ),
    device_change(
        "the node goes",
        {"nodeName": None},
        "spec.nodeName: Forbidden: a device stays on its node: make another ElasticGPU",
    ),
    device_change(
        "the device's class changes",
        {"elasticGPUClassName": "b"},
        "spec.elasticGPUClassName: Forbidden: a device stays in its class: make another ElasticGPU",
    ),
    device_change("the policy changes", {"reclaimPolicy": "Retain"}),
    device_change("it is reserved", {"claimRef": {"namespace": "n", "name": "c"}}),
    device_change("it is bound", {"claimRef": HELD}),
    device_change(
        "a reservation changes",
        {"claimRef": {"name": "other"}},
        claimRef={"namespace": "n", "name": "c"},
    ),
    device_change(
        "a reservation is taken up",
        {"claimRef": {"uid": "u1"}},
        claimRef={"namespace": "n", "name": "c"},
    ),
    device_change("only the uid goes", {"claimRef": {"uid": None}}, claimRef=HELD),
    device_change("it is recycled", {"claimRef": None}, claimRef=HELD),
    device_change("another claim's name", {"claimRef": {"name": "other"}}, OWNED, claimRef=HELD),
    device_change("another namespace", {"claimRef": {"namespace": "n"}}, OWNED, claimRef=HELD),
    device_change("another claim of the name", {"claimRef": {"uid": "u2"}}, OWNED, claimRef=HELD),
    Change(
        "the card moves",
        "GPU",
        {"nodeName": "node-1"},
        {"nodeName": "node-2"},
        "spec.nodeName: Forbidden: a card stays on the node that reported it: "
        "let the other node report",
    ),
    Change("the card is closed", "GPU", {"nodeName": "node-1"}, {"unschedulable": True}),
    *[
        Change(
            f"the class's {field} changes",
            "ElasticGPUClass",
            {"provisioner": "p"},
            {field: value},
            f"spec.{field}: Forbidden: {sentence}: make another class",
        )
        for field, value, sentence in [
            ("provisioner", "q", "devices of the class rely on it"),
            ("parameters", {"a": "b"}, "devices of the class rely on them"),
            ("reclaimPolicy", "Retain", "claims of the class rely on it"),
            ("eGPUBindingMode", "WaitForFirstConsumer", "claims of the class rely on it"),
        ]
    ],
    Change(
        "the class's placement changes",
        "ElasticGPUClass",
        {"provisioner": "p"},
        {"placement": {"node": "spread"}},
    ),
]


@pytest.mark.parametrize("change", CHANGES, ids=[change.what for change in CHANGES])
def test_what_may_change(bare: Cluster, change: Change) -> None:
    """The sentence stands in the refusal; without one the patch goes through."""
    body = new(change.kind, change.spec)
    path = f"{PATHS[change.kind]}/{body['metadata']['name']}"
    bare.api.create(PATHS[change.kind], body)
    if change.phase:
        bare.api.patch(f"{path}/status", {"status": {"phase": change.phase}})
    said = refusal(partial(bare.api.patch, path, {"spec": change.patch}))
    assert change.sentence in said
    assert bool(change.sentence) == bool(said)


# -- what a person sees -------------------------------------------------------------------------


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
    "elasticgpuclasses": "NAME PROVISIONER RECLAIMPOLICY BINDINGMODE DEFAULT AGE",
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


def test_explain(bare: Cluster) -> None:
    """`kubectl explain elasticgpuclaim.spec` says what each field is."""
    text = " ".join(bare.kubectl("explain", "elasticgpuclaim.spec").split())
    assert "<no description>" not in text
    assert (
        "elasticGPUClassName <string> Class that serves the claim. Absent: the default class; "
        '"": only devices made ahead, nothing is provisioned.'
    ) in text
