"""Many short lives of a cluster. Replay what failed with `make machine SEED=<its seed>`."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from elasticgpu.agent import ledger

from .machine import Life

STEPS = int(os.environ.get("STEPS") or 2000)
FIRST = int(os.environ.get("SEED") or 0)
LENGTH, LIVES = 50, 8
SEEDS = [FIRST] if os.environ.get("SEED") else range(-(-STEPS // (LENGTH * LIVES)))

LIFE = settings(
    max_examples=LIVES,
    stateful_step_count=LENGTH,
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink] if os.environ.get("SHRINK") else [Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.timeout(0 if os.environ.get("SEED") else 600)
@pytest.mark.parametrize("number", SEEDS, ids=lambda n: f"seed-{n}")
def test_lives(
    number: int, record_property: Callable[[str, object], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever happens, in whatever order: what must hold holds, and all of it settles."""
    monkeypatch.setattr(ledger, "BOOT_ID", ledger.BOOT_ID)  # each node of a life sets its own
    before = Life.steps
    logging.disable(logging.CRITICAL)  # what was warned of is what was asked for
    try:
        run_state_machine_as_test(seed(number)(Life), settings=LIFE)
    finally:
        logging.disable(logging.NOTSET)
    record_property("steps", Life.steps - before)
