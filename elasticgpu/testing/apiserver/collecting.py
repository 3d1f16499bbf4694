"""What kube-controller-manager does about deletion: dependents go with their owners, the contents
of a namespace with the namespace.

It runs a moment after a write, on the event loop, as clients of a real cluster see it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from elasticgpu.api.meta import Key

from . import crds
from .admitting import NAMESPACES
from .kinds import Kind, Registry
from .leaving import FOREGROUND, ORPHAN, Options
from .life import terminating
from .store import Event, Store

Json = dict[str, Any]


BACKGROUND = Options(policy="Background")


class Writes(Protocol):
    """What the collector asks of the server."""

    def delete(self, kind: Kind, key: Key, options: Options) -> Any:
        """Delete an object."""

    def amend(self, kind: Kind, key: Key, body: Json) -> Any:
        """Store it changed, and drop it if nothing keeps it now."""


class Collector:
    """Deletes what its owners leave behind.

    `later` runs a function soon after; the collector asks for it at most once at a time.
    """

    def __init__(
        self,
        store: Store,
        kinds: Registry,
        writes: Writes,
        later: Callable[[Callable[[], None]], None],
    ) -> None:
        self._store = store
        self._kinds = kinds
        self._writes = writes
        self._later = later
        self._asked = False
        self._homes: dict[str, tuple[str, Key]] = {}
        self._dependents: dict[str, dict[tuple[str, Key], None]] = {}
        self._changed: dict[tuple[str, Key], None] = {}

    def notice(self, table: str, event: Event) -> None:
        """Take a write in; what follows from it is done later."""
        where = (table, event.key)
        if event.before:
            for uid in _owners(event.before.body):
                self._dependents.get(uid, {}).pop(where, None)
        if event.change == "DELETED":
            self._gone(table, event)
        else:
            self._there(where, event.entry.body)
        if self._changed and not self._asked:
            self._asked = True
            self._later(self.run)

    def _there(self, where: tuple[str, Key], body: Json) -> None:
        self._homes[body["metadata"]["uid"]] = where
        owners = _owners(body)
        for uid in owners:
            self._dependents.setdefault(uid, {})[where] = None
        if owners or terminating(body):
            self._changed[where] = None

    def _gone(self, table: str, event: Event) -> None:
        """Look again at its dependents, at owners that wait for it, and at what contained it."""
        body = event.entry.body
        uid = body["metadata"]["uid"]
        self._homes.pop(uid, None)
        self._changed |= self._dependents.pop(uid, {})
        for owner in _owners(body):
            if owner in self._homes:
                self._changed[self._homes[owner]] = None
        containers = [(NAMESPACES, ("", event.key[0]))] if event.key[0] else []
        group, _, plural = table.partition("/")
        for where in (*containers, (crds.TABLE, ("", f"{plural}.{group}"))):
            home = self._store.get(*where)
            if home and terminating(home.body):
                self._changed[where] = None

    def run(self) -> None:
        """Do what follows from the writes noticed so far, and from what that leads to."""
        self._asked = False
        while self._changed:
            changed, self._changed = list(self._changed), {}
            for table, key in changed:
                self._look(table, key)

    def _look(self, table: str, key: Key) -> None:
        entry, kind = self._store.get(table, key), self._kind(table)
        if entry is None or kind is None:
            return
        body = entry.body
        if terminating(body):
            self._finalize(kind, key, body)
            if table == NAMESPACES:
                self._empty(kind, key)
            elif crds.CLEANUP in body["metadata"].get("finalizers", ()):
                self._clean(kind, key, body)
        elif owners := body["metadata"].get("ownerReferences"):
            self._weigh(kind, key, body, owners)

    def _weigh(self, kind: Kind, key: Key, body: Json, owners: list[Json]) -> None:
        """Delete a dependent whose owners are all gone, or are waiting for it to go."""
        living = [one for one in owners if self._lives(one, key[0])]
        waiting = [one for one in living if self._waits(one, key[0])]
        if not living:
            self._writes.delete(kind, key, BACKGROUND)
        elif len(waiting) == len(living):
            self._writes.delete(kind, key, Options(policy="Foreground"))
        elif len(living) < len(owners):
            meta = {**body["metadata"], "ownerReferences": living}
            self._writes.amend(kind, key, {**body, "metadata": meta})

    def _lives(self, owner: Json, namespace: str) -> bool:
        found = self._find(owner, namespace)
        return found is not None and found["metadata"]["uid"] == owner.get("uid")

    def _waits(self, owner: Json, namespace: str) -> bool:
        found = self._find(owner, namespace)
        return found is not None and FOREGROUND in found["metadata"].get("finalizers", [])

    def _find(self, owner: Json, namespace: str) -> Json | None:
        kind = self._kinds.named(owner.get("apiVersion", ""), owner.get("kind", ""))
        if kind is None:
            return None
        key = (namespace if kind.resource.namespaced else "", owner.get("name", ""))
        entry = self._store.get(kind.table, key)
        return entry.body if entry else None

    def _finalize(self, kind: Kind, key: Key, body: Json) -> None:
        """Serve the two finalizers that are this collector's own."""
        finalizers, uid = body["metadata"].get("finalizers", []), body["metadata"]["uid"]
        if ORPHAN in finalizers:
            for one, where, dependent in list(self._of(uid)):
                self._disown(one, where, dependent, uid)
            self._without(kind, key, body, ORPHAN)
        elif FOREGROUND in finalizers:
            blocking = False
            for one, where, dependent in list(self._of(uid)):
                blocking |= _blocks(dependent, uid)
                if not terminating(dependent):
                    self._weigh(one, where, dependent, dependent["metadata"]["ownerReferences"])
            if not blocking or not any(_blocks(body, uid) for _, _, body in self._of(uid)):
                self._without(kind, key, body, FOREGROUND)

    def _of(self, uid: str) -> Iterator[tuple[Kind, Key, Json]]:
        for table, key in list(self._dependents.get(uid, ())):
            entry, kind = self._store.get(table, key), self._kind(table)
            if entry and kind:
                yield kind, key, entry.body

    def _disown(self, kind: Kind, key: Key, body: Json, uid: str) -> None:
        meta = dict(body["metadata"])
        rest = [one for one in meta.pop("ownerReferences") if one.get("uid") != uid]
        meta |= {"ownerReferences": rest} if rest else {}
        self._writes.amend(kind, key, {**body, "metadata": meta})

    def _without(self, kind: Kind, key: Key, body: Json, finalizer: str) -> None:
        meta = dict(body["metadata"])
        rest = [name for name in meta.pop("finalizers") if name != finalizer]
        meta |= {"finalizers": rest} if rest else {}
        self._writes.amend(kind, key, {**body, "metadata": meta})

    def _empty(self, kind: Kind, key: Key) -> None:
        """Delete what is in a namespace that is being deleted, then let it go."""
        left = False
        for one in self._kinds.stored():
            if one.resource.namespaced:
                for where in [w for w in self._store.table(one.table).entries if w[0] == key[1]]:
                    self._writes.delete(one, where, BACKGROUND)
                    left |= self._store.get(one.table, where) is not None
        entry = self._store.get(kind.table, key)
        if not left and entry is not None:
            spec = {k: v for k, v in entry.body.get("spec", {}).items() if k != "finalizers"}
            self._writes.amend(kind, key, {**entry.body, "spec": spec})

    def _clean(self, kind: Kind, key: Key, crd: Json) -> None:
        """Delete the objects of a kind whose CRD is being deleted, then let that go."""
        table = f"{crd['spec']['group']}/{crd['spec']['names']['plural']}"
        custom = self._kind(table)
        for where in list(self._store.table(table).entries) if custom else ():
            assert custom is not None  # or there was nothing to delete
            self._writes.delete(custom, where, BACKGROUND)
        if not self._store.table(table).entries:
            self._without(kind, key, crd, crds.CLEANUP)

    def _kind(self, table: str) -> Kind | None:
        return next((kind for kind in self._kinds.stored() if kind.table == table), None)


def _owners(body: Json) -> list[str]:
    return [one.get("uid", "") for one in body["metadata"].get("ownerReferences") or ()]


def _blocks(dependent: Json, uid: str) -> bool:
    owners = dependent["metadata"].get("ownerReferences", [])
    return any(one.get("uid") == uid and one.get("blockOwnerDeletion") for one in owners)
