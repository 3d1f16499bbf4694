"""Cards without room for a claim: what each lacks, who holds it, what would make room."""

from __future__ import annotations

from dataclasses import replace

import pytest

from elasticgpu.api.vocabulary import Demand
from elasticgpu.rules import placement, why_claim
from elasticgpu.rules.claim_case import ClaimCase
from elasticgpu.rules.explaining import AGENTS, Explanation, Holder, Look, Step
from elasticgpu.rules.fitting import Candidate
from elasticgpu.rules.fleet import NodeView
from elasticgpu.rules.ledger import Slice
from tests.rules.build import GI, LATER, Share, card, claim, device, free, ref

from .cases import ASKS, TRAIN, TREE, case, told

HELD = {"card-0": (Holder("egpu-x", "Bound", 95, 40 * GI, "team/other", ("web-0",)),)}


def full(**more: object) -> ClaimCase:
    base = case(told(TRAIN, "NoCapacity"), **more)
    return replace(base, holders=HELD)


def test_without_room() -> None:
    """Every card with what it lacks and who holds it, and how much less would be served."""
    assert why_claim.explain(full()) == Explanation(
        "ElasticGPUClaim team/train",
        "Pending",
        LATER,
        (ASKS, "No card can give that; 1 was looked at."),
        (
            Look(
                "node-a",
                "card-0",
                5,
                40 * GI,
                "5% of 100% core free, 10% wanted",
                HELD["card-0"],
            ),
        ),
        (
            Step("Ask for less, in a new claim: card-0 has 5% core and 40Gi memory free"),
            TREE,
        ),
    )


class Halves(Share):
    """A provisioner that gives halves of cards."""

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        """The first card with half of its core free."""
        return super().place(Demand(core=50), node)


def test_without_a_share() -> None:
    """Who names no amount cannot ask for less."""
    of = told(claim(requests={"nvidia.com/gpu.shared": 1}), "NoCapacity")
    answer = why_claim.explain(case(of, placer=Halves()))
    assert [look.lacks for look in answer.looks] == [placement.NO_SHARE]
    assert answer.steps == (TREE,)


def test_without_any_card() -> None:
    """Then nothing is to be seen in the tree: the agents are at fault."""
    answer = why_claim.explain(full(nodes=()))
    assert answer.facts == (
        ASKS,
        "No card can give 10% core and 10Gi memory: the cluster has no GPU objects.",
    )
    assert answer.steps == (Step("No node publishes a card. See whether the agents run", AGENTS),)


@pytest.mark.parametrize(
    ("core", "step"),
    [
        (95, Step("An admin makes room for it", "elasticgpu release --delete egpu-a")),
        (5, None),
    ],
)
def test_released_devices_in_the_way(core: int, step: Step | None) -> None:
    """They are counted, and the command is given if it helps."""
    old = ref(claim("old"))
    idle = device(core=core, phase="Released", policy="Retain", of=old, class_name="silver")
    wants = told(claim(core=60), "NoCapacity")
    answer = why_claim.explain(case(wants, released=(Candidate(idle),)))
    assert f"1 Released device holds {core}% core and 10Gi memory of cards it may use." in (
        answer.facts
    )
    assert (answer.steps[0] == step) is (step is not None)


def test_a_released_device_that_fits() -> None:
    """It needs no room made."""
    idle = device(core=95, phase="Released", policy="Retain", of=ref(claim("old")))
    answer = why_claim.explain(full(released=(Candidate(idle),)))
    assert answer.steps[0] == Step("An admin gives it one that fits", "elasticgpu release egpu-a")


def test_a_card_that_is_closed() -> None:
    """An admin's word is all it takes."""
    closed = card("card-9").but(spec=card().spec.but(unschedulable=True))
    answer = why_claim.explain(full(nodes=(NodeView("node-a", (free(closed),)),)))
    assert answer.steps == (
        Step(
            "An admin lets new devices onto card-9",
            """kubectl patch gpu card-9 --type=merge -p '{"spec":{"unschedulable":false}}'""",
        ),
        TREE,
    )
    shut = replace(free(card("card-9")), closed="node node-a is cordoned")
    answer = why_claim.explain(full(nodes=(NodeView("node-a", (shut,)),)))
    assert answer.steps[0] == Step(
        "An admin sees to node node-a, which is cordoned", "kubectl describe node node-a"
    )
    small = closed.but(status=closed.status.but(memory="1Gi"))
    answer = why_claim.explain(full(nodes=(NodeView("node-a", (free(small),)),)))
    assert answer.steps == (TREE,)


def test_order_of_cards() -> None:
    """What may serve at all first, of that the freest, then by name."""
    views = (
        free(card("broken", health="Unhealthy")),
        free(card("b"), core=1),
        free(card("a"), core=1),
        free(card("none"), core=0),
        free(card("most"), core=9),
    )
    answer = why_claim.explain(full(nodes=(NodeView("node-a", views),)))
    assert [look.card for look in answer.looks] == ["most", "a", "b", "none", "broken"]
