"""A cache that keeps itself current: between the API server and every reconcile loop.

List, then watch, as a state machine over two facts, the resourceVersion reached and whether the
server streams lists:

    reached  streams lists   next
    no       yes             WatchList: one request that lists, says it is complete, and goes on
    no       no              paged LIST; its version is reached
    yes      -               watch from there; at its end or a broken connection, again from there
    too old, or mute         not reached: a new list, whose lack of an object is its deletion
"""

from __future__ import annotations

import asyncio
import gc
import logging
import random
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import TypeVar

from elasticgpu.api.meta import KubeObject
from elasticgpu.errors import ApiError, Expired, Invalid, Unavailable

from .backoff import jittered
from .client import Client, selectors
from .status import Json
from .store import Change, Index, Store

__all__ = ["Change", "Informer"]

log = logging.getLogger(__name__)
T = TypeVar("T", bound=KubeObject)
Events = AsyncGenerator[tuple[str, Json], None]

WATCH_SECONDS = (240, 480)
"""How long one watch lasts; at random, so that the watches of a process do not end together."""
SILENCE = 15.0
"""Seconds without an event after which a list that should stream is taken for one that cannot."""
MUTE = 150.0
"""Seconds after which a watch without one event or bookmark is suspect. A server sends a bookmark
every minute, but none, and no error either, for a version it has not reached: one from before etcd
was restored from a backup."""
FAILURES = 5
"""Watches in a row that the server refuses before the version itself is doubted: list anew."""
WATCH_LIST = {
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "allowWatchBookmarks": "true",
}
COMPLETE = "k8s.io/initial-events-end"
"""Annotation, written by the server on the bookmark after the last object of a streamed list."""


class Informer(Store[T]):
    """All objects of a kind that match the selectors, kept current while `run` runs.

    `indexes` name functions from an object to the values it is found under by `by_index`.
    """

    def __init__(
        self,
        client: Client,
        kind: type[T],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        indexes: Mapping[str, Index[T]] | None = None,
        read: Callable[[Json], T] | None = None,
    ) -> None:
        super().__init__(kind, indexes, read)
        self._client = client
        self._namespace = namespace
        self._selectors = selectors(label_selector, field_selector)
        self._streams_lists = True
        self._reached = ""
        self._failures = 0
        self._synced = asyncio.Event()

    @property
    def has_synced(self) -> bool:
        """The first list is in the cache."""
        return self._synced.is_set()

    async def synced(self) -> None:
        """Wait for the first list. For ever, if `run` is not running."""
        await self._synced.wait()

    async def create(self, obj: T) -> T:
        """Create it; the cache shows the answer at once. Raises as `Client.create`."""
        return self.answered(await self._client.post(obj))

    async def write(self, obj: T, subresource: str = "") -> T:
        """Write it by compare-and-swap; the cache shows the answer at once. Raises as
        `Client.replace`."""
        return self.answered(await self._client.put(obj, subresource))

    async def run(self) -> None:
        """Keep the cache current until cancelled, through whatever the server answers."""
        while True:
            try:
                await self._step()
            except Expired as error:
                log.info("%s: listing anew: %s", self.kind.__name__, error)
                await self._pause()
                self._reached = ""
            except ApiError as error:
                await self._pause(error)

    async def _step(self) -> None:
        if self._reached:
            await self._watch()
        elif self._streams_lists:
            await self._watch_list()
        else:
            await self._list()

    async def _pause(self, error: ApiError | None = None) -> None:
        self._failures += 1
        if error is not None:
            level = logging.WARNING if self._failures > 1 else logging.INFO
            log.log(level, "%s: %s; trying again", self.kind.__name__, error)
        if error is not None and error.status and self._failures >= FAILURES:
            self._reached = ""
        asked = (error.retry_after if error else None) or 0.0
        await asyncio.sleep(asked + jittered(self._failures, base=0.2, cap=30.0))

    async def _list(self) -> None:
        with _collector_paused(not self.has_synced):
            items, version = await self._read_pages(500)
            self._filled(items, version)

    async def _read_pages(self, page: int) -> tuple[list[Json], str]:
        items: list[Json] = []
        version = ""
        pages = self._client.pages(
            self.kind, namespace=self._namespace, params=self._selectors, page=page
        )
        try:
            async for body in pages:
                items += body["items"]
                version = body["metadata"]["resourceVersion"]
        except Expired:
            if not page:
                raise
            return await self._read_pages(0)  # the rest is gone: all at once, as of one version
        return items, version

    async def _watch_list(self) -> None:
        events = self._events(WATCH_LIST)
        async with aclosing(events):
            try:
                with _collector_paused(not self.has_synced):
                    self._filled(*await self._read_initial(events))
            except (Invalid, Unavailable, TimeoutError) as error:
                if isinstance(error, Unavailable) and error.status == 0:
                    raise  # the connection broke; that says nothing about the server's abilities
                log.debug("%s: lists are not streamed: %s", self.kind.__name__, error)
                self._streams_lists = False
                return
            await self._follow(events)

    async def _read_initial(self, events: Events) -> tuple[list[Json], str]:
        items: list[Json] = []
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(SILENCE) as silence:
            async for kind, obj in events:
                silence.reschedule(loop.time() + SILENCE)
                if kind != "BOOKMARK":
                    items.append(obj)
                elif obj["metadata"].get("annotations", {}).get(COMPLETE) == "true":
                    return items, obj["metadata"]["resourceVersion"]
        raise Unavailable(0, "Incomplete", "the stream ended before the list did")

    def _filled(self, items: list[Json], version: str) -> None:
        self.replace(items, int(version))
        self._reached, self._failures = version, 0
        self._synced.set()

    async def _watch(self) -> None:
        started = asyncio.get_running_loop().time()
        events = self._events({"resourceVersion": self._reached, "allowWatchBookmarks": "true"})
        async with aclosing(events):
            heard = await self._follow(events)
        lasted = asyncio.get_running_loop().time() - started
        if not heard and lasted < 1.0:
            raise Unavailable(0, "TooShort", "the watch ended at once, without an event")
        if not heard and lasted > MUTE:
            log.info("%s: not even a bookmark came; listing anew", self.kind.__name__)
            self._reached = ""

    async def _follow(self, events: Events) -> bool:
        """Take in events until the stream ends; whether there was one."""
        heard = False
        async for kind, obj in events:
            heard, self._failures = True, 0
            if kind in ("ADDED", "MODIFIED"):
                self.put(obj)
            elif kind == "DELETED":
                self.gone(obj)
            self._reached = obj["metadata"]["resourceVersion"]
            self.reached(int(self._reached))
        return heard

    def _events(self, params: Mapping[str, str]) -> Events:
        return self._client.watch(
            self.kind,
            namespace=self._namespace,
            params={**self._selectors, **params},
            seconds=random.randint(*WATCH_SECONDS),
        )


_loading = 0


@contextmanager
def _collector_paused(wanted: bool) -> Iterator[None]:
    """No garbage collection while a first list is loaded: it would walk the growing heap over and
    over, for eight times the work. What was loaded is then exempt from later walks."""
    global _loading
    if not wanted or not (_loading or gc.isenabled()):
        yield  # not a first list, or the process has the collector off for reasons of its own
        return
    _loading += 1
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        _loading -= 1
        if not _loading:
            gc.enable()
