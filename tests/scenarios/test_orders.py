"""Every scenario on the embedded API server in other orders of what goes on side by side.

`--orders 50` plays it in so many, each drawn from a seed; `--order 17` plays that of one seed. The
rows of a hundred claims are left out: smaller ones beside them do the same.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from looptime import LoopTimeEventLoop

from elasticgpu.testing.seeded import SeededEventLoop

from .embedded import ORDERS, embedded_site
from .run import Run, Unsettled, judge_reordered
from .scenario import Scenario
from .themes import SCENARIOS


class Loop(LoopTimeEventLoop, SeededEventLoop):
    """Time is virtual, and the order a seed's."""


@pytest.fixture
def seeds(request: pytest.FixtureRequest) -> list[int]:
    """Those whose orders are played."""
    one = request.config.getoption("--order", default=None)
    many = request.config.getoption("--orders", default=ORDERS)
    return [one] if one is not None else list(range(1, many + 1))


SMALL = [row for row in SCENARIOS if not row.only]


@pytest.mark.parametrize("scenario", SMALL, ids=lambda scenario: scenario.title)
def test_scenario(in_process: None, tmp_path: Path, seeds: list[int], scenario: Scenario) -> None:
    """It ends as it should, whoever is first, and writes no more than it has to."""
    for seed in seeds:
        with asyncio.Runner(loop_factory=lambda: Loop(seed, noop_cycles=0)) as runner:  # noqa: B023
            if wrong := runner.run(_play(tmp_path, scenario)):
                pytest.fail("\n".join([f"in the order of --order {seed}:", *wrong]), pytrace=False)


async def _play(nothing: Path, scenario: Scenario) -> list[str]:
    site = await embedded_site(nothing)
    try:
        return judge_reordered(scenario, await Run(site, scenario, scenario.own).go())
    except Unsettled as error:
        return [str(error)]
