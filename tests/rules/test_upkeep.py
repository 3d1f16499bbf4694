"""What a bound claim says besides: conditions that are there while something is wrong."""

from __future__ import annotations

import pytest

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.meta import Condition, find_condition
from elasticgpu.api.vocabulary import CORE, MEMORY, MEMORY_PERCENTAGE
from elasticgpu.rules.fitting import Candidate
from elasticgpu.rules.upkeep import COLOCATED, RESIZED, UpkeepView, kept

from .build import LATER, NOW, card, claim, device, ref

BOUND = Condition(type="Bound", status="True", reason="Bound", last_transition_time=NOW)
HAS = device(of=ref(claim()), phase="Bound")


def train(**more: object) -> ElasticGPUClaim:
    of = claim(named="egpu-a", completed=True, **more)  # type: ignore[arg-type]
    return of.with_status(phase="Bound", conditions=[BOUND])


def look(
    of: ElasticGPUClaim,
    beside: dict[str, tuple[str, str]] | None = None,
    *,
    cards: bool = True,
    awaited: bool = False,
) -> ElasticGPUClaim:
    found = Candidate(HAS, (card(),) if cards else ())
    return kept(UpkeepView(of, found, beside or {}, awaited), now=LATER)


def said(of: ElasticGPUClaim, kind: str) -> str:
    found = find_condition(of.status.conditions, kind)
    return found.message if found and found.status == "False" else ""


def test_nothing_to_say_changes_nothing() -> None:
    """The same object: no write."""
    one = train()
    assert look(one) is one
    assert look(one, {"eval": ("node-a", "pod web"), "far": ("", "pod web")}) is one


GREW: list[tuple[dict[str, int | str], bool, str]] = [
    ({CORE: 20, MEMORY: "10Gi"}, True, "has 10% core, not 20%"),
    ({CORE: 10, MEMORY: "11Gi"}, True, "has 10737418240 bytes of memory, not 11811160064"),
    ({MEMORY_PERCENTAGE: 50}, True, "has less than 50% of its card's memory"),
    ({MEMORY_PERCENTAGE: 50}, False, ""),
    ({CORE: 5}, True, ""),
]


@pytest.mark.parametrize(("requests", "cards", "short"), GREW)
def test_a_request_that_grew(requests: dict[str, int | str], cards: bool, short: str) -> None:
    """What it has, and what to do for more; nothing while its cards are not known."""
    more = "a bound claim keeps its device. For more, make a new claim and let the pods use that"
    want = f"egpu-a {short}: {more}" if short else ""
    assert said(look(train(requests=requests), cards=cards), RESIZED) == want


def test_a_request_that_became_nonsense() -> None:
    """The sentence of the vocabulary."""
    asks = train(requests={CORE: 0})
    assert said(look(asks), RESIZED) == f"{CORE} is 0: ask for more than nothing"


def test_apart_until_it_is_not() -> None:
    """Said while it is so, in the same words no second time, and taken away afterwards."""
    one = look(train(), {"eval": ("node-b", "pod web")})
    words = "it is on node node-a and eval on node node-b, but pod web wants them on one"
    assert said(one, COLOCATED) == words
    assert look(one, {"eval": ("node-b", "pod web")}) == one
    back = look(one)
    assert back.status.conditions == [BOUND]


def test_nodes_tried_in_vain_are_forgotten() -> None:
    """Once no pod waits for the claim, and not before."""
    one = train().with_status(excluded_nodes=["node-b"])
    assert look(one, awaited=True) is one
    assert look(one).status.excluded_nodes == []
