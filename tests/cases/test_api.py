"""What the API server itself refuses, and the sentence a person reads: the CRDs on a real server.

Nobody else takes part: no controller, no webhook. The tables are the contract of `crd_rules.py`.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from elasticgpu.api.quantity import parse
from elasticgpu.api.vocabulary import demand, read
from tests.api.asks import (
    ASKS,
    CORE,
    COUNT,
    GPU,
    MEMORY,
    MIG,
    NOTHING,
    SHARE,
    TFLOPS,
    UNCHECKED,
    Ask,
    integer,
)
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
TEN = {CORE: 10}
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


def words(kind: str, name: str, errors: tuple[str, ...]) -> str:
    """The whole refusal, as the person who wrote the manifest reads it."""
    said = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
    return f'{kind}.elasticgpu.io "{name}" is invalid: {said}' if errors else ""


def creation(server: Cluster, kind: str, spec: Object, errors: tuple[str, ...]) -> None:
    """A new object of that spec is refused in exactly these words, or made if there are none."""
    body = new(kind, spec)
    said = refusal(partial(server.api.create, PATHS[kind], body))
    assert said == words(kind, body["metadata"]["name"], errors)


# -- what a claim may ask for, in a claim and in a template alike -------------------------------


@pytest.mark.parametrize("ask", ASKS, ids=[ask.what for ask in ASKS])
def test_what_may_be_asked_for(bare: Cluster, ask: Ask) -> None:
    """A claim and a template say the same, each at its own place."""
    spec = {"resources": {"requests": ask.requests}}
    for kind, whole, place in (
        ("ElasticGPUClaim", spec, "spec."),
        ("ElasticGPUClaimTemplate", {"spec": spec}, "spec.spec."),
    ):
        at = (error if error is UNCHECKED else place + error for error in ask.errors)
        creation(bare, kind, whole, tuple(at))


AMOUNTS = [1, 2, 3, 10, 60, 100, 101, 200, 1000, "3k", 4096, "4Gi", "0.5", 0, "1500m", "x"]


def test_server_and_vocabulary_agree(bare: Cluster) -> None:
    """Of four hundred sets of canonical requests, drawn at random, each accepts the same."""
    draw = random.Random(4)
    for _ in range(400):
        names = draw.sample([GPU, CORE, MEMORY, SHARE, COUNT, TFLOPS, MIG], draw.randint(1, 3))
        requests = {name: draw.choice(AMOUNTS) for name in names}
        body = new("ElasticGPUClaim", {"resources": {"requests": requests}})
        path = f"{PATHS['ElasticGPUClaim']}?dryRun=All"
        said = refusal(partial(bare.api.create, path, body))
        assert bool(said) == bool(understood(requests)), (requests, said, understood(requests))


def understood(requests: Object) -> str:
    """What the vocabulary says against the requests, or nothing."""
    try:
        demand(requests)
    except ValueError as error:
        return str(error)
    return ""


# -- what vendors' pods become on the way through the server -------------------------------------

GI, MI = 1 << 30, 1 << 20
UNITS = {
    MEMORY: MI,
    "nvidia.com/gpumem": MI,
    "elasticgpu.com/gpu-memory": MI,
    "aliyun.com/gpu-mem": GI,
    "tke.cloud.tencent.com/qgpu-memory": GI,
    "gpushare.provisioner.elasticgpu.io/gpu-memory": GI,
}
STORED: dict[int | str, str] = {1000: "1k", 3000: "3k", 4096: "4096", "4Gi": "4Gi"}


def dry_run(server: Cluster, text: str) -> list[Object]:
    """What the server would store of these manifests."""
    answer = server.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", input=text)
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(answer):
        one, at = decoder.raw_decode(answer, at)
        found.append(one)
        at += len(answer[at:]) - len(answer[at:].lstrip())
    return found


def test_the_unit_rule_whatever_the_server_stores(bare: Cluster) -> None:
    """3000 comes back as "3k", and means the vendor's units all the same; 4Gi is bytes."""
    asked = [(name, value) for name in UNITS for value in STORED]
    containers = [
        {"name": f"c{n}", "image": "none", "resources": {"limits": {name: value}}}
        for n, (name, value) in enumerate(asked)
    ]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "units"}}
    (stored,) = dry_run(bare, yaml.safe_dump({**pod, "spec": {"containers": containers}}))
    for (name, value), container in zip(asked, stored["spec"]["containers"], strict=True):
        limits = container["resources"]["limits"]
        assert limits == {name: STORED[value]}
        expected = value * UNITS[name] if isinstance(value, int) else 4 * GI
        assert [one.want.memory for one in read(limits)] == [expected]


