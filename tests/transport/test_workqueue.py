"""The queue: what is run when, how often, and never twice at once. All in virtual time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from elasticgpu.cluster.workqueue import WorkQueue
from elasticgpu.errors import Conflict, Forbidden, NotFound, Refused, Retry, Throttled

pytestmark = pytest.mark.looptime
Queue = WorkQueue[str]


@asynccontextmanager
async def served(
    queue: Queue, reconcile: Callable[[str], Awaitable[None]], workers: int = 1
) -> AsyncIterator[None]:
    """The queue, served until the block ends."""
    task = asyncio.create_task(queue.run(reconcile, workers))
    try:
        yield
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


def now() -> float:
    return asyncio.get_running_loop().time()


class Log:
    """A reconcile that notes when it was asked what, and raises what it is told to."""

    def __init__(self, *errors: Exception | None, takes: float = 0.0) -> None:
        self.keys: list[str] = []
        self.times: list[float] = []
        self.errors = list(errors)
        self.takes = takes

    async def __call__(self, key: str) -> None:
        self.keys.append(key)
        self.times.append(now())
        await asyncio.sleep(self.takes)
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error

    @property
    def gaps(self) -> list[float]:
        return [round(b - a, 6) for a, b in pairwise(self.times)]


async def test_added_often_is_done_once() -> None:
    """A key added several times before its turn is reconciled once; others in order of arrival."""
    queue, log = Queue(), Log()
    for key in ["a", "b", "a", "c", "b"]:
        queue.add(key)
    assert len(queue) == 3
    async with served(queue, log):
        await queue.idle()
    assert log.keys == ["a", "b", "c"]


async def test_never_twice_at_once_and_never_lost() -> None:
    """A key added while it is in work runs again afterwards, though other workers are free."""
    queue, log = Queue(), Log(takes=1.0)
    async with served(queue, log, workers=4):
        queue.add("a")
        await asyncio.sleep(0.5)
        queue.add("a")
        queue.add("a")
        await queue.idle()
    assert (log.keys, log.gaps) == (["a", "a"], [1.0])


async def test_workers_work_at_the_same_time() -> None:
    """Different keys share the time."""
    queue, log = Queue(), Log(takes=1.0)
    for key in "abcd":
        queue.add(key)
    async with served(queue, log, workers=4):
        await queue.idle()
    assert set(log.gaps) == {0.0}


async def test_higher_priority_first() -> None:
    """Priority decides, then arrival; adding again may raise a key, never lower it."""
    queue, log = Queue(), Log()
    for key, priority in [("a", 0), ("b", 0), ("c", 5), ("d", 5), ("b", 9), ("c", 0)]:
        queue.add(key, priority)
    async with served(queue, log):
        await queue.idle()
    assert log.keys == ["b", "c", "d", "a"]


async def test_the_highest_priority_of_a_repetition_counts() -> None:
    """A key added twice while in work comes back with the higher of the two priorities."""
    queue, log = Queue(), Log(takes=1.0)
    async with served(queue, log):
        queue.add("a")
        await asyncio.sleep(0.5)
        for key, priority in [("a", 5), ("a", 0), ("b", 3)]:
            queue.add(key, priority)
        await queue.idle()
    assert log.keys == ["a", "a", "b"]


async def test_errors_are_repeated_later_each_time() -> None:
    """From 5 ms, doubled each time with jitter, to a minute; success starts from the beginning."""
    queue, log = Queue(), Log(*[RuntimeError() for _ in range(20)])
    queue.add("a")
    async with served(queue, log):
        await queue.idle(within=60.0)
        assert len(log.keys) == 21
        for number, gap in enumerate(log.gaps, 1):
            full = min(60.0, 0.005 * 2 ** (number - 1))
            assert full / 2 <= gap <= full + 0.001
        log.errors = [RuntimeError()]
        queue.add("a")
        await queue.idle(within=60.0)
        assert log.gaps[-1] <= 0.006


async def test_other_keys_do_not_wait_for_a_failing_one() -> None:
    """Backoff is per key."""
    queue, log = Queue(), Log(*[RuntimeError() for _ in range(15)])
    queue.add("bad")
    async with served(queue, log):
        await queue.idle(within=1.0)
        started = now()
        queue.add("good")
        await queue.idle()
        assert log.keys[-1] == "good"
        assert now() - started < 0.01


async def test_retry_says_when() -> None:
    """Retry(after) repeats after exactly that, does not grow, and forgets earlier failures."""
    queue = Queue()
    log = Log(RuntimeError(), Retry("x", 30), Retry("x", 30), RuntimeError())
    queue.add("a")
    async with served(queue, log):
        await queue.idle(within=60.0)
    assert log.gaps[1:3] == [30, 30]
    assert log.gaps[3] <= 0.006


async def test_retry_after_of_the_server_is_the_least() -> None:
    """A 429 with Retry-After is not repeated before that."""
    queue, log = Queue(), Log(Throttled(429, "TooManyRequests", "busy", retry_after=20))
    queue.add("a")
    async with served(queue, log):
        await queue.idle(within=60.0)
    assert log.gaps == [20]


async def test_an_event_does_not_wait_for_the_backoff() -> None:
    """A key that is added while it is backing off is reconciled at once."""
    queue, log = Queue(), Log(Retry("x", 100))
    queue.add("a")
    async with served(queue, log):
        await queue.idle()
        await asyncio.sleep(1)
        queue.add("a")
        await queue.idle()
        assert log.gaps == [1]


async def test_the_shortest_delay_counts() -> None:
    """Of several delays of one key the earliest runs it, once."""
    queue, log = Queue(), Log()
    async with served(queue, log):
        started = now()
        for seconds in (50, 10, 30):
            queue.add_after("a", seconds)
        await queue.idle(within=100)
        assert log.times == [pytest.approx(started + 10)]
        queue.add_after("b", 0)
        await queue.idle()
        assert log.keys == ["a", "b"]


async def test_idle_looks_only_so_far_ahead() -> None:
    """What is due later than asked for counts as idle."""
    queue, log = Queue(), Log()
    queue.add_after("a", 10)
    async with served(queue, log):
        await queue.idle(within=9)
        assert log.keys == []
        await queue.idle(within=11)
        assert log.keys == ["a"]


@pytest.mark.parametrize(
    ("error", "level", "trace"),
    [
        (Retry("later"), logging.DEBUG, False),
        (Conflict(409, "Conflict", "stale"), logging.DEBUG, False),
        (NotFound(404, "NotFound", "gone"), logging.DEBUG, False),
        (Forbidden(403, "Forbidden", "rbac"), logging.WARNING, False),
        (Refused("no"), logging.WARNING, False),
        (ZeroDivisionError(), logging.ERROR, True),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
async def test_how_loud_an_error_is(
    caplog: pytest.LogCaptureFixture, error: Exception, level: int, trace: bool
) -> None:
    """What is normal is debug, what a person should see is one line, a bug has its traceback."""
    caplog.set_level(logging.DEBUG, "elasticgpu")
    queue = Queue("binder")
    queue.add("a")
    async with served(queue, Log(error)):
        await queue.idle()
    (record,) = [r for r in caplog.records if r.name.startswith("elasticgpu")]
    assert (record.levelno, bool(record.exc_info)) == (level, trace)
    assert record.getMessage().startswith("binder a")


async def test_cancelling_stops_the_reconcile_under_way() -> None:
    """Cancellation goes through to the reconcile and out of `run`."""
    queue, stopped = Queue(), asyncio.Event()

    async def reconcile(key: str) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            stopped.set()

    queue.add("a")
    async with served(queue, reconcile):
        await asyncio.sleep(1)
    assert stopped.is_set()
