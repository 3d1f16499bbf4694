"""Who speaks for which fields: `metadata.managedFields`.

Kept from the first server-side apply of an object on; what was there before belongs to
`before-first-apply`, as on a server that began to keep it late.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .fieldsets import FieldSet, Path, flat, leaves, nested
from .shapes import Shape

Json = dict[str, Any]

BEFORE = "before-first-apply"
_META = ("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp")
_UNOWNED = frozenset(
    ("f:metadata", f"f:{name}")
    for name in (*_META, "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields")
)


@dataclass(frozen=True, slots=True)
class Manager:
    """One who writes: by apply or by update, to the object or to its status."""

    name: str
    operation: str
    subresource: str = ""


Owners = dict[Manager, FieldSet]


def owned(shape: Shape, body: Json, keeps: Callable[[Path], bool]) -> dict[Path, Any]:
    """The leaves of a body that can be owned, of those that `keeps` lets through."""
    found = {path: value for path, value in leaves(shape, body) if path and keeps(path)}
    return {path: value for path, value in found.items() if path[:2] not in _UNOWNED}


def writable(subresource: str, has_status: bool) -> Callable[[Path], bool]:
    """Which leaves a write to that subresource changes."""
    if subresource == "status":
        return lambda path: path[0] == "f:status"
    if has_status:
        return lambda path: path[0] not in ("f:status", "f:apiVersion", "f:kind")
    return lambda path: path[0] not in ("f:apiVersion", "f:kind")


def read(shape: Shape, body: Json) -> Owners:
    """The owners of a stored object; of one that nobody applied yet, the one before."""
    found: Owners = {}
    for one in body["metadata"].get("managedFields", ()):
        who = Manager(one["manager"], one["operation"], one.get("subresource", ""))
        found[who] = frozenset(flat(one.get("fieldsV1", {})))
    return found or {Manager(BEFORE, "Update"): frozenset(owned(shape, body, lambda path: True))}


def kept(
    shape: Shape,
    new: Json,
    old: Json,
    owners: Owners | None,
    who: Manager,
    api_version: str,
    now: str,
) -> Json:
    """The object with its owners after an update by `who`, or with those of an apply.

    Objects that nobody applied yet keep none.
    """
    before = old["metadata"].get("managedFields", [])
    if owners is None and not before:
        return new
    if owners is None:
        has, had = (dict(leaves(shape, body)) for body in (new, old))
        owners = after_update(read(shape, old), who, had, has)
    managed = written(owners, before, api_version, now)
    return {**new, "metadata": {**new["metadata"], "managedFields": managed}}


def written(owners: Owners, before: list[Json], api_version: str, now: str) -> list[Json]:
    """The owners as `managedFields`; who owns what he owned keeps his time."""
    known = {_entry_key(one): one for one in before}
    found = []
    for who, fields in owners.items():
        if not fields:
            continue
        entry: Json = {
            "manager": who.name,
            "operation": who.operation,
            "apiVersion": api_version,
            "time": now,
            "fieldsType": "FieldsV1",
            "fieldsV1": nested(fields),
        }
        if who.subresource:
            entry["subresource"] = who.subresource
        old = known.get(_entry_key(entry))
        found.append(old if old and old["fieldsV1"] == entry["fieldsV1"] else entry)
    return sorted(found, key=lambda one: (one["operation"], one["time"], *_entry_key(one)))


def _entry_key(entry: Json) -> tuple[str, str, str]:
    return entry["manager"], entry["operation"], entry.get("subresource", "")


def after_update(
    owners: Owners, who: Manager, old: dict[Path, Any], new: dict[Path, Any]
) -> Owners:
    """The owners once somebody updated: what he changed is his, what is gone is nobody's."""
    changed = {path for path, value in new.items() if path not in old or old[path] != value}
    lost = changed | (old.keys() - new.keys())
    found = {one: fields - lost for one, fields in owners.items()}
    found[who] = found.get(who, frozenset()) | changed
    return found