QUANTITIES = (
    *("0", "1", "+1", "5.", ".5", "0.5", "1m", "1500m", "2000m", "3k", "3M", "4G", "5T", "6P"),
    *("7E", "1Ki", "1.5Mi", "0.1Gi", "4Ti", "5Pi", "7Ei", "1e3", "1E3", "1e+3", "1e-3", "1.5e9"),
    *("9007199254740993", "9223372036854775807", "00012.50"),
)


def test_quantities_are_what_the_server_takes_them_for(bare: Cluster) -> None:
    """It writes each anew in its own way (of containers down to 1m), which reads as the same."""
    containers = [
        {"name": f"c{n}", "image": "none", "resources": {"limits": {"memory": text}}}
        for n, text in enumerate(QUANTITIES)
    ]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "quantities"}}
    (stored,) = dry_run(bare, yaml.safe_dump({**pod, "spec": {"containers": containers}}))
    found = [one["resources"]["limits"]["memory"] for one in stored["spec"]["containers"]]
    assert found != list(QUANTITIES)
    assert [parse(text) for text in found] == [parse(text) for text in QUANTITIES]


def test_the_users_pods_mean_the_same_when_stored(bare: Cluster) -> None:
    """Written for four vendors' systems, accepted unchanged, read from what the server keeps."""
    text = (ROOT / "tests" / "api" / "data" / "vendor-pods.yaml").read_text()
    meanings = [
        [
            [(one.backend, one.want) for one in read(limits(workload), labels(workload))]
            for workload in workloads
        ]
        for workloads in (yaml.safe_load_all(text), dry_run(bare, text))
    ]
    assert meanings[0] == meanings[1]
    assert all(len(one) == 1 for one in meanings[1])


def limits(workload: Object) -> Object:
    """What the one container of a pod, or of the pods of a workload, is limited to."""
    pod: Object = workload["spec"].get("template") or workload
    return dict(pod["spec"]["containers"][0]["resources"]["limits"])


def labels(workload: Object) -> dict[str, str]:
    """The labels of its pods."""
    pod: Object = workload["spec"].get("template") or workload
    return dict(pod.get("metadata", {}).get("labels", {}))


# -- what else is refused at creation -----------------------------------------------------------

REQUESTS = {"resources": {"requests": TEN}}
SOURCE = {"driver": "elasticgpu.io/qgpu", "devices": [{"gpu": "card-0", "core": 10}]}


class Creation(NamedTuple):
    """A manifest, and the errors that refuse it; none: it is made."""

    what: str
    body: Object
    errors: tuple[str, ...] = ()


def make(what: str, kind: str, spec: Object, *errors: str, name: str = "") -> Creation:
    return Creation(what, new(kind, spec, name), errors)


def claim(what: str, spec: Object, *errors: str, name: str = "") -> Creation:
    return make(what, "ElasticGPUClaim", REQUESTS | spec, *errors, name=name)


def device(what: str, spec: Object, *errors: str, name: str = "") -> Creation:
    return make(what, "ElasticGPU", {"source": SOURCE} | spec, *errors, name=name)


def without_spec(kind: str) -> Creation:
    head = {"apiVersion": "elasticgpu.io/v1alpha1", "kind": kind, "metadata": {"name": "none"}}
    return Creation(f"no spec: {kind}", head, ("spec: Required value", UNCHECKED))


def too_long(place: str, most: int) -> tuple[str, str]:
    return f"{place}: Too long: may not be more than {most} bytes", UNCHECKED


