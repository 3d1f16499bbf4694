"""Claims whose place depends on pods and on other claims too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Pod
from elasticgpu.rules import why_claim
from elasticgpu.rules.claim_case import ClaimCase
from elasticgpu.rules.explaining import Step
from elasticgpu.rules.fleet import NodeView
from tests.rules.build import card, free, pod, seen

from .cases import ASKS, EVENTS, GOLD, MUTE, NO_CLASS, RUNS, TRAIN, TREE, case, told

TOGETHER = "Where its device goes depends on the pods that use it and the claims beside it too."


@pytest.mark.parametrize(
    ("pods", "said", "facts", "steps"),
    [
        pytest.param(
            (),
            told(TRAIN, "WaitForFirstConsumer", "waiting for its first pod"),
            ("Waiting for its first pod.", TOGETHER, "No pod names it yet."),
            (EVENTS, TREE),
            id="no-pod",
        ),
        pytest.param(
            (pod("old", phase="Succeeded"), pod("web-1"), pod("web-2")),
            told(TRAIN, "NoCapacity", "no node has room"),
            ("No node has room.", TOGETHER, "Pods web-1, web-2 wait for it."),
            (
                Step("See what pod web-1 waits for", "elasticgpu why pod/web-1 -n team"),
                EVENTS,
                TREE,
            ),
            id="two-pods",
        ),
        pytest.param(
            (),
            told(
                TRAIN,
                "CompanyMissing",
                "it waits for its company: x does not exist",
            ),
            (
                "It waits for its company: x does not exist.",
                TOGETHER,
                "No pod names it yet.",
            ),
            (
                Step(
                    "Create what is missing, or make this claim anew without it in colocateWith",
                    "elasticgpu get claims -n team",
                ),
                TREE,
            ),
            id="missing",
        ),
        pytest.param(
            (), TRAIN, (TOGETHER, "No pod names it yet.", MUTE), (EVENTS, TREE, RUNS), id="mute"
        ),
    ],
)
def test_in_company(
    pods: tuple[Pod, ...], said: ElasticGPUClaim, facts: tuple[str, ...], steps: tuple[Step, ...]
) -> None:
    """Others have a say: the controller's words, and the cards as they are for this claim alone."""
    nodes = (NodeView("node-a", (free(card()), free(card("full"), core=0))),)
    answer = why_claim.explain(replace(case(said, company=True, nodes=nodes), pods=pods))
    assert answer.facts == (ASKS, *facts)
    assert answer.steps == steps
    assert [(look.card, look.lacks) for look in answer.looks] == [
        ("card-0", ""),
        ("full", "0% of 100% core free, 10% wanted"),
    ]


def test_nobody_makes_one_for_the_company() -> None:
    """What is wrong with the class is said first."""
    answer = why_claim.explain(case(TRAIN, company=True, **NO_CLASS))
    assert answer.facts[1] == "It names no class and none is the default; known classes: silver."
    elsewhere = told(TRAIN, "WaitForFirstConsumer", "waiting for its first pod")
    answer = why_claim.explain(case(elsewhere, company=True, placer=None))
    assert answer.facts[1] == "Waiting for its first pod."


def test_in_company_the_controller_alone_knows() -> None:
    """Where the pod or other claims have a say, what the controller said is repeated."""
    waits = told(TRAIN, "WaitForFirstConsumer", "its device is chosen when the first pod uses it")
    view = seen(waits, **{**GOLD, "company": True})
    facts = why_claim.explain(ClaimCase(view)).facts
    assert facts[1] == "Its device is chosen when the first pod uses it."
