"""What every test of the agent has at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from elasticgpu.agent import prepare
from tests.agent.world import World


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The 40 s are over after three looks, whatever the clock says."""

    def pause(failures: int, **_: float) -> float:
        if failures >= 3:
            raise TimeoutError
        return 0.0

    monkeypatch.setattr(prepare, "jittered", pause)
    monkeypatch.setattr(prepare, "PATIENCE", 240.0)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A node with two cards, and nothing on them."""
    return World(tmp_path)
