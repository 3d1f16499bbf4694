"""The plugin's process as the suite has it in hand: its steps counted, stopped at any of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Any, Generic, TypeVar, cast

from elasticgpu.errors import Retry, Working
from elasticgpu.host import Host

T = TypeVar("T")

PATIENT_TRIES = 100
"""Times that a call is asked again which says that it needs more time."""

PATIENCE = 60.0
"""Seconds after which a call that nothing holds up is taken to hang."""


class Crash(BaseException):
    """The process is gone: whatever the plugin still tries fails."""


class Life:
    """One life of the process in which a plugin runs, counted in its calls of the node.

    Before the call number `at`, counted from 0, it meets an error, and never recovers from it if
    that is `for_good`. None: it meets none.
    """

    def __init__(
        self, at: int | None = None, error: BaseException | None = None, *, for_good: bool = False
    ) -> None:
        self._at, self._error, self._for_good = at, error, for_good
        self._steps = 0

    @property
    def met(self) -> bool:
        """Whether it came as far as the error."""
        return self._at is not None and self._steps > self._at

    def step(self) -> None:
        """The plugin calls the node once more. Raises what it meets there."""
        self._steps += 1
        if self._error and self.met and (self._for_good or self._steps == (self._at or 0) + 1):
            raise self._error


class _Watched:
    """Something of the node, each call of which is a step; one that is awaited lets others run."""

    def __init__(self, target: object, life: Life) -> None:
        self._target, self._life = target, life

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if name in ("files", "nvml"):
            return _Watched(found, self._life)
        if iscoroutinefunction(found):
            return partial(self._await, found)
        return wraps(found)(partial(self._call, found)) if callable(found) else found

    def _call(self, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        self._life.step()
        return call(*args, **options)

    async def _await(self, call: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
        await asyncio.sleep(0)
        self._life.step()
        answer = await call(*args, **options)
        await asyncio.sleep(0)
        return answer


def watched(host: Host, life: Life) -> Host:
    """The same node; what is called of it are steps of this life."""
    return cast(Host, _Watched(host, life))


class Cancelled(Generic[T]):
    """Work that is cancelled where it waits for the time number `at`, counted from 0; None: never.

    `waits` is how often it has waited so far.
    """

    def __init__(self, work: Coroutine[Any, Any, T], at: int | None = None) -> None:
        self._work = work
        self._at = at
        self.waits = 0

    def __await__(self) -> Generator[Any, None, T]:
        inner = self._work.__await__()
        go_on: Callable[[], Any] = partial(next, inner)
        try:
            while True:
                future = go_on()
                if self.waits == self._at:
                    cast(asyncio.Task[T], asyncio.current_task()).cancel()
                self.waits += 1
                try:
                    yield future
                except BaseException as error:
                    go_on = partial(inner.throw, error)
                else:
                    go_on = partial(next, inner)
        except StopIteration as end:
            return cast(T, end.value)


def cancelled(work: Coroutine[Any, Any, object], at: int, what: str) -> bool:
    """Cancel a call of the plugin at this wait of it; whether it came so far."""
    counted = Cancelled(work, at)
    try:
        run(counted)
    except asyncio.CancelledError:
        return True
    except Exception as error:
        raise AssertionError(
            f"A call that is cancelled ends: {what}, cancelled at its wait number {at + 1}, "
            f"raised {error!r} instead of letting the cancellation go on"
        ) from error
    assert counted.waits <= at, (
        f"A call that is cancelled ends: {what}, cancelled at its wait number {at + 1}, went on "
        "to its end as if nothing had been"
    )
    return False


def insist(ask: Callable[[], Awaitable[T]]) -> T:
    """The answer, asked for again while it is Retry or Working, as controller and agent do."""
    for _ in range(PATIENT_TRIES):
        try:
            return run(ask())
        except (Retry, Working) as error:
            last = error
    raise AssertionError(f"Retry and Working have an end: {PATIENT_TRIES} times it was {last!r}")


def run(work: Awaitable[T]) -> T:
    """What it answers or raises, on an event loop of its own."""
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(_bounded(work))


async def _bounded(work: Awaitable[T]) -> T:
    task = asyncio.ensure_future(_awaited(work))
    done, _ = await asyncio.wait({task}, timeout=PATIENCE)
    if not done:
        task.cancel()
        raise AssertionError(f"A call comes to an end: this one hangs, after {PATIENCE:.0f} s")
    return task.result()


async def _awaited(work: Awaitable[T]) -> T:
    return await work
