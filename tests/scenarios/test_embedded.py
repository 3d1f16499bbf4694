"""Every scenario on the embedded API server, with everything that can go wrong at each of its
writes, and with old caches; time is virtual, so that nothing is waited for."""

from __future__ import annotations

from pathlib import Path

import pytest

from .embedded import embedded_site
from .scenario import Scenario
from .table import Line
from .themes import SCENARIOS
from .trial import every_fault, play

pytestmark = pytest.mark.looptime(noop_cycles=0)  # nothing comes from outside of the loop


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.title)
async def test_scenario(
    in_process: None, tmp_path: Path, scenario: Scenario, lines: list[Line]
) -> None:
    """It ends as it should, whatever write was the last before a crash."""
    site = await embedded_site(tmp_path)
    line = Line(site.server, scenario.number, scenario.case, [])
    lines.append(line)
    if found := await play(site, scenario, line, every_fault, at_once=1):
        pytest.fail("\n".join(found), pytrace=False)
