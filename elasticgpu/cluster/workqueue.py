"""Which keys are to be reconciled, and when: between the informers' changes and the loops.

add ──► queued ──► processing ──► done, forgotten
          ▲            │ added meanwhile: queued again when done
          └─ delayed ◄─┘ failed: later each time; or as long as the reconcile asks for
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from itertools import count
from typing import Generic, TypeVar

from elasticgpu.errors import ApiError, Conflict, ElasticGPUError, NotFound, Retry

from .backoff import jittered

log = logging.getLogger(__name__)
K = TypeVar("K", bound=Hashable)

BASE, CAP = 0.005, 60.0
"""Seconds until the first repeat after an error, and at most."""


class WorkQueue(Generic[K]):
    """Keys, each at most once in the queue and at most once in work.

    Higher `priority` first; equal ones in the order they came. `name` is for the log.
    """

    def __init__(self, name: str = "queue") -> None:
        self.name = name
        self._order = count()
        self._ready: asyncio.PriorityQueue[tuple[int, int, K]] = asyncio.PriorityQueue()
        self._queued: dict[K, tuple[int, int]] = {}
        self._processing: dict[K, int] = {}
        self._again: dict[K, int] = {}
        self._delayed: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, int] = {}
        self._moved = asyncio.Event()

    def __len__(self) -> int:
        """How many keys wait for a worker; delayed ones do not."""
        return len(self._queued)

    def add(self, key: K, priority: int = 0) -> None:
        """Have `key` reconciled after this moment, once, however often it is added until then."""
        if key in self._processing:
            self._again[key] = max(priority, self._again.get(key, priority))
        elif key not in self._queued or -self._queued[key][0] < priority:
            place = (-priority, next(self._order))
            self._queued[key] = place  # an earlier, lower place stays behind and is passed over
            self._ready.put_nowait((*place, key))

    def add_after(self, key: K, seconds: float, priority: int = 0) -> None:
        """The same, in so many seconds. Of several delays of a key the shortest counts."""
        loop = asyncio.get_running_loop()
        if seconds <= 0:
            return self.add(key, priority)
        pending = self._delayed.get(key)
        if pending is not None and pending.when() <= loop.time() + seconds:
            return None
        if pending is not None:
            pending.cancel()
        self._delayed[key] = loop.call_later(seconds, self._due, key, priority)
        return None

    async def run(self, reconcile: Callable[[K], Awaitable[None]], workers: int = 1) -> None:
        """Reconcile keys, `workers` at once, until cancelled.

        What `reconcile` raises decides: Retry(after) repeats it then; Conflict and NotFound soon,
        the cache being behind; any other error later each time, up to a minute.
        """
        async with asyncio.TaskGroup() as group:
            for number in range(workers):
                group.create_task(self._work(reconcile), name=f"{self.name}-{number}")

    async def idle(self, within: float = 0.0) -> None:
        """Wait until nothing is queued, in work, or due within so many seconds. For tests."""
        while self._busy(within):
            self._moved.clear()
            await self._moved.wait()

    def _busy(self, within: float) -> bool:
        soon = asyncio.get_running_loop().time() + within
        due = any(timer.when() <= soon for timer in self._delayed.values())
        return due or bool(self._queued or self._processing)

    def _due(self, key: K, priority: int) -> None:
        del self._delayed[key]
        self.add(key, priority)

    async def _work(self, reconcile: Callable[[K], Awaitable[None]]) -> None:
        while True:
            rank, order, key = await self._ready.get()
            if self._queued.get(key) != (rank, order):
                continue  # it has been served from a higher place
            del self._queued[key]
            self._processing[key] = -rank
            try:
                await self._reconcile(reconcile, key)
            finally:
                self._finish(key)

    def _finish(self, key: K) -> None:
        del self._processing[key]
        if key in self._again:
            self.add(key, self._again.pop(key))
        self._moved.set()

    async def _reconcile(self, reconcile: Callable[[K], Awaitable[None]], key: K) -> None:
        try:
            await reconcile(key)
        except Retry as error:
            self._failures.pop(key, None)
            log.debug("%s %s: %s; again in %.1f s", self.name, key, error, error.after)
            self.add_after(key, error.after, self._processing[key])
        except (Conflict, NotFound) as error:
            log.debug("%s %s: %s", self.name, key, error)
            self._back_off(key, error)
        except ElasticGPUError as error:
            log.warning("%s %s: %s", self.name, key, error)
            self._back_off(key, error)
        except Exception as error:
            log.exception("%s %s: failed", self.name, key)
            self._back_off(key, error)
        else:
            self._failures.pop(key, None)

    def _back_off(self, key: K, error: Exception) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        asked = (error.retry_after if isinstance(error, ApiError) else None) or 0.0
        wait = max(asked, jittered(failures, base=BASE, cap=CAP))
        self.add_after(key, wait, self._processing[key])
