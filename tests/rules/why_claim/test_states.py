"""Why a claim is as it is: whatever it looks like, whole sentences say so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.rules import why_claim
from elasticgpu.rules.explaining import Explanation
from tests.rules.build import claim, device

from .cases import case
from .states import STATES, Row


@pytest.mark.parametrize("row", [pytest.param(row, id=row.id) for row in STATES])
def test_states(row: Row) -> None:
    """State, since when, sentences and steps; no cards where they do not matter."""
    assert why_claim.explain(row.case) == Explanation(
        "ElasticGPUClaim team/train", row.state, row.since, row.facts, steps=row.steps
    )


PHASES = st.sampled_from(("", "Pending", "Bound", "Lost"))


@given(
    PHASES,
    st.booleans(),
    st.booleans(),
    st.sampled_from(("", "egpu-a")),
    st.sampled_from((None, "", "gold")),
    st.integers(0, 300),
    st.lists(st.sampled_from(("Available", "Bound", "Released", "Failed", "Pending")), max_size=2),
)
def test_there_is_always_an_answer(
    phase: str,
    terminating: bool,
    completed: bool,
    named: str,
    class_name: str | None,
    core: int,
    devices: list[str],
) -> None:
    """Whatever a claim looks like, at least one whole sentence says why."""
    odd = claim(core=core, named=named, completed=completed, terminating=terminating)
    made = [device(f"egpu-{'ab'[n]}", phase=p) for n, p in enumerate(devices)]  # type: ignore[arg-type]
    answer = why_claim.explain(case(odd.with_status(phase=phase), *made, class_name=class_name))
    assert answer.facts
    assert all(fact.endswith(".") and fact.strip() == fact for fact in answer.facts)
