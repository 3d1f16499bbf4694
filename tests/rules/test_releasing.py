"""Releasing: what becomes of a device whose provisioner is to free something outside."""

from __future__ import annotations

from itertools import product

import pytest

from elasticgpu.api.elasticgpu import DevicePhase, ElasticGPU
from elasticgpu.api.names import NODE_FINALIZER
from elasticgpu.rules import releasing
from elasticgpu.rules.answers import Answer, Kind
from elasticgpu.rules.ledger import OVERCOMMITTED
from elasticgpu.rules.releasing import RELEASE_FAILED, Call, Decision, Free, Hold, ReleaseView
from elasticgpu.rules.transaction import WITHDRAWN

from .build import device

FREE = device(phase="Released")
IN_USE = FREE.with_finalizers(NODE_FINALIZER)
DONE, FOREIGN = Answer(Kind.DONE), Answer(Kind.FOREIGN)
UNCLEAR, LATER = Answer(Kind.UNCLEAR, "reset"), Answer(Kind.LATER, "in use")

ROWS: list[tuple[str, ReleaseView, Decision]] = [
    ("55-not-asked-yet", ReleaseView(FREE), Call()),
    ("55-the-default-asks-nobody", ReleaseView(IN_USE, asks=False), Free()),
    ("55-done", ReleaseView(FREE, answer=DONE), Free()),
    ("62-done-and-in-use-by-now", ReleaseView(IN_USE, answer=DONE), Free()),
    ("under-way", ReleaseView(FREE, calling=True), Hold()),
    ("under-way-after-done", ReleaseView(FREE, answer=DONE, calling=True), Hold(DONE)),
    ("56-failed", ReleaseView(FREE, answer=UNCLEAR), Call()),
    ("56-failed-not-due", ReleaseView(FREE, answer=UNCLEAR, due=False), Hold(UNCLEAR)),
    ("61-foreign", ReleaseView(FREE, answer=FOREIGN), Hold()),
    ("in-use-on-its-node", ReleaseView(IN_USE), Hold()),
    ("in-use-again", ReleaseView(IN_USE, answer=UNCLEAR), Hold(UNCLEAR)),
]


@pytest.mark.parametrize(
    ("view", "want"), [pytest.param(view, want, id=name) for name, view, want in ROWS]
)
def test_decide(view: ReleaseView, want: Decision) -> None:
    """The table."""
    assert releasing.decide(view) == want


@pytest.mark.parametrize("answer", [None, DONE, UNCLEAR])
def test_56_no_provisioner(answer: Answer | None) -> None:
    """Without its provisioner a device is kept, and says what to do."""
    decision = releasing.decide(ReleaseView(FREE, installed=False, answer=answer))
    assert isinstance(decision, Hold)
    assert decision.answer is not None
    assert "is not installed" in decision.answer.words
    assert "set reclaimPolicy to Retain" in decision.answer.words


def test_never_freed_unasked() -> None:
    """The object goes only if nobody has to be asked, or has answered that it is done."""
    for asks, kind, calling, due in product((False, True), Kind, (False, True), (False, True)):
        view = ReleaseView(FREE, asks=asks, answer=Answer(kind), calling=calling, due=due)
        if isinstance(releasing.decide(view), Free):
            assert not calling
            assert not asks or kind is Kind.DONE


def failed(reason: str) -> ElasticGPU:
    return device(phase="Failed", reason=reason)


TOLD: list[tuple[str, ElasticGPU, Answer, tuple[DevicePhase, str, str]]] = [
    ("56-failed", FREE, UNCLEAR, ("Failed", RELEASE_FAILED, "reset")),
    ("56-temporary", FREE, LATER, ("Released", "Releasing", "in use")),
    ("56-working", FREE, Answer(Kind.WORKING, "x"), ("Released", "Releasing", "x")),
    ("56-failed-stays", failed(RELEASE_FAILED), LATER, ("Failed", RELEASE_FAILED, "in use")),
    ("56-failed-before", failed("Broken"), UNCLEAR, ("Failed", RELEASE_FAILED, "reset")),
    (
        "given-up-keeps-its-mark",
        device(phase="Released", reason=WITHDRAWN),
        UNCLEAR,
        ("Released", WITHDRAWN, "reset"),
    ),
    ("never-had-room", failed(OVERCOMMITTED), LATER, ("Failed", OVERCOMMITTED, "in use")),
]


@pytest.mark.parametrize(
    ("found", "answer", "want"), [pytest.param(*row, id=name) for name, *row in TOLD]
)
def test_unreleased(found: ElasticGPU, answer: Answer, want: tuple[DevicePhase, str, str]) -> None:
    """Failed is sticky; what says that a device was given up is never overwritten."""
    assert releasing.unreleased(found, answer) == want


def test_unreleased_fits_its_field() -> None:
    """However much the provisioner has to say."""
    assert releasing.unreleased(FREE, Answer(Kind.UNCLEAR, "x" * 2000))[2] == "x" * 1024
