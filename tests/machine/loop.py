"""An event loop on which hours pass at once, nothing runs in threads, and a seed says which of the
tasks that could go on goes on first. The same seed makes the same run."""

from __future__ import annotations

import asyncio
import selectors
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta, tzinfo
from random import Random
from typing import Any

BEGIN = datetime(2030, 1, 1, tzinfo=UTC)
ROUND = 1e-6
"""Seconds that a round takes at least: a sum of floats could else stand still short of its end."""
ROUNDS = 50
"""So often everything is cancelled at the end."""
process: ContextVar[set[asyncio.Task[Any]] | None] = ContextVar("process", default=None)
"""Where the tasks are noted that belong to the process at work, for they die with it."""


class _Selector(selectors.DefaultSelector):
    """Looks at sockets without waiting, and tells how long it would have waited."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everything waits, and nothing will ever happen")
        self.passed += max(timeout, ROUND)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time passes when there is nothing else to do."""

    def __init__(self, random: Random) -> None:
        self._clock = _Selector()
        self._random = random
        self._turns = 0
        self._later: list[tuple[int, Callable[[], None]]] = []
        super().__init__(self._clock)
        self.set_task_factory(_noted)  # type: ignore[arg-type] # as asyncio calls it

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._clock.passed

    def now(self) -> datetime:
        """The date."""
        return BEGIN + timedelta(seconds=self.time())

    def in_turns(self, turns: int, call: Callable[[], None]) -> None:
        """Call it after so many rounds of the loop."""
        self._later.append((self._turns + turns, call))

    def run_in_executor(  # type: ignore[override] # any future will do
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> Any:
        """Do it here and now."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def _run_once(self) -> None:
        self._turns += 1
        due = [call for turn, call in self._later if turn <= self._turns]
        self._later = [one for one in self._later if one[0] > self._turns]
        for call in due:
            call()
        self._ready = _permuted(self._ready, self._random)  # type: ignore[has-type]
        super()._run_once()  # type: ignore[misc]


def _permuted(ready: deque[asyncio.Handle], random: Random) -> deque[asyncio.Handle]:
    """The handles, those that are steps of tasks in another order."""
    handles = list(ready)
    places = [n for n, handle in enumerate(handles) if _is_step(handle)]
    steps = [handles[n] for n in places]
    random.shuffle(steps)
    for place, step in zip(places, steps, strict=True):
        handles[place] = step
    return deque(handles)


def _is_step(handle: Any) -> bool:
    return isinstance(getattr(handle._callback, "__self__", None), asyncio.Task)


def _noted(
    loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any], **options: Any
) -> asyncio.Task[Any]:
    task: asyncio.Task[Any] = asyncio.Task(coro, loop=loop, **options)
    tasks = process.get()
    if tasks is not None:
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    return task


class Dates(datetime):
    """`datetime` for a module whose clock is to be the loop's; `loop` is the one that runs."""

    loop: VirtualLoop

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return cls.loop.now().astimezone(tz)


def finish(loop: VirtualLoop) -> None:
    """Cancel what is left, and close the loop."""
    for _ in range(ROUNDS):
        if tasks := asyncio.all_tasks(loop):
            for task in tasks:
                task.cancel()
            loop.run_until_complete(asyncio.wait(tasks, timeout=1))
    assert not asyncio.all_tasks(loop), asyncio.all_tasks(loop)
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
