"""Nodes: what each state of a node is good for, told from one another by tables."""

from __future__ import annotations

import pytest

from elasticgpu.api.core import Node, NodeCondition, NodeSpec, NodeStatus, Taint
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.api.vocabulary import Demand
from elasticgpu.rules.fitting import Candidate, unsuitable
from elasticgpu.rules.ledger import Ledger
from elasticgpu.rules.nodes import OUT_OF_SERVICE, closed, lost

from .build import NOW, card, claim, device


def node(ready: str = "True", *taints: str, cordoned: bool = False, leaving: bool = False) -> Node:
    conditions = [NodeCondition(type="MemoryPressure", status="False")]
    if ready:
        conditions.append(NodeCondition(type="Ready", status=ready))
    return Node(
        metadata=ObjectMeta(name="node-a", deletion_timestamp=NOW if leaving else None),
        spec=NodeSpec(unschedulable=cordoned, taints=[Taint(key=key) for key in taints]),
        status=NodeStatus(conditions=conditions),
    )


OFF = node("Unknown", "node.kubernetes.io/unreachable", OUT_OF_SERVICE)
STATES: list[tuple[str, Node | None, str | None, str | None]] = [
    ("ready", node(), None, None),
    ("tainted-for-others", node("True", "dedicated"), None, None),
    ("cordoned", node(cordoned=True), "cordoned", None),
    ("not-ready", node("False"), "not ready", None),
    ("not-heard-of", node("Unknown", "node.kubernetes.io/unreachable"), "not ready", None),
    ("just-registered", node(""), "not ready", None),
    ("being-deleted", node(leaving=True), "being deleted", None),
    ("out-of-service", OFF, "out of service", "out of service"),
    ("out-of-service-and-heard-of", node("True", OUT_OF_SERVICE), "out of service", None),
    ("gone", None, "does not exist", "gone"),
]


@pytest.mark.parametrize(
    ("found", "shut", "given_up"), [pytest.param(*row, id=name) for name, *row in STATES]
)
def test_states(found: Node | None, shut: str | None, given_up: str | None) -> None:
    """What is lost is closed as well; what is closed is not lost for that."""
    assert without_verb(closed("node-a", found)) == shut
    assert without_verb(lost("node-a", found)) == given_up


def without_verb(said: str | None) -> str | None:
    return said and said.removeprefix("node node-a ").removeprefix("is ")


def test_a_closed_node_keeps_what_it_has() -> None:
    """The ledger counts what a closed node's devices hold, and opens its cards again."""
    ledger = Ledger([card()], [device(core=30, phase="Bound")])
    ledger.set_node("node-a", "node node-a is cordoned")
    view = ledger.card("card-0")
    assert view is not None
    assert (view.closed, view.core_free) == ("node node-a is cordoned", 70)
    ledger.set_node("node-a", None)
    view = ledger.card("card-0")
    assert view is not None
    assert (view.closed, view.core_free) == ("", 70)


def test_what_is_said_of_a_node_twice_changes_nothing() -> None:
    """A node that never was closed may be called open, and a closed one closed again."""
    ledger = Ledger([card()])
    for said in (None, "node node-a is cordoned", "node node-a is cordoned", None, None):
        ledger.set_node("node-a", said)
        view = ledger.card("card-0")
        assert view is not None
        assert view.closed == (said or "")


def test_a_free_device_on_a_closed_node_is_left_alone_unless_named() -> None:
    """Nothing new is bound where its pod could not go; a person who names the device knows why."""
    free = Candidate(device(), (card(),), "node node-a is cordoned")
    said = unsuitable(claim(), "gold", Demand(core=10), free)
    assert said == "is not to be had: node node-a is cordoned"
    assert unsuitable(claim(), "gold", Demand(core=10), free, by_name=True) is None
