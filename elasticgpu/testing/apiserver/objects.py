"""Writes: how a body becomes an object, an object the next one, and how it goes.

Each method is one transaction over the store, done before anything else happens.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from typing import Any

from elasticgpu.api.meta import Key
from elasticgpu.cluster.transport import loads

from . import admitting, crds, leaving, life, ownership
from .applying import Wish, apply
from .kinds import Json, Kind, Registry
from .leaving import Options
from .ownership import Manager, Owners
from .policies import Call, Policies
from .refusal import Refusal, already_exists, not_found
from .requests import Terms
from .store import Entry, Store
from .users import User, Users

Patch = Callable[[Json], Any]


@dataclass(frozen=True, slots=True)
class Written:
    """What came of a write."""

    entry: Entry
    created: bool = False
    warnings: tuple[str, ...] = ()


class Objects:
    """All objects of a server."""

    def __init__(
        self,
        store: Store,
        kinds: Registry,
        clock: Callable[[], datetime],
        random: Random,
        users: Users,
    ) -> None:
        self.users = users
        self._policies = Policies(store)
        self.store = store
        self.kinds = kinds
        self.now = clock
        self._random = random

    def get(self, kind: Kind, key: Key) -> Entry:
        """The object. Raises Refusal if it is not there."""
        entry = self.store.get(kind.table, key)
        if entry is None:
            raise not_found(kind.resource, key[1])
        return entry

    def create(
        self,
        kind: Kind,
        namespace: str,
        given: Any,
        terms: Terms,
        owners: Owners | None = None,
    ) -> Written:
        """A new object."""
        body = life.readied(kind, _unviewed(kind, given), namespace)
        if body["metadata"].get("resourceVersion"):
            message = "resourceVersion should not be set on objects to be created"
            raise Refusal(500, "InternalError", f"Internal error occurred: {message}")
        key = (namespace, body["metadata"].get("name", ""))
        call = Call(kind, key, "CREATE", "", terms.user, terms.dry, body, None)
        body = self._policies.mutated(call)
        body = life.born(kind, body, self.now(), self._random)
        warnings = admitting.fitted(kind, body, terms)
        name = body["metadata"].get("name", "")
        admitting.settle(self.store, kind, namespace, name)
        key = (namespace, name)
        if name and self.store.get(kind.table, key):
            raise already_exists(kind.resource, name)
        admitting.check(kind, body, None, list(life.check_name(kind, body)))
        self._prepare(kind, body, None)
        self._policies.judge(replace(call, key=key, new=body))
        if owners:
            now, version = body["metadata"]["creationTimestamp"], kind.resource.api_version
            body["metadata"]["managedFields"] = ownership.written(owners, [], version, now)
        return Written(self._put(kind, key, body, terms.dry), True, warnings)

    def update(self, kind: Kind, key: Key, given: Any, sub: str, terms: Terms) -> Written:
        """A PUT of an object, or of its status."""
        old = self.store.get(kind.table, key)
        if old is None and kind.upserts and not sub:
            return self.create(kind, key[0], given, terms)
        old = old or self.get(kind, key)
        given = _unviewed(kind, given)
        return self._replace(kind, key, given, old, sub, terms, patched=False)

    def patch(self, kind: Kind, key: Key, change: Patch, sub: str, terms: Terms) -> Written:
        """A PATCH: an update of what `change` makes of the object."""
        old = self.get(kind, key)
        # A copy: what is pruned and filled in must not be done to what is stored.
        given = _unviewed(kind, change(loads(kind.encoded(old))))
        return self._replace(kind, key, given, old, sub, terms, patched=True)

    def apply(self, kind: Kind, key: Key, given: Any, sub: str, terms: Terms) -> Written:
        """A server-side apply; it may create the object."""
        wish = Wish.read(kind, key, _unviewed(kind, given), sub, terms)
        old = self.store.get(kind.table, key)
        if old is None and not sub:
            return self.create(kind, key[0], wish.new(kind, key), terms, {wish.who: wish.fields})
        old = old or self.get(kind, key)
        body, owners = apply(wish, loads(old.raw), ownership.read(kind.shape, old.body))
        given = {**kind.head, **body}
        return self._replace(kind, key, given, old, sub, terms, patched=True, owners=owners)

    def _replace(
        self,
        kind: Kind,
        key: Key,
        given: Any,
        old: Entry,
        sub: str,
        terms: Terms,
        *,
        patched: bool,
        owners: Owners | None = None,
    ) -> Written:
        body = life.readied(kind, given, key[0])
        life.expected(kind, body, old.body, patched=patched)
        warnings = admitting.fitted(kind, body, terms)
        change = life.told if sub == "status" else life.grown
        call = Call(
            kind, key, "UPDATE", sub, terms.user, terms.dry, change(kind, body, old.body), old.body
        )
        new = self._policies.mutated(call)
        self._prepare(kind, new, old.body)
        who = Manager(terms.manager, "Update", sub)
        now, version = life.stamp(self.now()), kind.resource.api_version
        new = ownership.kept(kind.shape, new, old.body, owners, who, version, now)
        refused = list(life.check_update(body, old.body))
        if new == old.body and not refused:
            return Written(old, warnings=warnings)
        admitting.check(kind, new, old.body, refused)
        self._policies.judge(replace(call, new=new))
        return Written(self.amend(kind, key, new, dry=terms.dry), warnings=warnings)

    def amend(self, kind: Kind, key: Key, body: Json, *, dry: bool = False) -> Entry:
        """Store an object changed; drop it if it was being deleted and nothing keeps it now."""
        if leaving.released(kind, body) and not dry:
            self.store.remove(kind.table, key)
            return Entry(body, self.store.version)
        return self._put(kind, key, body, dry)

    def delete(
        self, kind: Kind, key: Key, options: Options, user: User | None = None
    ) -> tuple[Entry, bool]:
        """Delete it, or mark it deleted; the object as it was left, and whether it is gone.

        Policies are asked about what a user deletes.
        """
        old = self.get(kind, key)
        leaving.expected(kind, options, old.body)
        if user is not None:
            call = Call(kind, key, "DELETE", "", user, options.dry, None, old.body)
            self._policies.judge(call)
        marked = deepcopy(leaving.marked(kind, options, old.body, self.now()))
        kind.prepare(marked, old.body)
        gone = leaving.released(kind, marked)
        if options.dry or marked == old.body:
            return old, gone
        if gone:
            self.store.remove(kind.table, key)
            return Entry(marked, self.store.version), True
        return self._put(kind, key, marked, dry=False), False

    def _prepare(self, kind: Kind, body: Json, old: Json | None) -> None:
        kind.prepare(body, old)
        if kind.table == crds.TABLE and not body.get("status", {}).get("conditions"):
            crds.complete(body, self.now())

    def _put(self, kind: Kind, key: Key, body: Json, dry: bool) -> Entry:
        return Entry(body, 0) if dry else self.store.put(kind.table, key, body)


def _unviewed(kind: Kind, given: Any) -> Any:
    return kind.unview(given) if kind.unview and isinstance(given, dict) else given
