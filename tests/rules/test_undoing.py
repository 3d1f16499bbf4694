"""Undoing in a node's place: only on a lost node, only for pods that are gone; the rest is said."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple, TypeVar

import pytest

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Node
from elasticgpu.api.elasticgpu import DevicePhase, ElasticGPU
from elasticgpu.api.meta import Condition, find_condition, merge_condition
from elasticgpu.api.names import NODE_FINALIZER
from elasticgpu.rules import undoing
from elasticgpu.rules.nodes import OUT_OF_SERVICE
from elasticgpu.rules.transaction import NODE_LOST, READY
from elasticgpu.rules.undoing import Decision, Keep, OnNodeView, Say, Tell, Undo

from .build import LATER, claim, device, ref
from .test_nodes import OFF, node

T = TypeVar("T", ElasticGPU, ElasticGPUClaim)
HERE, SILENT, BACK = node(), node("Unknown"), node()
WRONG = Condition(type=READY, status="False", reason="Before", message="something was wrong")


class World(NamedTuple):
    """One cell of the matrix."""

    node: Node | None
    phase: DevicePhase = "Bound"
    rows: tuple[str, ...] = ()
    marked: bool = False
    terminating: bool = False
    unready: bool = False
    overdue: bool = False


PHASES: tuple[DevicePhase, ...] = ("", "Available", "Bound", "Released", "Failed")
WORLDS = [
    World(*cell)
    for cell in product(
        (HERE, SILENT, OFF, None),
        PHASES,
        ((), ("uid-web-0",)),
        (False, True),
        (False, True),
        (False, True),
        (False, True),
    )
]


def view(world: World, *, before: Condition | None = None) -> OnNodeView:
    conditions = [before] if before else []
    owner = claim(named="egpu-a").with_status(phase="Bound", conditions=conditions)
    found = device(
        phase=world.phase,
        of=ref(owner),
        terminating=world.terminating,
        finalizers=[NODE_FINALIZER] if world.marked else [],
    ).with_status(prepared_for=list(world.rows), conditions=conditions)
    return OnNodeView(found, world.node, owner, world.unready, world.overdue)


def test_matrix() -> None:
    """Undone is what a lost node has of a device nobody prepares any more; else it is only said."""
    for world in WORLDS:
        lost = world.node is None or world.node is OFF
        there = world.rows or world.marked
        still = world.phase == "Bound" and not world.terminating
        found = undoing.decide(view(world))
        want: type[Decision] = Keep
        if lost:
            want = Undo if there and not still else Keep
        elif world.overdue:
            want = Say
        elif world.unready:
            want = Tell
        assert isinstance(found, want), world


@pytest.mark.parametrize(
    ("world", "words"),
    [
        pytest.param(
            World(HERE, rows=("uid-web-0",), overdue=True),
            "node node-a has not undone it for pod uid-web-0, which is gone",
            id="row",
        ),
        pytest.param(
            World(HERE, rows=("a", "b"), overdue=True), "for pod a, b, which are gone", id="rows"
        ),
        pytest.param(
            World(HERE, marked=True, terminating=True, overdue=True),
            f"node node-a keeps finalizer {NODE_FINALIZER}",
            id="finalizer",
        ),
        pytest.param(World(SILENT, unready=True), "node node-a is not ready", id="not-ready"),
    ],
)
def test_words(world: World, words: str) -> None:
    """Who has to act, and how: on the device what is not undone, on the claim what is not heard."""
    found = undoing.decide(view(world))
    assert isinstance(found, Say | Tell)
    assert words in found.condition.message
    assert f"delete the node or taint it {OUT_OF_SERVICE}" in found.condition.message
    assert found.condition.status == "False"


def said(found: Decision, of: OnNodeView) -> OnNodeView:
    """The view after the decision was carried out."""
    match found:
        case Say(condition):
            return of_device(of, told(of.device, condition))
        case Tell(owner, condition):
            return of_claim(of, told(owner, condition))
        case Keep() | Undo():
            raise AssertionError(found)


def of_device(of: OnNodeView, found: ElasticGPU) -> OnNodeView:
    return OnNodeView(found, of.node, of.claim, of.unready, of.overdue)


def of_claim(of: OnNodeView, found: ElasticGPUClaim) -> OnNodeView:
    return OnNodeView(of.device, of.node, found, of.unready, of.overdue)


def told(obj: T, condition: Condition) -> T:
    merged = merge_condition(obj.status.conditions, condition, now=LATER)
    return obj.with_status(conditions=merged)


@pytest.mark.parametrize("world", [World(HERE, overdue=True), World(SILENT, unready=True)])
def test_said_once_and_taken_back_once(world: World) -> None:
    """What is said is quiet while it lasts; when it is over that is said, and quiet again."""
    first = view(world)
    after = said(undoing.decide(first), first)
    assert undoing.decide(after) == Keep()
    over = OnNodeView(after.device, BACK, after.claim)
    gone = said(undoing.decide(over), over)
    assert gone.claim is not None
    conditions = [*gone.device.status.conditions, *gone.claim.status.conditions]
    assert [(c.type, c.status) for c in conditions] == [(READY, "True")]
    assert undoing.decide(gone) == Keep()


def test_another_reason_is_news() -> None:
    """What was wrong before is replaced by what is wrong now; the device comes first."""
    both = view(World(HERE, overdue=True, unready=True), before=WRONG)
    found = undoing.decide(both)
    assert isinstance(found, Say)
    after = said(found, both)
    condition = find_condition(after.device.status.conditions, READY)
    assert condition is not None
    assert condition.reason == "NotUndone"
    assert isinstance(undoing.decide(after), Tell)


def test_remote_and_free_devices_need_no_node() -> None:
    """A device on no node has none to lose; one without a claim has nobody to tell."""
    assert undoing.decide(OnNodeView(device(node="", phase="Failed"), None)) == Keep()
    assert undoing.decide(OnNodeView(device(), SILENT, None, unready=True)) == Keep()


def test_a_lost_device_counts_until_it_is_undone() -> None:
    """A finalizer without rows is enough to have something undone, on a lost node."""
    failed = device(phase="Failed", reason=NODE_LOST, finalizers=[NODE_FINALIZER])
    assert undoing.decide(OnNodeView(failed, None)) == Undo()
    assert undoing.decide(OnNodeView(failed, HERE)) == Keep()
