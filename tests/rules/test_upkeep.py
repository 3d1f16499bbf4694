"""What a bound claim says besides: conditions that are there while something is wrong."""

from __future__ import annotations

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.meta import Condition, find_condition
from elasticgpu.rules.growing import RESIZED, Short
from elasticgpu.rules.upkeep import COLOCATED, UpkeepView, kept

from .build import LATER, NOW, claim, device, ref

BOUND = Condition(type="Bound", status="True", reason="Bound", last_transition_time=NOW)
HAS = device(of=ref(claim()), phase="Bound")


def train(**more: object) -> ElasticGPUClaim:
    of = claim(named="egpu-a", completed=True, **more)  # type: ignore[arg-type]
    return of.with_status(phase="Bound", conditions=[BOUND], capacity=dict(HAS.spec.capacity))


def look(
    of: ElasticGPUClaim,
    beside: dict[str, tuple[str, str]] | None = None,
    *,
    awaited: bool = False,
    short: Short | None = None,
) -> ElasticGPUClaim:
    return kept(UpkeepView(of, HAS, beside or {}, awaited, short), now=LATER)


def said(of: ElasticGPUClaim, kind: str) -> str:
    found = find_condition(of.status.conditions, kind)
    return found.message if found and found.status == "False" else ""


def test_nothing_to_say_changes_nothing() -> None:
    """The same object: no write."""
    one = train()
    assert look(one) is one
    assert look(one, {"eval": ("node-a", "pod web"), "far": ("", "pod web")}) is one


def test_short_until_it_is_not() -> None:
    """Why, in the words of what decided; taken away afterwards."""
    one = look(train(), short=Short("NoRoom", "no room"))
    condition = find_condition(one.status.conditions, RESIZED)
    assert condition is not None
    assert (condition.status, condition.reason, condition.message) == ("False", "NoRoom", "no room")
    assert look(one, short=Short("NoRoom", "no room")) == one
    assert look(one).status.conditions == [BOUND]


def test_what_it_has() -> None:
    """The size of its device, which may have grown since they were bound."""
    one = train().with_status(capacity={})
    assert look(one).status.capacity == HAS.spec.capacity


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
