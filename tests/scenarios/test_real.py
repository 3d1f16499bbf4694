"""Every scenario on the real API server, and a sample of what can go wrong; `--all-faults` tries
all of it, as the embedded server's tests always do."""

from __future__ import annotations

import pytest

from .run import Site
from .sample import sampled
from .scenario import Scenario
from .table import Line
from .themes import SCENARIOS
from .trial import every_fault, play

AT_ONCE = 8
"""Runs side by side."""


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.title)
async def test_scenario(
    site: Site, scenario: Scenario, lines: list[Line], request: pytest.FixtureRequest
) -> None:
    """It ends as it should, whatever write was the last before a crash."""
    line = Line(site.server, scenario.number, scenario.case, [])
    lines.append(line)
    everything = request.config.getoption("--all-faults", default=False)
    chosen = every_fault if everything else sampled
    if found := await play(site, scenario, line, chosen, AT_ONCE):
        pytest.fail("\n".join(found), pytrace=False)
