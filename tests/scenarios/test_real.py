"""Every scenario on the real API server: once as it should be, then once for everything that can
go wrong at each of its writes, and with old caches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from .faults import Fault
from .run import Run, Site, judge_clean, judge_faulty
from .scenario import Scenario
from .table import Line
from .themes import SCENARIOS

AT_ONCE = 8
"""Runs side by side."""
STALE = ({"claim"}, {"device"}, {"claim", "device", "class", "card", "pod", "request"})
"""Kinds whose events are held back together."""


def faults(writes: int) -> Iterator[Fault]:
    """Everything that can go wrong in so many writes."""
    for number in range(1, writes + 1):
        yield Fault("crash", number)
        yield Fault("lost", number)
        yield Fault("unsent", number)
    yield from (Fault("stale", held=frozenset(held)) for held in STALE)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.title)
async def test_scenario(site: Site, scenario: Scenario, lines: list[Line]) -> None:
    """It ends as it should, whatever write was the last before a crash."""
    began = time.monotonic()
    clean = await Run(site, scenario, Fault()).go()
    line = Line(scenario.number, scenario.case, clean.record.writes)
    lines.append(line)
    if wrong := judge_clean(scenario, clean):
        pytest.fail("\n".join(["without a fault:", *wrong]), pytrace=False)
    some = asyncio.Semaphore(AT_ONCE)

    async def one(fault: Fault) -> list[str]:
        async with some:
            try:
                wrong = judge_faulty(scenario, await Run(site, scenario, fault).go(), clean)
            except AssertionError as error:
                wrong = [str(error)]
            line.ran(fault, ok=not wrong)
            return [f"{fault}: {text}" for text in wrong]

    found = await asyncio.gather(*map(one, faults(len(clean.record.writes))))
    line.seconds = time.monotonic() - began
    if wrong := [text for texts in found for text in texts]:
        pytest.fail("\n".join(wrong), pytrace=False)
