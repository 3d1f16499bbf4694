"""Objects by key, each write numbered, and the log of what was written last.

One version counts every write of every kind, as etcd's revision does. Bodies are never changed
once they are stored, so that readers, the log and encoded bytes can share them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from elasticgpu.api.meta import Key
from elasticgpu.cluster.transport import dumps

Json = dict[str, Any]
Change = Literal["ADDED", "MODIFIED", "DELETED"]

REMEMBERED = 10_000
"""So many writes of one kind are kept for watches to resume from."""


@dataclass(frozen=True)
class Entry:
    """An object as one write left it."""

    body: Json
    version: int

    @cached_property
    def raw(self) -> bytes:
        """Its JSON, encoded once for all who read it."""
        return dumps(self.body)


@dataclass(frozen=True)
class Event:
    """One write: the object after it (for DELETED, as it was last), and before it if it was."""

    version: int
    change: Change
    key: Key
    entry: Entry
    before: Entry | None
    lines: dict[str, bytes] = field(default_factory=dict, compare=False)
    """This write as a line of a watch, by API version: encoded once for all who watch."""


Listener = Callable[[Event], None]


class Table:
    """The objects of one kind, and their last writes."""

    def __init__(self, remembered: int, since: int) -> None:
        self.entries: dict[Key, Entry] = {}
        self.log: deque[Event] = deque(maxlen=remembered)
        self.listeners: dict[Listener, None] = {}
        self.forgotten = since
        """The newest version that the log does not tell of."""

    def record(self, event: Event) -> None:
        """Take the write in, and tell everybody who listens."""
        if event.change == "DELETED":
            del self.entries[event.key]
        else:
            self.entries[event.key] = event.entry
        if len(self.log) == self.log.maxlen:
            self.forgotten = self.log[0].version
        self.log.append(event)
        for listener in list(self.listeners):
            listener(event)

    def at(self, version: int) -> dict[Key, Entry]:
        """The objects as they were at that version, which must not be forgotten."""
        found = dict(self.entries)
        for event in reversed(self.log):
            if event.version <= version:
                break
            if event.before is None:
                found.pop(event.key, None)
            else:
                found[event.key] = event.before
        return found


class Store:
    """All tables, and the one version. Every method is done at once: nothing here waits."""

    def __init__(self, *, remembered: int = REMEMBERED, version: int = 1) -> None:
        self.version = version
        self._began = version
        self._remembered = remembered
        self._tables: dict[str, Table] = {}
        self._listeners: list[Callable[[str, Event], None]] = []

    def table(self, name: str) -> Table:
        """The table of that name."""
        if name not in self._tables:
            self._tables[name] = Table(self._remembered, self._began)
        return self._tables[name]

    def listen(self, listener: Callable[[str, Event], None]) -> None:
        """Have every write told, with the name of its table."""
        self._listeners.append(listener)

    def get(self, table: str, key: Key) -> Entry | None:
        """The object, if it is there."""
        return self.table(table).entries.get(key)

    def put(self, table: str, key: Key, body: Json) -> Entry:
        """Store it under the next version, which is written into it."""
        before = self.get(table, key)
        entry = self._numbered(body)
        change: Change = "MODIFIED" if before else "ADDED"
        self._record(table, Event(entry.version, change, key, entry, before))
        return entry

    def remove(self, table: str, key: Key) -> Entry:
        """Take it out; its last state bears the version of its end."""
        before = self.table(table).entries[key]
        entry = self._numbered(before.body)
        self._record(table, Event(entry.version, "DELETED", key, entry, before))
        return entry

    def _record(self, table: str, event: Event) -> None:
        self.table(table).record(event)
        for listener in self._listeners:
            listener(table, event)

    def forget(self, table: str) -> None:
        """Drop what the log knows of the past, as compaction does: older watches get a 410."""
        found = self.table(table)
        found.forgotten = self.version
        found.log.clear()

    def _numbered(self, body: Json) -> Entry:
        self.version += 1
        metadata = {**body["metadata"], "resourceVersion": str(self.version)}
        return Entry({**body, "metadata": metadata}, self.version)
