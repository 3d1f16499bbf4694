"""One scenario on one server: without a fault, then with what the tier wants to see go wrong."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from .faults import Fault
from .run import Result, Run, Site, Unsettled, judge_clean, judge_faulty
from .scenario import Scenario
from .table import Line

STALE = (
    frozenset({"claim"}),
    frozenset({"device"}),
    frozenset({"claim", "device", "class", "card", "pod", "request", "node"}),
)
"""Kinds whose events are held back together."""
Chosen = Callable[[Scenario, Sequence[str]], Iterable[Fault]]
"""The faults to try with a scenario that writes this."""


def every_fault(scenario: Scenario, writes: Sequence[str]) -> Iterator[Fault]:
    """Everything that can go wrong in these writes."""
    own = scenario.own
    if scenario.only:
        yield from (replace(own, kind="crash", at=number) for number in scenario.only)
        return
    for number in range(1, len(writes) + 1):
        yield replace(own, kind="crash", at=number)
        yield replace(own, kind="lost", at=number)
        yield replace(own, kind="unsent", at=number)
    yield from (replace(own, kind="stale", at=0, held=held) for held in STALE)


async def play(
    site: Site, scenario: Scenario, line: Line, chosen: Chosen, at_once: int
) -> list[str]:
    """What is wrong with it, and the line of the table filled in; so many runs side by side."""
    began = time.perf_counter()
    try:
        clean = await Run(site, scenario, scenario.own).go()
    except Unsettled as error:
        return [f"without a fault: {error}"]
    line.writes = clean.record.writes
    if wrong := judge_clean(scenario, clean):
        return [f"without a fault: {text}" for text in wrong]
    some = asyncio.Semaphore(at_once)
    found: list[str] = []

    async def one(fault: Fault) -> None:
        async with some:
            wrong = await _struck(site, scenario, fault, clean)
        line.ran(fault, ok=not wrong)
        found.extend(f"{fault}: {text}" for text in wrong)

    async with asyncio.TaskGroup() as group:
        for fault in chosen(scenario, clean.record.writes):
            group.create_task(one(fault))
    line.seconds = time.perf_counter() - began
    return found


async def _struck(site: Site, scenario: Scenario, fault: Fault, clean: Result) -> list[str]:
    try:
        return judge_faulty(scenario, await Run(site, scenario, fault).go(), clean)
    except Unsettled as error:
        return [str(error)]
