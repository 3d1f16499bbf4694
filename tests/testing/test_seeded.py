"""The event loop that takes tasks' steps in an order drawn from a seed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from elasticgpu.testing.seeded import SeededEventLoop

SEEDS = range(40)


def played(seed: int, main: Coroutine[Any, Any, str]) -> str:
    with asyncio.Runner(loop_factory=lambda: SeededEventLoop(seed)) as runner:
        return runner.run(main)


async def three() -> str:
    """Three tasks of two steps each, one after the other by name."""
    said: list[str] = []

    async def one(name: str) -> None:
        for _ in range(2):
            await asyncio.sleep(0)
            said.append(name)

    async with asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(one(name))
    return "".join(said)


async def woken() -> str:
    """Three tasks that wait for one event."""
    said, event = list[str](), asyncio.Event()

    async def one(name: str) -> None:
        await event.wait()
        said.append(name)

    async with asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(one(name))
        await asyncio.sleep(0.001)
        event.set()
    return "".join(said)


async def called() -> str:
    """Callbacks that are no tasks."""
    said: list[str] = []
    for name in "abc":
        asyncio.get_running_loop().call_soon(said.append, name)
    while len(said) < 3:
        await asyncio.sleep(0)
    return "".join(said)


def test_a_seed_makes_the_same_order_again() -> None:
    assert [played(seed, three()) for seed in SEEDS] == [played(seed, three()) for seed in SEEDS]


def test_one_overtakes_another_by_more_than_a_step() -> None:
    assert {"aa", "bb", "cc"} <= {played(seed, three())[:2] for seed in SEEDS}


def test_who_was_woken_first_need_not_be_first() -> None:
    assert {played(seed, woken()) for seed in SEEDS} == {"abc", "acb", "bac", "bca", "cab", "cba"}


def test_callbacks_keep_their_order() -> None:
    assert {played(seed, called()) for seed in SEEDS} == {"abc"}
