"""Where the simulated scheduler sends a pod, and what it says where it finds no place."""

from __future__ import annotations

from elasticgpu.api.core import (
    Allocation,
    Node,
    NodeCondition,
    NodeSpec,
    NodeStatus,
    Pod,
    PodSpec,
    PodStatus,
    ResourceClaim,
    ResourceClaimStatus,
)
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.rules.allocation import on_node
from elasticgpu.testing.simulation.choosing import choose


def node(name: str, *, ready: bool = True, cordoned: bool = False, pods: int = 10) -> Node:
    fact = NodeCondition(type="Ready", status=str(ready))
    return Node(
        metadata=ObjectMeta(name=name, labels={"zone": name}),
        spec=NodeSpec(unschedulable=cordoned),
        status=NodeStatus(allocatable={"pods": pods}, conditions=[fact]),
    )


def pod(name: str = "p", on: str = "", phase: str = "", **selector: str) -> Pod:
    return Pod(
        metadata=ObjectMeta(name=name),
        spec=PodSpec(node_name=on, node_selector=selector),
        status=PodStatus(phase=phase),
    )


def claim(on: str | None) -> ResourceClaim:
    """Allocated on that node; None: not allocated."""
    found = None if on is None else Allocation(node_selector=on_node(on))
    return ResourceClaim(status=ResourceClaimStatus(allocation=found))


def chosen(found: tuple[str, Node | None]) -> str:
    return found[1].name if found[1] else found[0]


NODES = [node("b"), node("a"), node("lost", ready=False), node("shut", cordoned=True)]


def test_allocations_lead() -> None:
    """The pod goes where its allocations are, however full that is, and nowhere else."""
    full = [pod(str(number), on="b") for number in range(3)]
    assert chosen(choose(pod(), [claim("b")], NODES, full)) == "b"
    assert chosen(choose(pod(), [claim("b"), claim(None)], NODES, [])) == (
        "3 cannot allocate all claims"
    )
    said = chosen(choose(pod(), [claim("a"), claim("b")], NODES, []))
    assert said.count("it does not match the allocated devices") == 3
    assert "lost" not in said


def test_the_emptiest_that_suits() -> None:
    """Of nodes that are ready and suit the pod; pods that have ended count nowhere."""
    there = [pod("1", on="a"), pod("2", on="b", phase="Succeeded")]
    assert chosen(choose(pod(), [], NODES, there)) == "b"
    assert chosen(choose(pod(), [], NODES, [])) == "a"
    assert chosen(choose(pod(zone="b"), [], NODES, [])) == "b"
    assert chosen(choose(pod(zone="shut"), [], NODES, [])) == (
        "a: it is not labelled zone=shut; b: it is not labelled zone=shut; shut: it is cordoned"
    )


def test_a_full_node() -> None:
    """What the others take of a node counts."""
    found = choose(pod(), [], [node("a", pods=1)], [pod("1", on="a")])
    assert chosen(found) == "a: 0 pods free, 1 wanted"
