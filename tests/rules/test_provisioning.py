"""Provisioning: what each answer of a provisioner leads to, and the laws that always hold."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import pytest

from elasticgpu.api.claim import ElasticGPUClaim, ProvisioningRequest
from elasticgpu.api.meta import find_condition
from elasticgpu.api.names import PROVISIONING, device_name
from elasticgpu.errors import NotOurs, Refused, Reschedule, Retry, Unavailable, Working
from elasticgpu.rules import answers, marks, provisioning
from elasticgpu.rules.answers import DAY, EFFECTS, SOONEST, WARNINGS, Answer, Kind
from elasticgpu.rules.provisioning import (
    Ask,
    Begin,
    Decision,
    End,
    Leave,
    ProgressView,
    Rest,
    Store,
    Undo,
)

from .build import DRIVER, NOW, claim, device, gpu_class, part

REQUEST = ProvisioningRequest(
    provisioner=DRIVER, class_name="gold", node_name="node-a", devices=[part(core=10)]
)
OTHER = REQUEST.but(node_name="node-b")
MADE = device(device_name(claim().uid))
NEW = claim()
MARKED = NEW.with_finalizers(PROVISIONING).with_status(provisioning=REQUEST)
DYING = MARKED.with_metadata(deletion_timestamp=NOW)
UNBEGUN = NEW.with_metadata(deletion_timestamp=NOW)
NAMED = MARKED.but(spec=MARKED.spec.but(elastic_gpu_name="by-hand"))
OWN = MARKED.but(spec=MARKED.spec.but(elastic_gpu_name=MADE.name))
BOUND = OWN.with_status(phase="Bound")

READ: list[tuple[str, BaseException, Answer]] = [
    ("temporary", Retry("busy", after=7), Answer(Kind.LATER, "p: busy", 7.0)),
    ("working", Working("40 %", after=7), Answer(Kind.WORKING, "p: 40 %", 7.0)),
    ("refused", Refused("no"), Answer(Kind.REFUSED, "p: no")),
    ("elsewhere", Reschedule("no uplink"), Answer(Kind.ELSEWHERE, "p: no uplink")),
    ("not-ours", NotOurs(), Answer(Kind.FOREIGN, "p leaves it to somebody else")),
    ("timeout", TimeoutError(), Answer(Kind.UNCLEAR, "p did not answer in time")),
    (
        "api-error",
        Unavailable(503, "Busy", "later"),
        Answer(Kind.UNCLEAR, f"provisioner p failed: {Unavailable(503, 'Busy', 'later')!r}"),
    ),
    ("anything", KeyError("x"), Answer(Kind.UNCLEAR, "provisioner p failed: KeyError('x')")),
]


@pytest.mark.parametrize(
    ("error", "want"), [pytest.param(error, want, id=name) for name, error, want in READ]
)
def test_read(error: BaseException, want: Answer) -> None:
    """Each error is the answer it is named for; what is none of them says nothing."""
    assert answers.read("p", error) == want


@pytest.mark.parametrize(
    ("after", "want"),
    [(3, 3.0), (0, SOONEST), (-1, SOONEST), (float("inf"), DAY), (float("nan"), SOONEST)],
)
def test_after(after: float, want: float) -> None:
    """Whatever stands there, a timer can take it, and nobody is asked without a pause."""
    assert answers.read("p", Retry("x", after)).after == want
    assert answers.read("p", Working("x", after)).after == want


def test_after_that_is_no_number() -> None:
    """A plugin's nonsense is a short pause."""
    assert answers.read("p", Retry("x", "soon")).after == SOONEST  # type: ignore[arg-type]


ANSWERS = {kind: Answer(kind, "words", device=None) for kind in Kind if kind is not Kind.DONE}
WORKING, UNCLEAR, LATER, REFUSED, ELSEWHERE, FOREIGN = (
    ANSWERS[kind]
    for kind in (
        Kind.WORKING, Kind.UNCLEAR, Kind.LATER, Kind.REFUSED, Kind.ELSEWHERE, Kind.FOREIGN,
    )
)  # fmt: skip
DONE = Answer(Kind.DONE, device=MADE)


class Row(NamedTuple):
    """What is known of a claim in progress, and what to do."""

    id: str
    want: Decision
    claim: ElasticGPUClaim | None = MARKED
    answer: Answer | None = None
    asked: bool = True
    due: bool = True
    calling: bool = False
    stored: bool = False
    installed: bool = True
    unwanted: bool = False
    cleanup: Answer | None = None


def view(row: Row) -> ProgressView:
    return ProgressView(
        request=REQUEST,
        claim=row.claim,
        asked=row.asked,
        answer=row.answer,
        unwanted=MADE if row.unwanted else None,
        cleanup=row.cleanup,
        stored=row.stored,
        installed=row.installed,
        calling=row.calling,
        due=row.due,
    )


