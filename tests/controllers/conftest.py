"""The stage of these tests, with waits as short as the machine allows."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from elasticgpu.controllers import asking, inventory, waking
from elasticgpu.rules import answers

from .stage import Stage


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is paused for seconds or minutes is paused for milliseconds."""
    monkeypatch.setattr(asking, "BASE", 0.01)
    monkeypatch.setattr(asking, "CAP", 0.05)
    monkeypatch.setattr(asking, "PATIENCE", 0.0)
    monkeypatch.setattr(answers, "SOONEST", 0.01)
    monkeypatch.setattr(waking, "WAKE_AFTER", 0.01)
    monkeypatch.setattr(inventory, "GATHER", 600.0)


@pytest.fixture
async def stage(hasty: None) -> AsyncIterator[Stage]:
    """Two nodes with a card each, a class a provisioner, and no controllers yet."""
    one = Stage()
    yield one
    await one.end()