LONG = (
    "metadata.name: Invalid value: the name is longer than 240 characters: choose a shorter one, "
    "for the names of what is made"
)
LABEL = (
    "metadata.name: Invalid value: the name is the device's name on its node too: "
    "write at most 63 lower-case letters, digits and '-', and no '.'"
)
TWO_CLASSES = (
    "spec.storageClassName: Invalid value: storageClassName is another name of "
    "elasticGPUClassName and the two differ: keep one of them"
)
CREATIONS = [
    *map(without_spec, PATHS),
    claim("two classes", {"elasticGPUClassName": "a", "storageClassName": "b"}, TWO_CLASSES),
    claim("a class and none", {"elasticGPUClassName": "", "storageClassName": "b"}, TWO_CLASSES),
    claim("the class under both names", {"elasticGPUClassName": "a", "storageClassName": "a"}),
    claim("a claim of 240 characters", {}, name="x" * 240),
    claim(
        "a claim of 241 characters",
        {},
        f"{LONG} for the claim contain it",
        name="x" * 241,
    ),
    make(
        "a template of 241 characters",
        "ElasticGPUClaimTemplate",
        {"spec": REQUESTS},
        f"{LONG} from the template contain it",
        name="x" * 241,
    ),
    claim(
        "the same claim twice",
        {"colocateWith": ["a", "a"]},
        'spec.colocateWith[1]: Duplicate value: "a"',
    ),
    claim(
        "an endless device name", {"elasticGPUName": "x" * 64}, *too_long("spec.elasticGPUName", 63)
    ),
    claim(
        "a card of no size",
        {"gpuSelector": {"memory": "4GB"}},
        'spec.gpuSelector.memory: Invalid value: "4GB": this is not a quantity: '
        "write a number such as 10, 4Gi or 3k",
    ),
    claim(
        "TFLOPS beyond 64 bits",
        {"resources": {"requests": {TFLOPS: "99E"}}},
        f"spec.resources.requests: Invalid value: {integer(TFLOPS)}",
    ),
    device("a device of 63 characters", {}, name="x" * 63),
    device("a device of 64", {}, LABEL, name="x" * 64),
    device("a device with a dot", {}, LABEL, name="a.b"),
    device(
        "a card twice in a device",
        {"source": SOURCE | {"devices": [{"gpu": "a"}, {"gpu": "a"}]}},
        'spec.source.devices[1]: Duplicate value: {"gpu":"a"}',
    ),
    device(
        "less than no memory",
        {"source": SOURCE | {"devices": [{"gpu": "a", "memory": "-3"}]}},
        'spec.source.devices[0].memory: Invalid value: "-3": this is not a number of bytes: '
        "write a whole one such as 4294967296 or 4Gi",
    ),
    device(
        "a capacity of no size",
        {"capacity": {MEMORY: "4 Gi"}},
        f'spec.capacity[{MEMORY}]: Invalid value: "4 Gi": this is not a quantity: '
        "write a number such as 10, 4Gi or 3k",
    ),
    device(
        "a device of nobody",
        {"source": {"devices": []}},
        "spec.source.driver: Required value",
        UNCHECKED,
    ),
    make("a card of no node", "GPU", {}, "spec.nodeName: Required value", UNCHECKED),
    make(
        "a policy of one's own",
        "ElasticGPUClass",
        {"provisioner": "p", "reclaimPolicy": "Recycle"},
        'spec.reclaimPolicy: Unsupported value: "Recycle": supported values: "Retain", "Delete"',
        UNCHECKED,
    ),
    make(
        "a binding mode of one's own",
        "ElasticGPUClass",
        {"provisioner": "p", "eGPUBindingMode": "Later"},
        'spec.eGPUBindingMode: Unsupported value: "Later": '
        'supported values: "Immediate", "WaitForFirstConsumer"',
        UNCHECKED,
    ),
    make(
        "a class of nobody",
        "ElasticGPUClass",
        {"reclaimPolicy": "Retain"},
        "spec.provisioner: Required value",
        UNCHECKED,
    ),
]


@pytest.mark.parametrize("row", CREATIONS, ids=[row.what for row in CREATIONS])
def test_what_may_be_created(bare: Cluster, row: Creation) -> None:
    """Refused in exactly these words, or created if there are none."""
    kind = row.body["kind"]
    said = refusal(partial(bare.api.create, PATHS[kind], row.body))
    assert said == words(kind, row.body["metadata"]["name"], row.errors)


def test_a_refusal_in_a_terminal(bare: Cluster) -> None:
    """What `kubectl apply` prints is the sentence, with the place before it."""
    text = yaml.safe_dump(new("ElasticGPUClaim", {"resources": {"requests": {CORE: 150}}}, "mine"))
    with pytest.raises(RuntimeError) as refused:
        bare.kubectl("apply", "-f", "-", input=text)
    assert str(refused.value).splitlines()[-1] == (
        'The ElasticGPUClaim "mine" is invalid: spec.resources.requests: Invalid value: '
        f"{CORE} is percent of one card: write 1 to 100, or a multiple of 100 for whole cards"
    )