ROWS = [
    Row("new", Begin(), NEW, asked=False),
    Row("finalizer-only", Begin(), NEW.with_finalizers(PROVISIONING), asked=False),
    Row("record-only", Begin(), NEW.with_status(provisioning=REQUEST), asked=False),
    Row("an-older-request", Begin(), MARKED.with_status(provisioning=OTHER), asked=False),
    Row("begun", Ask(), asked=False),
    Row("deleted-before-it-began", End(), UNBEGUN, asked=False),
    Row("gone-before-it-began", End(), None, asked=False),
    Row("another-named-before-it-began", End(), NAMED, asked=False),
    Row("lost-before-it-began", End(), MARKED.with_status(phase="Lost"), asked=False),
    Row("its-own-name-given", Ask(), OWN, asked=False),
    Row("60-after-a-restart", Ask()),
    Row("60-after-a-restart-deleted", Ask(), DYING),
    Row("60-after-a-restart-without-finalizer", Ask(), UNBEGUN),
    Row("60-gone", Ask(), None, WORKING),
    Row("60-named-another", Ask(), NAMED, WORKING),
    Row("60-mark-taken-away", Begin(), NEW, WORKING),
    Row("under-way", Rest(), calling=True),
    Row("under-way-again", Rest(UNCLEAR), calling=True, answer=UNCLEAR),
    Row("60-working", Ask(), answer=WORKING),
    Row("60-working-not-due", Rest(WORKING), answer=WORKING, due=False),
    Row("60-working-deleted", Ask(), DYING, WORKING),
    Row("60-unclear", Ask(), answer=UNCLEAR),
    Row("60-unclear-not-due", Rest(UNCLEAR), answer=UNCLEAR, due=False),
    Row("60-unclear-deleted", Ask(), DYING, UNCLEAR),
    Row("60-unclear-gone", Ask(), None, UNCLEAR),
    Row("60-temporary", Ask(), answer=LATER),
    Row("60-temporary-not-due", Rest(LATER), answer=LATER, due=False),
    Row("60-temporary-deleted", End(), DYING, LATER),
    Row("60-temporary-gone", End(), None, LATER),
    Row("60-temporary-another-named", End(), NAMED, LATER),
    Row("43-refused", End(REFUSED), answer=REFUSED),
    Row("43-refused-deleted", End(REFUSED), DYING, REFUSED),
    Row("54-elsewhere", End(ELSEWHERE), answer=ELSEWHERE),
    Row("61-foreign", End(FOREIGN), answer=FOREIGN),
    Row("42-made", Store(MADE), answer=DONE),
    Row("50-made-for-a-dying-claim", Store(MADE), DYING, DONE),
    Row("50-made-for-nobody", Store(MADE), None, DONE),
    Row("42-stored", Leave(), answer=DONE, stored=True),
    Row("42-stored-and-named", Leave(), OWN, DONE, stored=True),
    Row("42-stored-and-bound", End(), BOUND, DONE, stored=True),
    Row("50-stored-for-a-dying-claim", End(), DYING, DONE, stored=True),
    Row("50-stored-for-nobody", End(), None, DONE, stored=True),
    Row("stored-another-named", End(), NAMED, DONE, stored=True),
    Row("46-refused-by-the-server", Undo(MADE), answer=REFUSED, unwanted=True),
    Row("46-cleaning", Rest(REFUSED), answer=REFUSED, unwanted=True, calling=True),
    Row(
        "46-cleanup-failed",
        Rest(UNCLEAR),
        answer=REFUSED,
        unwanted=True,
        cleanup=UNCLEAR,
        due=False,
    ),
    Row("46-cleanup-again", Undo(MADE), answer=REFUSED, unwanted=True, cleanup=UNCLEAR),
    Row(
        "46-cleaning-again",
        Rest(UNCLEAR),
        answer=REFUSED,
        unwanted=True,
        cleanup=UNCLEAR,
        calling=True,
    ),
    Row("46-cleanup-of-a-dying-claim", Undo(MADE), DYING, REFUSED, unwanted=True),
    Row("uninstalled-and-gone", End(), None, installed=False),
]


@pytest.mark.parametrize("row", [pytest.param(row, id=row.id) for row in ROWS])
def test_decide(row: Row) -> None:
    """The table."""
    assert provisioning.decide(view(row)) == row.want


@pytest.mark.parametrize("answer", [None, UNCLEAR, REFUSED])
def test_uninstalled(answer: Answer | None) -> None:
    """A claim whose provisioner is not there any more stays in progress and says what to do."""
    decision = provisioning.decide(view(Row("", Rest(), answer=answer, installed=False)))
    assert isinstance(decision, Rest)
    assert decision.answer is not None
    assert f"provisioner {DRIVER}" in decision.answer.words
    assert f"remove the finalizer {PROVISIONING}" in decision.answer.words


STATES = [
    Row("", Rest(), *cell)
    for cell in product(
        (NEW, MARKED, DYING, NAMED, BOUND, None),
        (None, DONE, *ANSWERS.values()),
        (False, True),
        (False, True),
        (False, True),
        (False, True),
        (False, True),
        (False, True),
    )
]


