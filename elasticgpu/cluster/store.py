"""An indexed cache of one kind, as of some resourceVersion: what every decision reads.

Two sources write it: the watch stream, and the answers to our own writes, which may overtake the
stream or lag behind it. resourceVersions, compared as numbers, say which of two is newer.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import ValidationError

from elasticgpu.api.meta import Key, KubeObject

from .client import describe, lean, parse
from .status import Json

log = logging.getLogger(__name__)
T = TypeVar("T", bound=KubeObject)

Index = Callable[[T], Iterable[Hashable]]
Rows = list[tuple[str, Hashable]]


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """One object before and after: `old` is None for a new one, `new` is None for a gone one.

    An object deleted and made anew under its name arrives as two changes, never as one.
    """

    old: T | None
    new: T | None


Handler = Callable[[Change[T]], None]


class Store(Generic[T]):
    """Objects by key and by index; frozen models, parsed once per version.

    Models are parsed on arrival: indexes and handlers need them then. What is already known, the
    echo of an own write or the unchanged part of a new list, is never parsed again. `read` may keep
    less of an object than its kind would, where there are many.
    """

    def __init__(
        self,
        kind: type[T],
        indexes: Mapping[str, Index[T]] | None = None,
        read: Callable[[Json], T] | None = None,
    ) -> None:
        self.kind = kind
        self._model = read or kind.model_validate
        self.version = 0
        """How far the stream has come: every older event has been seen."""
        self.unreadable: dict[Key, str] = {}
        """Objects whose newest version does not parse, and why; an older one may be cached."""
        self._objects: dict[Key, T] = {}
        self._indexers = dict(indexes or {})
        self._rows: dict[str, dict[Hashable, dict[Key, T]]] = {
            name: defaultdict(dict) for name in self._indexers
        }
        self._handlers: list[Handler[T]] = []
        self._tombstones: dict[str, int] = {}

    def get(self, key: Key) -> T | None:
        """The object, or None."""
        return self._objects.get(key)

    def values(self) -> list[T]:
        """All objects."""
        return list(self._objects.values())

    def by_index(self, name: str, value: Hashable) -> list[T]:
        """The objects that have this value in that index; costs as much as there are."""
        return list(self._rows[name].get(value, {}).values())

    def subscribe(self, handler: Handler[T]) -> None:
        """Call `handler` for what is cached now, and synchronously for every change after it.

        A handler that raises is logged and does not stop the stream.
        """
        self._handlers.append(handler)
        for obj in self.values():
            self._call(handler, Change(None, obj))

    def observed(self, obj: T) -> None:
        """Take in the answer to an own create or write, at once and ahead of its event.

        Only for objects that this cache selects. An answer that arrives after the stream has
        reported something newer, the object's end included, changes nothing.
        """
        known = self._objects.get(obj.key)
        if known is None and version_of(obj) <= self.version:
            return  # the stream has passed this version and shows no such object: it is gone
        if self._is_news(obj.key, obj.uid, version_of(obj)):
            self._put(obj)

    def answered(self, raw: Json) -> T:
        """The same for the raw answer; the object. Raises Refused if it does not parse.

        If its event came first, what that showed is known already and is not parsed again.
        """
        key, uid, version = _identify(raw)
        known = self._objects.get(key)
        meta = raw["metadata"]
        if meta.get("deletionTimestamp") and not meta.get("finalizers"):
            gone = parse(self.kind, raw)  # it went with its last finalizer
            self.deleted(gone)
            return gone
        if known is not None and known.uid == uid and version_of(known) == version:
            return known
        new = parse(self.kind, raw)
        self.observed(new)
        return new

    def deleted(self, obj: T) -> None:
        """Take in an own delete that was accepted for this version.

        Events up to that version do not bring it back; a later one does: a finalizer keeps it.
        """
        self._tombstones[obj.uid] = version_of(obj)
        known = self._objects.get(obj.key)
        if known is not None and known.uid == obj.uid and version_of(known) <= version_of(obj):
            self._drop(known)

    def put(self, raw: Json) -> None:
        """Take in an object as the stream shows it, unless something newer is known."""
        key, uid, version = _identify(raw)
        if self._is_news(key, uid, version):
            self._read(key, raw)

    def gone(self, raw: Json) -> None:
        """Take in a DELETED event."""
        key, uid, version = _identify(raw)
        self._tombstones.pop(uid, None)
        self.unreadable.pop(key, None)
        known = self._objects.get(key)
        if known is not None and version_of(known) <= version:
            self._drop(known)

    def reached(self, version: int) -> None:
        """The stream has come this far; tombstones of older versions have done their work."""
        self.version = version
        self._tombstones = {uid: v for uid, v in self._tombstones.items() if v > version}

    def replace(self, raws: Iterable[Json], version: int) -> None:
        """Take in a complete list as of `version`; what it lacks is gone, unless it is newer.

        What is known in just that version is told again, as its own successor: so that whatever
        was missed since the last list is made up for. (The echo of an own write is not: it comes
        with every write, and nothing can have been missed.)
        """
        back = version < self.version
        if back:  # etcd was restored from a backup: what is known is not newer, but undone
            log.warning("%s: the server's history went back", self.kind.__name__)
            self._tombstones.clear()
        seen = set()
        for raw in raws:
            key, uid, its = _identify(raw)
            seen.add(key)
            known = self._objects.get(key)
            if back or self._is_news(key, uid, its):
                self._read(key, raw)
            elif known is not None and (known.uid, version_of(known)) == (uid, its):
                self._tell(Change(known, known))
        for key, obj in list(self._objects.items()):
            if key not in seen and (back or version_of(obj) <= version):
                self._drop(obj)
        self.unreadable = {k: why for k, why in self.unreadable.items() if k in seen}
        self.reached(version)

    def _is_news(self, key: Key, uid: str, version: int) -> bool:
        known = self._objects.get(key)
        newer = known is None or version > version_of(known)
        return newer and version > self._tombstones.get(uid, -1)

    def _read(self, key: Key, raw: Json) -> None:
        try:
            new = self._model(lean(raw))
        except ValidationError as error:
            self._complain(key, describe(error))
        else:
            self._put(new)

    def _put(self, new: T) -> None:
        key = new.key
        old = self._objects.get(key)
        if old is not None and old.uid != new.uid:
            self._drop(old)
            old = None
        self.unreadable.pop(key, None)
        before, after = self._values(old), self._values(new)
        self._objects[key] = new
        self._unindex(key, [row for row in before if row not in after])
        for name, value in after:
            self._rows[name][value][key] = new
        self._tell(Change(old, new))

    def _drop(self, old: T) -> None:
        del self._objects[old.key]
        self._unindex(old.key, self._values(old))
        self._tell(Change(old, None))

    def _values(self, obj: T | None) -> Rows:
        if obj is None:
            return []
        return [(name, v) for name in self._indexers for v in self._values_in(name, obj)]

    def _values_in(self, name: str, obj: T) -> set[Hashable]:
        try:
            return set(self._indexers[name](obj))
        except Exception:  # one odd object must not take the whole process down
            log.exception("%s %s: index %s failed", self.kind.__name__, obj.key, name)
            return set()

    def _unindex(self, key: Key, rows: Rows) -> None:
        for name, value in rows:
            row = self._rows[name][value]
            del row[key]
            if not row:
                del self._rows[name][value]

    def _tell(self, change: Change[T]) -> None:
        for handler in self._handlers:
            self._call(handler, change)

    def _call(self, handler: Handler[T], change: Change[T]) -> None:
        try:
            handler(change)
        except Exception:
            log.exception("%s: a handler failed", self.kind.__name__)

    def _complain(self, key: Key, why: str) -> None:
        # The last readable version stays: taking it out would look like a deletion, and something
        # that still exists would be given away. A write based on it fails as a Conflict.
        if key not in self.unreadable:
            log.error("%s %s is left out: %s", self.kind.__name__, "/".join(key).strip("/"), why)
        self.unreadable[key] = why


def version_of(obj: KubeObject) -> int:
    """`metadata.resourceVersion` as a number."""
    return int(obj.metadata.resource_version)


def _identify(raw: Json) -> tuple[Key, str, int]:
    meta = raw["metadata"]
    key = (meta.get("namespace", ""), meta["name"])
    return key, meta.get("uid", ""), int(meta["resourceVersion"])
