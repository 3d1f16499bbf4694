"""Every scenario on the real API server: once as it should be, then once for everything that can
go wrong at each of its writes, and with old caches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from .faults import Fault
from .run import Run, Site, Unsettled, judge_clean, judge_faulty
from .scenario import Scenario
from .table import Line
from .themes import SCENARIOS

AT_ONCE = 8
"""Runs side by side."""
STALE = (
    frozenset({"claim"}),
    frozenset({"device"}),
    frozenset({"claim", "device", "class", "card", "pod", "request", "node"}),
)
"""Kinds whose events are held back together."""


def faults(scenario: Scenario, writes: int) -> Iterator[Fault]:
    """Everything that can go wrong in so many writes."""
    own = scenario.own
    if scenario.only:
        yield from (replace(own, kind="crash", at=number) for number in scenario.only)
        return
    for number in range(1, writes + 1):
        yield replace(own, kind="crash", at=number)
        yield replace(own, kind="lost", at=number)
        yield replace(own, kind="unsent", at=number)
    yield from (replace(own, kind="stale", at=0, held=held) for held in STALE)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.title)
async def test_scenario(site: Site, scenario: Scenario, lines: list[Line]) -> None:
    """It ends as it should, whatever write was the last before a crash."""
    began = time.monotonic()
    line = Line(scenario.number, scenario.case, [])
    lines.append(line)
    try:
        clean = await Run(site, scenario, scenario.own).go()
    except Unsettled as error:
        pytest.fail(f"without a fault: {error}", pytrace=False)
    line.writes = clean.record.writes
    if wrong := judge_clean(scenario, clean):
        pytest.fail("\n".join(["without a fault:", *wrong]), pytrace=False)
    some = asyncio.Semaphore(AT_ONCE)

    found: list[str] = []

    async def one(fault: Fault) -> None:
        async with some:
            try:
                wrong = judge_faulty(scenario, await Run(site, scenario, fault).go(), clean)
            except Unsettled as error:
                wrong = [str(error)]
            line.ran(fault, ok=not wrong)
            found.extend(f"{fault}: {text}" for text in wrong)

    async with asyncio.TaskGroup() as group:
        for fault in faults(scenario, len(clean.record.writes)):
            group.create_task(one(fault))
    line.seconds = time.monotonic() - began
    if found:
        pytest.fail("\n".join(found), pytrace=False)
