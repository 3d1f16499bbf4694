"""Conditions: one of each type, and a transition time that moves only with the status."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.meta import Condition, find_condition, merge_condition

TYPES = st.sampled_from(["Bound", "Ready", "Accepted"])
CONDITIONS = st.builds(
    Condition,
    type=TYPES,
    status=st.sampled_from(["True", "False", "Unknown"]),
    reason=st.sampled_from(["", "Waiting", "Done"]),
    message=st.text(max_size=5),
    last_transition_time=st.sampled_from(["", "long ago"]),
)
LISTS = st.lists(CONDITIONS, unique_by=lambda condition: condition.type, max_size=3)


def test_a_first_condition_is_appended() -> None:
    """With the time of its appearance."""
    ready = Condition(type="Ready", status="True", last_transition_time="t0")
    new = Condition(type="Bound", status="False", reason="Waiting")
    assert merge_condition([ready], new, now="t1") == [ready, new.but(last_transition_time="t1")]


def test_the_time_stays_while_only_the_reason_changes() -> None:
    """A person sees since when it is so."""
    old = [Condition(type="Bound", status="False", reason="A", last_transition_time="t1")]
    new = Condition(type="Bound", status="False", reason="B", message="still")
    assert merge_condition(old, new, now="t2") == [new.but(last_transition_time="t1")]


def test_the_time_moves_with_the_status() -> None:
    """Whatever time the new condition brings along."""
    old = [Condition(type="Bound", status="False", last_transition_time="t1")]
    new = Condition(type="Bound", status="True", last_transition_time="made up")
    assert merge_condition(old, new, now="t2")[0].last_transition_time == "t2"


def test_find() -> None:
    """By type; None if there is none."""
    ready = Condition(type="Ready", status="True")
    assert find_condition([ready], "Ready") is ready
    assert find_condition([ready], "Bound") is None


@given(LISTS, CONDITIONS)
def test_merging_keeps_the_others_and_their_order(old: list[Condition], new: Condition) -> None:
    """One row a type, each where it was, the new type last; the input is untouched."""
    before = list(old)
    merged = merge_condition(old, new, now="now")
    kinds = [condition.type for condition in old]
    assert [c.type for c in merged] == (kinds if new.type in kinds else [*kinds, new.type])
    assert [c for c in merged if c.type != new.type] == [c for c in old if c.type != new.type]
    assert old == before


@given(LISTS, CONDITIONS)
def test_merging_twice_is_merging_once(old: list[Condition], new: Condition) -> None:
    """A settled controller finds nothing to write."""
    once = merge_condition(old, new, now="t1")
    assert merge_condition(once, new, now="t2") == once


@given(LISTS, CONDITIONS)
def test_nothing_else_of_the_new_condition_changes(old: list[Condition], new: Condition) -> None:
    """Only the time is decided here."""
    merged = find_condition(merge_condition(old, new, now="now"), new.type)
    assert merged is not None
    assert merged.but(last_transition_time="") == new.but(last_transition_time="")


def test_unknown_fields_of_a_condition_stay() -> None:
    """A newer writer's field survives the merge of another type."""
    old = Condition.model_validate({"type": "Ready", "status": "True", "severity": "low"})
    merged = merge_condition([old], Condition(type="Bound", status="True"), now="t")
    assert merged[0].wire() == {"type": "Ready", "status": "True", "severity": "low"}
