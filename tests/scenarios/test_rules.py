"""The scenarios as tables of the pure rules: those that are not among the tables of `tests/rules`.

A row there or here begins with the number of its scenario; every number has one, or says why not.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.claim import ElasticGPUClaim, ProvisioningRequest
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.api.names import BOUND_BY_CONTROLLER, PROVISIONED_BY, PROVISIONING
from elasticgpu.cluster.store import Store
from elasticgpu.errors import NotOurs, Refused, Reschedule, Retry, Working
from elasticgpu.rules import answers, binding, company, provisioning, reclaiming, releasing
from elasticgpu.rules.answers import Answer, Kind
from elasticgpu.rules.decisions import Bind, ClaimView, Provision, Settled
from elasticgpu.rules.fleet import NodeView
from elasticgpu.rules.provisioning import Ask, Begin, End, Leave, ProgressView, Rest, Undo
from elasticgpu.rules.reclaiming import DeviceView
from elasticgpu.rules.releasing import Free, Hold, ReleaseView
from elasticgpu.rules.seeking import Place
from elasticgpu.rules.transaction import owned, pointing
from tests.rules.build import card, claim, device, free, pod, ref, seen
from tests.rules.company.members import member, node, with_pods

from .themes import SCENARIOS
from .words import EXCLUDED, OURS, UPSTREAM

ELSEWHERE = {
    35: "what the rule says of a cache is acted on only after a look at the API server: test_real",
    64: "the way back is a sequence of writes: tests/rules/test_transaction",
}
"""Numbers without a row of a pure rule, and why."""

TRAIN = claim()
MINE = ref(TRAIN)
CHOSEN = {BOUND_BY_CONTROLLER: "yes"}
MADE = {**CHOSEN, PROVISIONED_BY: "example.com/share"}
NAMED_A = claim(named="egpu-a", completed=True).with_status(phase="Bound")


def row(name: str, found: object, want: object) -> object:
    return pytest.param(found, want, id=name)


def device_of(name: str, **facts: object) -> ElasticGPU:
    return device(name, of=MINE, phase="Bound", annotations=CHOSEN, **facts)  # type: ignore[arg-type]


BINDING = [
    row(
        "36-two-point-at-it",
        binding.decide(seen(TRAIN, device_of("egpu-a"), device_of("egpu-b"))),
        Bind(device_of("egpu-a")),
    ),
    row("40-again", binding.decide(seen(NAMED_A, device_of("egpu-a"))), Settled()),
    row(
        "45-the-one-made-for-it-exists",
        binding.decide(seen(TRAIN, device("egpu-uid", of=MINE, phase="", annotations=MADE))),
        Bind(device("egpu-uid", of=MINE, phase="", annotations=MADE)),
    ),
    row(
        "63-asked-twice",
        binding.decide(seen(TRAIN, device("b"), device("a"), device("c"))),
        binding.decide(seen(TRAIN, device("c"), device("b"), device("a"))),
    ),
]

RECLAIMING = [
    row(
        "36-the-other-one",
        reclaiming.decide(DeviceView(device_of("egpu-b"), NAMED_A)),
        reclaiming.RollBack(),
    ),
    row(
        "40-again",
        reclaiming.decide(DeviceView(device_of("egpu-a"), NAMED_A)),
        reclaiming.Keep(),
    ),
    row(
        "57-re-owned",
        reclaiming.decide(DeviceView(device("a", phase="Released", of=MINE), TRAIN)),
        reclaiming.Keep(),
    ),
    row(
        "57-a-new-claim-of-that-name",
        reclaiming.decide(DeviceView(device("a", phase="Released", of=ref(TRAIN, uid="x")), TRAIN)),
        reclaiming.Delete(),
    ),
    row(
        "58-nobody-can-delete-it",
        releasing.unreleased(device("a"), Answer(Kind.UNCLEAR, "not installed")),
        ("Failed", "ReleaseFailed", "not installed"),
    ),
    row(
        "61-a-strangers",
        releasing.decide(ReleaseView(device("a"), answer=Answer(Kind.FOREIGN))),
        Hold(),
    ),
    row(
        "62-released-and-not-yet-deleted",
        releasing.decide(ReleaseView(device("a"), answer=Answer(Kind.DONE))),
        Free(),
    ),
    row(
        "62-after-a-crash",
        releasing.decide(ReleaseView(device("a"), answer=None)),
        releasing.Call(),
    ),
]

REQUEST = ProvisioningRequest(provisioner="example.com/share", class_name="gold")
MARKED = TRAIN.with_status(provisioning=REQUEST).with_finalizers(PROVISIONING)
GONE: ElasticGPUClaim | None = None


def progress(
    of: ElasticGPUClaim | None = MARKED, answer: Answer | None = None, **facts: object
) -> provisioning.Decision:
    view = {"request": REQUEST, "claim": of, "answer": answer, "asked": True, **facts}
    return provisioning.decide(ProgressView(**view))  # type: ignore[arg-type]


SAID = {
    kind: answers.read("it", error)
    for kind, error in {
        "working": Working("soon"),
        "later": Retry("full"),
        "unclear": RuntimeError("?"),
        "refused": Refused("no"),
        "elsewhere": Reschedule(),
        "foreign": NotOurs(),
    }.items()
}

PROVISIONING_ROWS = [
    row("49-first-it-is-written-down", progress(TRAIN, asked=False), Begin()),
    row("49-then-asked", progress(), Ask()),
    row("46-cannot-be-stored", progress(unwanted=device()), Undo(device())),
    row(
        "46-nor-released",
        progress(unwanted=device(), cleanup=SAID["refused"], due=False),
        Rest(SAID["refused"]),
    ),
    row("47-it-is-there-after-all", progress(stored=True), Leave()),
    row("50-gone-and-asked", progress(GONE), Ask()),
    row("50-gone-and-never-asked", progress(GONE, asked=False), End()),
    row("60-working", progress(MARKED, SAID["working"]), Ask()),
    row("60-working-and-not-yet-due", progress(MARKED, SAID["working"], due=False),
        Rest(SAID["working"])),
    row("60-no-change", progress(MARKED, SAID["unclear"]), Ask()),
    row("60-final", progress(MARKED, SAID["refused"]), End(SAID["refused"])),
    row("60-gone-and-working", progress(GONE, SAID["working"]), Ask()),
    row("61-a-strangers", progress(MARKED, SAID["foreign"]), End(SAID["foreign"])),
]  # fmt: skip

FLEET = [
    NodeView(f"node-{name}", (free(card(f"card-{name}", f"node-{name}"), core),))
    for name, core in (("a", 60), ("b", 100))
]
BOTH = [member(claim(name, core=50), nodes=FLEET) for name in ("train", "serve")]
ON_B = with_pods(
    BOTH, pod(claims=("train", "serve")), nodes={n: node(n) for n in ("node-a", "node-b")}
)


@pytest.mark.parametrize(("found", "want"), [*BINDING, *RECLAIMING, *PROVISIONING_ROWS])
def test_decision(found: object, want: object) -> None:
    """What the rule says of the world of this row."""
    assert found == want


def test_two_claims_of_a_pod_get_one_node() -> None:
    """65-two-claims: the fuller node has room for either, not for both."""
    match company.decide(ON_B):
        case Place("node-b", parts):
            new = [one.what for one in parts if isinstance(one.what, Provision)]
            places = [(one.node, one.place.devices[0].gpu) for one in new]
            assert places == [("node-b", "card-b")] * 2
        case other:
            pytest.fail(f"{other}")


@given(st.integers(1, 99))
def test_one_of_many(mine: int) -> None:
    """38-a-hundred-claims: the one for which the device is reserved, and no other."""
    many = [claim(f"c{number}") for number in range(100)]
    reserved = device(of=ref(many[mine], uid=""))
    bound = [
        one.name for one in many if binding.decide(_free_of_cards(one, reserved)) == Bind(reserved)
    ]
    assert bound == [f"c{mine}"]


@given(st.permutations(range(12)))
def test_perfect_matching(order: list[int]) -> None:
    """39-as-many-claims-as-devices: each gets one, in whatever order they are asked."""
    devices = {f"d{number}": device(f"d{number}") for number in range(12)}
    claims = {number: claim(f"c{number}") for number in order}
    for number, one in claims.items():
        match binding.decide(_free_of_cards(one, *devices.values())):
            case Bind(found):
                devices[found.name] = owned(found, one)
                claims[number] = pointing(one, devices[found.name])
            case other:
                pytest.fail(f"{other}")
    assert len({one.spec.elastic_gpu_name for one in claims.values()}) == 12
    assert len({one.claim_uid for one in devices.values()}) == 12


def _free_of_cards(of: ElasticGPUClaim, *devices: ElasticGPU) -> ClaimView:
    return seen(of, *devices, class_name="gold")


@pytest.mark.parametrize(
    ("version", "phase"),
    [
        pytest.param("4", "Bound", id="41-older-than-our-own-write"),
        pytest.param("5", "Bound", id="41-our-own-write"),
        pytest.param("6", "Released", id="41-newer"),
    ],
)
def test_cache(version: str, phase: str) -> None:
    """An event counts if it is newer than what is known; one of that version says the same."""
    store = Store(ElasticGPU)
    meta = ObjectMeta(name="a", uid="u", resource_version="5")
    store.observed(device("a").but(metadata=meta).with_status(phase="Bound"))
    there = device("a").but(metadata=meta.but(resource_version=version))
    store.put(there.with_status(phase="Bound" if version == "5" else "Released").wire())
    found = store.get(("", "a"))
    assert found is not None
    assert found.status.phase == phase


def test_cache_of_a_new_list() -> None:
    """41-equal: what a new list shows in a version that is known is told again."""
    store, told = Store(ElasticGPU), list[object]()
    raw = device("a").but(metadata=ObjectMeta(name="a", uid="u", resource_version="5")).wire()
    store.replace([raw], 7)
    store.subscribe(lambda change: told.append((change.old, change.new)))
    store.replace([raw], 9)
    known = store.get(("", "a"))
    assert told == [(None, known), (known, known)]


def test_cache_of_garbage() -> None:
    """41-garbage: a version that is no number is an error."""
    raw = device("a").wire()
    raw["metadata"]["resourceVersion"] = "soon"
    with pytest.raises(ValueError, match="soon"):
        Store(ElasticGPU).put(raw)


def test_every_number_is_played() -> None:
    """All of 1 to 65 have rows that are played on the API servers."""
    assert {row.number for row in SCENARIOS} == set(UPSTREAM) == set(range(1, 66))


def test_nothing_else_is_changed() -> None:
    """What is translated or left out, and no more."""
    assert sorted(OURS) == [43, 45, 47, 49, 52, 53, 54, 58, 63, 64, 65]
    assert sorted(EXCLUDED) == [15, 23, 39, 58]


def test_every_number_has_a_row() -> None:
    """All of 1 to 65 are in a table of a pure rule, or say why not."""
    tables = [*Path("tests/rules").rglob("*.py"), Path(__file__)]
    text = "".join(path.read_text() for path in tables)
    found = {int(number) for number in re.findall(r'"(?:"")?(\d\d)-[a-z]', text)}
    assert sorted({*UPSTREAM} - found) == sorted(ELSEWHERE)