# -- what may change ----------------------------------------------------------------------------


class Change(NamedTuple):
    """From this spec, in that phase, by a merge patch of the spec; no error: it goes through."""

    what: str
    kind: str
    spec: Object
    patch: Object
    error: str = ""
    phase: str = ""
    also: tuple[str, ...] = ()


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
BOTH = {CORE: 10, MEMORY: "4Gi"}
HELD = {"namespace": "default", "name": "c", "uid": "u1"}
OWNED = (
    "spec.claimRef: Forbidden: the device belongs to a claim: "
    "remove claimRef first, then name another claim"
)
DEVICE = {
    "source": SOURCE,
    "capacity": {CORE: 10},
    "nodeName": "node-1",
    "elasticGPUClassName": "shares",
}


def claim_change(
    what: str, before: Object, patch: Object, error: str = "", phase: str = ""
) -> Change:
    return Change(what, "ElasticGPUClaim", REQUESTS | before, patch, error, phase)


def grow(what: str, before: Object, requests: Object, error: str = "", phase: str = "") -> Change:
    patch = {"resources": {"requests": requests}}
    return claim_change(what, {"resources": {"requests": before}}, patch, error, phase)


def device_change(what: str, patch: Object, error: str = "", **before: Any) -> Change:
    return Change(what, "ElasticGPU", DEVICE | before, patch, error)


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
        TWO_CLASSES,
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
    grow("core grows", BOTH, {CORE: 20}),
    grow("memory grows in another unit", BOTH, {MEMORY: "4097Mi"}),
    grow("the same in another unit", BOTH, {MEMORY: 4 << 30}),
    grow("a name joins", TEN, BOTH, "", "Bound"),
    grow("core shrinks", BOTH, {CORE: 9}, GROW),
    grow("core shrinks, as text", BOTH, {CORE: "9"}, GROW, "Bound"),
    grow("memory shrinks in another unit", BOTH, {MEMORY: "4G"}, GROW),
    grow("a name goes", BOTH, {MEMORY: None}, GROW),
    claim_change("all requests go", {}, {"resources": None}, GROW)._replace(
        also=(f"spec.resources.requests: Invalid value: {NOTHING}",)
    ),
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
        {"capacity": {CORE: 20}},
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
    """Refused in exactly these words; without any the patch goes through."""
    body = new(change.kind, change.spec)
    path = f"{PATHS[change.kind]}/{body['metadata']['name']}"
    bare.api.create(PATHS[change.kind], body)
    if change.phase:
        bare.api.patch(f"{path}/status", {"status": {"phase": change.phase}})
    said = refusal(partial(bare.api.patch, path, {"spec": change.patch}))
    errors = (change.error, *change.also) if change.error else ()
    assert said == words(change.kind, body["metadata"]["name"], errors)


def test_users_do_not_write_the_status(bare: Cluster) -> None:
    """It has a door of its own, so a name is not taken back under a made-up phase."""
    spec = {**REQUESTS, "elasticGPUName": "d"}
    body = {**new("ElasticGPUClaim", spec), "status": {"phase": "Pending"}}
    path = f"{PATHS['ElasticGPUClaim']}/{body['metadata']['name']}"
    assert "status" not in bare.api.create(PATHS["ElasticGPUClaim"], body)
    both = {"spec": {"elasticGPUName": ""}, "status": {"phase": "Pending"}}
    assert NAMED in refusal(partial(bare.api.patch, path, both))


KUBERNETES = (
    *("Required value", "Too long: ", "Too many: ", "Duplicate value: ", "Unsupported value: "),
    "some validation rules were not checked",
)
"""Where its own words say what is wrong as well as ours would."""


def test_every_refusal_is_a_sentence() -> None:
    """What is wrong and, after a colon, what to do: no pattern, no expression, no `failed rule`."""
    errors = [
        *(error for ask in ASKS for error in ask.errors),
        *(error for row in CREATIONS for error in row.errors),
        *(change.error for change in CHANGES if change.error),
    ]
    for error in errors:
        assert not re.search(r"failed rule|should match|in body|no such|self\.|\$'", error), error
        if not any(own in error for own in KUBERNETES):
            _, _, said = re.split(r"(Invalid value: (?:\".*?\": )?|Forbidden: )", error, maxsplit=1)
            assert re.fullmatch(r"[a-z][^:\n]+: [a-z][^\n]+", said), error


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
