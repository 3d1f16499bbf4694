"""Writes: how a body becomes an object, an object the next one, and how it goes.

Each method is one transaction over the store, done before anything else happens.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any

from elasticgpu.api.meta import Key

from . import crds, fieldsets, leaving, life, ownership
from .applying import Wish, apply
from .kinds import Json, Kind, Registry
from .leaving import Options
from .ownership import Manager, Owners
from .refusal import (
    FieldError,
    Refusal,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    invalid,
    not_found,
)
from .store import Entry, Store

NAMESPACES = "/namespaces"
Patch = Callable[[Json], Any]


@dataclass(frozen=True, slots=True)
class Terms:
    """What a write says about itself, in its query."""

    dry: bool = False
    validation: str = "Warn"
    manager: str = "unknown"
    force: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """What came of a write."""

    entry: Entry
    created: bool = False
    warnings: tuple[str, ...] = ()


class Objects:
    """All objects of a server."""

    def __init__(
        self, store: Store, kinds: Registry, clock: Callable[[], datetime], random: Random
    ) -> None:
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
        body = life.born(kind, body, self.now(), self._random)
        warnings = self._fitted(kind, body, terms)
        name = body["metadata"].get("name", "")
        self._settle(kind, namespace, name)
        key = (namespace, name)
        if name and self.store.get(kind.table, key):
            raise already_exists(kind.resource, name)
        self._check(kind, body, None, list(life.check_name(kind, body)))
        self._prepare(kind, body, None)
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
        given = _unviewed(kind, change(kind.shown(old)))
        return self._replace(kind, key, given, old, sub, terms, patched=True)

    def apply(self, kind: Kind, key: Key, given: Any, sub: str, terms: Terms) -> Written:
        """A server-side apply; it may create the object."""
        config = _config(kind, given, key)
        keeps = ownership.writable(sub, kind.status)
        who = Manager(terms.manager, "Apply", sub)
        wish = Wish(kind.shape, config, who, keeps, terms.force, kind.resource.api_version)
        old = self.store.get(kind.table, key)
        if old is None and not sub:
            if uid := config["metadata"].get("uid"):
                why = (
                    f"uid mismatch: the provided object specified uid {uid}, and no existing "
                    "object was found"
                )
                raise conflict(kind.resource, key[1], why)
            named = {**given, "metadata": {**given.get("metadata", {}), "name": key[1]}}
            return self.create(kind, key[0], named, terms, {who: wish.fields})
        old = old or self.get(kind, key)
        owners = ownership.read(old.body) or {
            Manager(ownership.BEFORE, "Update"): frozenset(
                ownership.owned(kind.shape, old.body, lambda path: True)
            )
        }
        body, owners = apply(wish, old.body, owners)
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
        warnings = self._fitted(kind, body, terms)
        change = life.told if sub == "status" else life.grown
        new = change(kind, body, old.body)
        self._prepare(kind, new, old.body)
        new = self._owned(kind, new, old.body, owners, Manager(terms.manager, "Update", sub))
        refused = list(life.check_update(body, old.body))
        if new == old.body and not refused:
            return Written(old, warnings=warnings)
        self._check(kind, new, old.body, refused)
        return Written(self.amend(kind, key, new, dry=terms.dry), warnings=warnings)

    def _owned(self, kind: Kind, new: Json, old: Json, owners: Owners | None, who: Manager) -> Json:
        """The object with its owners, if anybody ever asked for them."""
        before = old["metadata"].get("managedFields", [])
        if owners is None and not before:
            return new
        if owners is None:
            has, had = (dict(fieldsets.leaves(kind.shape, body)) for body in (new, old))
            owners = ownership.after_update(ownership.read(old), who, had, has)
        now = life.stamp(self.now())
        managed = ownership.written(owners, before, kind.resource.api_version, now)
        return {**new, "metadata": {**new["metadata"], "managedFields": managed}}

    def amend(self, kind: Kind, key: Key, body: Json, *, dry: bool = False) -> Entry:
        """Store an object changed; drop it if it was being deleted and nothing keeps it now."""
        if leaving.released(kind, body) and not dry:
            self.store.remove(kind.table, key)
            return Entry(body, self.store.version)
        return self._put(kind, key, body, dry)

    def delete(self, kind: Kind, key: Key, options: Options) -> tuple[Entry, bool]:
        """Delete it, or mark it deleted; the object as it was left, and whether it is gone."""
        old = self.get(kind, key)
        leaving.expected(kind, options, old.body)
        marked = deepcopy(leaving.marked(kind, options, old.body, self.now()))
        kind.prepare(marked, old.body)
        gone = leaving.released(kind, marked)
        if options.dry or marked == old.body:
            return old, gone
        if gone:
            self.store.remove(kind.table, key)
            return Entry(marked, self.store.version), True
        return self._put(kind, key, marked, dry=False), False

    def _fitted(self, kind: Kind, body: Json, terms: Terms) -> tuple[str, ...]:
        """Prune and default the body; what was unknown is a warning, or refused if strict."""
        unknown = [f'unknown field "{path}"' for path in kind.checker.unknown(body)]
        if unknown and terms.validation == "Strict":
            name = kind.resource.kind
            text = f"strict decoding error: {', '.join(unknown)}"
            raise bad_request(
                f'{name} in version "{kind.resource.version}" cannot be handled as a {name}: {text}'
            )
        kind.checker.default(body)
        return tuple(unknown) if terms.validation == "Warn" else ()

    def _settle(self, kind: Kind, namespace: str, name: str) -> None:
        """Raise Refusal if nothing can be made in that namespace."""
        if not kind.resource.namespaced:
            return
        home = self.store.get(NAMESPACES, ("", namespace))
        if home is None:
            what = self.kinds.find("", "v1", "namespaces")
            assert what is not None  # it is built in
            raise not_found(what.resource, namespace)
        if life.terminating(home.body):
            why = (
                f"unable to create new content in namespace {namespace} because it is being "
                "terminated"
            )
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
            raise forbidden(kind.resource, name, why, [cause])

    def _check(self, kind: Kind, body: Json, old: Json | None, found: list[FieldError]) -> None:
        found += [*life.check_owners(body), *kind.checker.errors(body, old)]
        if kind.table == crds.TABLE:
            found += crds.errors(body)
        if found:
            raise invalid(kind.resource, body["metadata"].get("name", ""), found)

    def _prepare(self, kind: Kind, body: Json, old: Json | None) -> None:
        kind.prepare(body, old)
        if kind.table == crds.TABLE and not body.get("status", {}).get("conditions"):
            crds.complete(body, self.now())

    def _put(self, kind: Kind, key: Key, body: Json, dry: bool) -> Entry:
        return Entry(body, 0) if dry else self.store.put(kind.table, key, body)


def _unviewed(kind: Kind, given: Any) -> Any:
    return kind.unview(given) if kind.unview and isinstance(given, dict) else given


def _config(kind: Kind, given: Any, key: Key) -> Json:
    """What is applied, without what names the object. Raises Refusal."""
    if not isinstance(given, dict) or not given.get("kind") or not given.get("apiVersion"):
        raise bad_request("invalid object type: /, Kind=")
    config = life.readied(kind, _unviewed(kind, given), key[0])
    meta = given.get("metadata") or {}
    if "managedFields" in meta:
        raise bad_request("metadata.managedFields must be nil")
    if meta.get("name", key[1]) != key[1]:
        raise bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({key[1]})"
        )
    kind.checker.unknown(config)
    return config
