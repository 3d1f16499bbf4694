"""Watches: what happens to the objects of a selection, from a version on.

A watch costs nothing while nothing happens. Its times, end and bookmarks, are the event loop's.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any

from elasticgpu.cluster.transport import dumps

from .kinds import Kind
from .listing import number, selected, whole
from .refusal import bad_options, expired
from .selecting import Selects, selector
from .store import Change, Entry, Event, Store

BOOKMARKS_EVERY = 60.0
LAST_BOOKMARK = 2.0
"""Seconds before the end of a watch."""
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_LONGEST = 1800

Encode = Callable[[Change, Entry], bytes]
"""An event as a line of the answer."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a watch was asked to be."""

    kind: Kind
    namespace: str
    selects: Selects | None
    version: int
    """Events after this one; 0: begin with all there is."""
    initial: bool
    ends_initial: bool
    bookmarks: bool
    seconds: float

    @classmethod
    def read(cls, kind: Kind, namespace: str, query: dict[str, str]) -> Wanted:
        """From the query of a request. Raises Refusal."""
        text = query.get("resourceVersion", "")
        asks = query.get("sendInitialEvents", "")
        initial = asks in ("true", "1")
        bookmarks = query.get("allowWatchBookmarks", "") in ("true", "1")
        _check(query.get("resourceVersionMatch", ""), asks)
        selects = selector(kind, query.get("labelSelector", ""), query.get("fieldSelector", ""))
        return cls(
            kind=kind,
            namespace=namespace,
            selects=selects,
            version=number(text),
            initial=initial or (not asks and number(text) == 0),
            ends_initial=initial and bookmarks,
            bookmarks=bookmarks,
            seconds=whole(query, "timeoutSeconds") or _LONGEST,
        )


def _check(match: str, initial: str) -> None:
    if initial and match != "NotOlderThan":
        text = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
    elif match and not initial:
        text = (
            "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
            "provided"
        )
    else:
        return
    raise bad_options("ListOptions", "resourceVersionMatch", text)


class Watch:
    """One watch, from its first event to its end; `lines` is its answer."""

    def __init__(self, store: Store, wanted: Wanted, encode: Encode | None = None) -> None:
        self._store = store
        self._table = store.table(wanted.kind.table)
        self._wanted = wanted
        self._encode = encode
        self._waiting: deque[bytes] = deque()
        self._wake: asyncio.Future[None] | None = None
        self._over = False
        self._begin()

    def _begin(self) -> None:
        """Take in what is already known; whatever comes now is heard by `_hear`."""
        wanted = self._wanted
        if not wanted.initial and wanted.version and wanted.version < self._table.forgotten:
            self._fail_old()
            return
        if wanted.initial:
            for _, entry in selected(
                self._table, self._store.version, wanted.namespace, wanted.selects
            ):
                self._waiting.append(self._line("ADDED", entry))
            if wanted.ends_initial:
                self._waiting.append(self._bookmark({INITIAL_EVENTS_END: "true"}))
        elif wanted.version:
            for event in self._table.log:
                self._hear(event)
        self._table.listeners[self._hear] = None

    def _fail_old(self) -> None:
        message = f"too old resource version: {self._wanted.version} ({self._table.forgotten})"
        line = {"type": "ERROR", "object": expired(message).status()}
        self._waiting.append(dumps(line) + b"\n")
        self.end()

    def end(self) -> None:
        """End it once what is waiting was read."""
        self._over = True
        self._table.listeners.pop(self._hear, None)
        self._stir()

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Chunks of whole lines, until the end."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + self._wanted.seconds
        marks = self._next_mark(loop.time(), ends)
        try:
            while True:
                if self._waiting:
                    chunk = b"".join(self._waiting)
                    self._waiting.clear()
                    yield chunk
                elif self._over or loop.time() >= ends:
                    return
                elif loop.time() >= marks:
                    self._waiting.append(self._bookmark({}))
                    marks = self._next_mark(marks, ends)
                else:
                    await self._something(min(marks, ends) - loop.time())
        finally:
            self.end()

    def _next_mark(self, after: float, ends: float) -> float:
        """When the next bookmark is due."""
        if not self._wanted.bookmarks or after >= ends - LAST_BOOKMARK:
            return ends
        return min(after + BOOKMARKS_EVERY, ends - LAST_BOOKMARK)

    async def _something(self, seconds: float) -> None:
        """Wait for an event, the end, or that long."""
        loop = asyncio.get_running_loop()
        self._wake = loop.create_future()
        timer = loop.call_later(seconds, self._stir)
        try:
            await self._wake
        finally:
            timer.cancel()
            self._wake = None

    def _stir(self) -> None:
        if self._wake and not self._wake.done():
            self._wake.set_result(None)

    def _hear(self, event: Event) -> None:
        """Take an event in, as this selection sees it: what leaves it is deleted from it."""
        wanted = self._wanted
        if wanted.namespace not in ("", event.key[0]) or event.version <= wanted.version:
            return
        selects = wanted.selects
        if selects is None:
            line = self._shared(event)
        else:
            was = event.before is not None and selects(event.before.body)
            now = event.change != "DELETED" and selects(event.entry.body)
            if not was and not now:
                return
            line = self._seen(event, was, now)
        self._waiting.append(line)
        self._stir()

    def _seen(self, event: Event, was: bool, now: bool) -> bytes:
        if was and not now and event.change != "DELETED":
            assert event.before is not None  # it was there
            meta = {**event.before.body["metadata"], "resourceVersion": str(event.version)}
            return self._line(
                "DELETED", Entry({**event.before.body, "metadata": meta}, event.version)
            )
        change: Change = "ADDED" if not was else event.change
        return self._shared(event) if change == event.change else self._line(change, event.entry)

    def _shared(self, event: Event) -> bytes:
        """The event's line, made once for all watches of the same version."""
        if self._encode:
            return self._encode(event.change, event.entry)
        name = self._wanted.kind.resource.api_version
        if name not in event.lines:
            event.lines[name] = self._line(event.change, event.entry)
        return event.lines[name]

    def _line(self, change: Change, entry: Entry) -> bytes:
        if self._encode:
            return self._encode(change, entry)
        encoded = self._wanted.kind.encoded(entry)
        return b'{"type":"%s","object":%s}\n' % (change.encode(), encoded)

    def _bookmark(self, annotations: dict[str, str]) -> bytes:
        meta: dict[str, Any] = {"resourceVersion": str(self._store.version)}
        if annotations:
            meta["annotations"] = annotations
        obj = {**self._wanted.kind.head, "metadata": meta}
        return dumps({"type": "BOOKMARK", "object": obj}) + b"\n"
