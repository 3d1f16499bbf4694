"""Handing: what is done about a pod."""

from __future__ import annotations

import pytest

from elasticgpu.rules import handing
from elasticgpu.rules.allocation import Allocate
from elasticgpu.rules.entries import entries
from elasticgpu.rules.handing import MISSED, Action, MakeClaim, PodView, Say, Unreserve
from tests.rules.build import pod

from .views import (
    FOR_POD,
    FULL,
    HELD,
    MINE,
    OURS,
    PODS,
    RC,
    TEMPLATE,
    behind,
    bound,
    looked,
    made,
    of,
)

ANNOTATED = {"elasticgpu.io/egpuc-main": "train"}
ACTIONS: list[tuple[str, PodView, tuple[Action, ...]]] = [
    ("no-claims", looked(pod(claims=())), ()),
    ("missed", looked(pod(claims=(), annotations=ANNOTATED)), (Say(MISSED),)),
    (
        "missed-and-running",
        looked(pod(claims=(), annotations=ANNOTATED, node="node-a")),
        (Say(MISSED),),
    ),
    (
        "ready",
        looked(pod(), behind(HELD, RC)),
        (Allocate(RC, HELD, of(HELD), reserve=True),),
    ),
    (
        "ready-and-on-its-node",
        looked(pod(node="node-a"), behind(HELD, RC)),
        (Allocate(RC, HELD, of(HELD), reserve=False),),
    ),
    ("no-resource-claim-yet", looked(pod(), behind(HELD)), ()),
    ("row-on-its-way", looked(pod(), behind(bound(), RC)), ()),
    ("allocated", looked(pod(), behind(HELD, made("rc-0", OURS, done=True))), ()),
    (
        "allocated-and-scheduled",
        looked(pod(node="node-a"), behind(HELD, made("rc-0", OURS, PODS, done=True))),
        (Unreserve(made("rc-0", OURS, PODS, done=True)),),
    ),
    (
        "unreserved-already",
        looked(pod(node="node-a"), behind(HELD, made("rc-0", PODS, done=True))),
        (),
    ),
    (
        "finished",
        looked(pod(phase="Succeeded"), behind(HELD, made("rc-0", OURS, done=True))),
        (Unreserve(made("rc-0", OURS, done=True)),),
    ),
    (
        "terminating",
        looked(pod(terminating=True), behind(HELD, made("rc-0", OURS, done=True))),
        (Unreserve(made("rc-0", OURS, done=True)),),
    ),
    ("finished-gets-nothing-new", looked(pod(phase="Failed"), behind(HELD, RC)), ()),
    ("terminating-gets-nothing-new", looked(pod(terminating=True), behind(HELD, RC)), ()),
    (
        "gone",
        PodView(None, (), (made("rc-0", OURS, done=True), made("rc-1", PODS, done=True))),
        (Unreserve(made("rc-0", OURS, done=True)),),
    ),
    (
        "waits-and-scheduled",
        looked(pod(node="node-a"), behind(None, made("rc-0", OURS, done=True))),
        (
            Say("there is no ElasticGPUClaim train in team: create it"),
            Unreserve(made("rc-0", OURS, done=True)),
        ),
    ),
    (
        "a-claim-of-its-own",
        looked(FOR_POD, behind(template=TEMPLATE)),
        (MakeClaim(handing.claim_of(FOR_POD, entries(FOR_POD)[0], TEMPLATE)),),
    ),
    (
        "its-own-claim-is-there",
        looked(FOR_POD, behind(MINE, RC, template=TEMPLATE)),
        (Allocate(RC, MINE, of(MINE), reserve=True),),
    ),
    (
        "its-own-claim-outlives-the-template",
        looked(FOR_POD, behind(MINE, RC)),
        (Allocate(RC, MINE, of(MINE), reserve=True),),
    ),
    (
        "both",
        looked(
            pod(claims=["a", "b"]),
            behind(bound("a", "web-0"), made("rc-a")),
            behind(bound("b", "web-0"), made("rc-b")),
        ),
        (
            Allocate(made("rc-a"), bound("a", "web-0"), of(bound("a")), reserve=True),
            Allocate(made("rc-b"), bound("b", "web-0"), of(bound("b")), reserve=True),
        ),
    ),
    (
        "none-while-one-row-is-missing",
        looked(
            pod(claims=["a", "b"]),
            behind(bound("a", "web-0"), made("rc-a")),
            behind(bound("b"), made("rc-b")),
        ),
        (),
    ),
    (
        "the-other-one-was-done-before-a-crash",
        looked(
            pod(claims=["train", "b"]),
            behind(HELD, made("rc-0", OURS, done=True)),
            behind(bound("b", "web-0"), made("rc-b")),
        ),
        (Allocate(made("rc-b"), bound("b", "web-0"), of(bound("b")), reserve=True),),
    ),
]


@pytest.mark.parametrize(
    ("view", "want"), [pytest.param(view, want, id=name) for name, view, want in ACTIONS]
)
def test_decision(view: PodView, want: tuple[Action, ...]) -> None:
    """Each view of a pod leads to exactly these actions, in this order."""
    assert handing.decide(view) == want


def test_a_claim_without_device_takes_nothing_from_its_pod() -> None:
    """Its pod is told why it waits; there is nothing yet that could be withdrawn."""
    view = looked(pod(), behind(FULL, RC))
    assert handing.decide(view) == (Say("ElasticGPUClaim train is Pending: no card can give it"),)