def test_laws() -> None:
    """Nobody is asked who may not be; nothing that may be under way is ever let go."""
    assert len(STATES) == 6 * 8 * 64
    for row in STATES:
        decision = provisioning.decide(view(row))
        if isinstance(decision, Ask | Undo | Begin | Store):
            assert row.installed
            assert not row.calling
            assert not row.stored
        if isinstance(decision, Ask | Undo):
            assert row.due
        if isinstance(decision, Ask) and row.claim and not row.claim.terminating:
            assert marks.is_marked(row.claim, REQUEST)
        open_ended = row.answer in (None, DONE, WORKING, UNCLEAR)
        if isinstance(decision, End | Leave) and row.asked and open_ended and not row.stored:
            assert row.claim is None  # and nobody is there who could finish it
            assert not row.installed


def test_effects_are_complete() -> None:
    """Every answer has its row; what is final is not under way, what warns is a Warning."""
    assert set(EFFECTS) == set(Kind)
    assert {kind for kind, row in EFFECTS.items() if row.final} == {
        Kind.REFUSED, Kind.ELSEWHERE, Kind.FOREIGN,
    }  # fmt: skip
    assert {"ProvisioningFailed", "ProvisioningCleanupFailed"} == WARNINGS


def said(of: ElasticGPUClaim) -> tuple[str, str]:
    """Reason and message of its condition."""
    found = find_condition(of.status.conditions, "Bound")
    return (found.reason, found.message) if found else ("", "")


def test_recorded() -> None:
    """The request is in the status, and the claim says who makes its device where."""
    written = marks.recorded(NEW, REQUEST, now=NOW)
    assert written.status.provisioning == REQUEST
    assert (written.status.phase, written.status.class_name) == ("Pending", "gold")
    assert said(written) == ("Provisioning", f"{DRIVER} makes its device on node-a")
    remote = marks.recorded(NEW, REQUEST.but(node_name=""), now=NOW)
    assert said(remote) == ("Provisioning", f"{DRIVER} makes its device")


@pytest.mark.parametrize("kind", list(EFFECTS))
def test_told(kind: Kind) -> None:
    """The reason is the table's, the words are the answer's, within their bounds; twice is once."""
    answer = Answer(kind, "x" * 5000)
    once = marks.told(NEW, answer, now=NOW)
    assert said(once) == (EFFECTS[kind].reason, "x" * 4096)
    assert marks.told(once, answer, now="later") == once
    assert said(marks.told(NEW, answer, now=NOW, reason="Other"))[0] == "Other"


@pytest.mark.parametrize("settled", [NAMED, BOUND, MARKED.with_status(phase="Lost")])
def test_told_only_while_it_waits(settled: ElasticGPUClaim) -> None:
    """A claim that has or wants another device is not told how this one fares."""
    assert marks.told(settled, UNCLEAR, now=NOW) == settled
    assert marks.recorded(settled, OTHER, now=NOW).status.phase == settled.status.phase


def test_closed() -> None:
    """The request goes, and why stays; a node that cannot is remembered."""
    quiet = marks.closed(MARKED, "node-a", None, now=NOW)
    assert quiet == MARKED.with_status(provisioning=None)
    assert marks.closed(quiet, "node-a", None, now=NOW) == quiet
    refused = marks.closed(MARKED, "node-a", REFUSED, now=NOW)
    assert refused.status.provisioning is None
    assert said(refused) == ("ProvisioningFailed", "words")
    assert refused.status.excluded_nodes == []
    moved = marks.closed(MARKED, "node-a", ELSEWHERE, now=NOW)
    assert moved.status.excluded_nodes == ["node-a"]
    assert marks.closed(moved, "node-a", ELSEWHERE, now=NOW) == moved


def test_marks() -> None:
    """Any mark is one; both, with this very request, are what a call needs."""
    worlds = [NEW, NEW.with_finalizers(PROVISIONING), NEW.with_status(provisioning=REQUEST), MARKED]
    assert [marks.has_marks(one) for one in worlds] == [False, True, True, True]
    assert [marks.is_marked(one, REQUEST) for one in worlds] == [False, False, False, True]
    assert not marks.is_marked(MARKED, OTHER)


def test_refusals_stand_until_something_changes() -> None:
    """A claim or class that was edited or made anew may be served; labels change nothing."""
    gold = gpu_class().with_metadata(uid="u", generation=1)
    refused = marks.refusal(REFUSED, NEW, gold)
    assert marks.stands(refused, NEW, gold)
    assert marks.stands(refused, NEW.with_metadata(labels={"a": "b"}), gold)
    assert not marks.stands(None, NEW, gold)
    assert not marks.stands(refused, NEW.with_metadata(generation=2), gold)
    assert not marks.stands(refused, NEW, gold.with_metadata(generation=2))
    assert not marks.stands(refused, NEW, gold.with_metadata(uid="v"))
    assert not marks.stands(refused, NEW, None)
    assert marks.stands(marks.refusal(REFUSED, NEW, None), NEW, None)
