"""The metadata of objects through their life: what the server gives, keeps and refuses.

All functions take plain bodies and change none of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from typing import Any
from uuid import UUID

from . import names
from .kinds import Kind
from .refusal import MODIFIED, FieldError, bad_request, conflict, invalid

Json = dict[str, Any]

_META = frozenset(
    (
        *("name", "generateName", "namespace", "uid", "resourceVersion", "generation"),
        *("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"),
        *("labels", "annotations", "ownerReferences", "finalizers", "managedFields"),
    )
)
_NOTHING: tuple[Any, ...] = (None, "", {}, [])
_KEPT = ("name", "namespace", "uid", "creationTimestamp", "generateName", "managedFields")
_LEAVING = ("deletionTimestamp", "deletionGracePeriodSeconds")


def stamp(now: datetime) -> str:
    """A moment as objects bear it."""
    return now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def terminating(body: Json) -> bool:
    """Somebody asked for its deletion."""
    return "deletionTimestamp" in body["metadata"]


def readied(kind: Kind, body: Any, namespace: str) -> Json:
    """A body from a request as it would be stored; raises Refusal if it is no such object."""
    if not isinstance(body, dict):
        raise bad_request("the body is no object")
    if kind.custom and not body.get("kind"):
        raise bad_request("Object 'Kind' is missing in the body")
    _check_head(kind, body)
    given = body.get("metadata") or {}
    if not isinstance(given, dict):
        raise bad_request("metadata is no object")
    if given.get("namespace", namespace) != namespace and given.get("namespace"):
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    meta = {key: value for key, value in given.items() if key in _META and value not in _NOTHING}
    if namespace:
        meta["namespace"] = namespace
    else:
        meta.pop("namespace", None)
    rest = {key: value for key, value in body.items() if key not in kind.head}
    return {**rest, "metadata": meta}


def _check_head(kind: Kind, body: Json) -> None:
    what, version, name = kind.resource, body.get("apiVersion"), body.get("kind")
    if version and version != what.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({what.api_version})"
        )
    if not name or name == what.kind:
        return
    if not kind.custom:
        raise bad_request(
            f'{name} in version "{what.version}" cannot be handled as a {what.kind}: no kind '
            f'"{name}" is registered for version "{what.api_version}"'
        )
    error = FieldError("kind", "FieldValueInvalid", f'Invalid value: "{name}": must be {what.kind}')
    raise invalid(replace(what, kind=name), (body.get("metadata") or {}).get("name", ""), [error])


def born(kind: Kind, body: Json, now: datetime, random: Random) -> Json:
    """A new object: with name, uid, time and generation; without what only the server may set."""
    meta = dict(body["metadata"])
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = names.made_up(meta["generateName"], random)
    for key in ("resourceVersion", *_LEAVING, "generation", "managedFields"):
        meta.pop(key, None)
    meta["uid"] = str(UUID(int=random.getrandbits(128), version=4))
    meta["creationTimestamp"] = stamp(now)
    if kind.generation != "none":
        meta["generation"] = 1
    found = {**body, "metadata": meta}
    if kind.status:
        found.pop("status", None)
    return found


def check_name(kind: Kind, body: Json) -> Iterator[FieldError]:
    """What is wrong with the names in the metadata."""
    meta = body["metadata"]
    if not meta.get("name"):
        text = "Required value: name or generateName is required"
        yield FieldError("metadata.name", "FieldValueRequired", text)
        return
    for fault in names.faults(meta["name"], kind.names):
        text = f'Invalid value: "{meta["name"]}": {fault}'
        yield FieldError("metadata.name", "FieldValueInvalid", text)


def check_owners(body: Json) -> Iterator[FieldError]:
    """What is wrong with the owner references."""
    for owner in body["metadata"].get("ownerReferences", ()):
        for key in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(key):
                what = "version must not be empty" if key == "apiVersion" else "must not be empty"
                path = f"metadata.ownerReferences.{key}"
                yield FieldError(path, "FieldValueInvalid", f'Invalid value: "": {what}')


def expected(kind: Kind, body: Json, old: Json, *, patched: bool) -> None:
    """Raise Refusal if the writer had another version or another object in mind."""
    meta, before = body["metadata"], old["metadata"]
    name, version = before["name"], meta.get("resourceVersion", "")
    if meta.get("name", name) != name:
        raise bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({name})"
        )
    if not version and not patched and not kind.unconditional:
        text = "Invalid value: 0: must be specified for an update"
        error = FieldError("metadata.resourceVersion", "FieldValueInvalid", text)
        what = kind.resource
        raise invalid(what if kind.custom else replace(what, kind=what.plural), name, [error])
    if meta.get("uid", before["uid"]) != before["uid"] and not patched:
        why = (
            f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: "
            f"{before['uid']}"
        )
        raise conflict(kind.resource, name, why)
    if version and version != before["resourceVersion"]:
        raise conflict(kind.resource, name, MODIFIED)


def grown(kind: Kind, body: Json, old: Json) -> Json:
    """An object after an update of all but its status."""
    before = old["metadata"]
    ignored = (*_LEAVING, "managedFields")
    meta = {key: value for key, value in body["metadata"].items() if key not in ignored}
    meta |= _from(before, *_KEPT, *_LEAVING, "resourceVersion", "generation")
    found = {**body, "metadata": meta}
    if kind.status:
        found = {**found, **_from(old, "status")}
        if "status" not in old:
            found.pop("status", None)
    if kind.generation != "none" and _matter(kind, found) != _matter(kind, old):
        meta["generation"] = before.get("generation", 0) + 1
    return found


def told(kind: Kind, body: Json, old: Json) -> Json:
    """An object after an update of its status."""
    found = {key: value for key, value in old.items() if key != "status"}
    if "status" in body:
        found["status"] = body["status"]
    if kind.status_metadata:
        keep = _from(old["metadata"], *_KEPT, *_LEAVING, "resourceVersion", "generation")
        keep |= _from(old["metadata"], "ownerReferences")
        found["metadata"] = {**body["metadata"], **keep}
    return found


def check_update(body: Json, old: Json) -> Iterator[FieldError]:
    """What the body of an update may not do to metadata."""
    for key in ("uid", *_LEAVING):
        value, before = body["metadata"].get(key), old["metadata"].get(key)
        if value is not None and value != before:
            text = f'Invalid value: "{value}": field is immutable'
            yield FieldError(f"metadata.{key}", "FieldValueInvalid", text)
    if terminating(old):
        known = old["metadata"].get("finalizers", [])
        added = [name for name in body["metadata"].get("finalizers", []) if name not in known]
        if added:
            shown = ", ".join(f'"{name}"' for name in added)
            text = (
                "Forbidden: no new finalizers can be added if the object is being deleted, found "
                f"new finalizers []string{{{shown}}}"
            )
            yield FieldError("metadata.finalizers", "FieldValueForbidden", text)


def _from(body: Json, *keys: str) -> Json:
    return {key: body[key] for key in keys if key in body}


def _matter(kind: Kind, body: Json) -> Any:
    """What counts for the generation."""
    if kind.generation == "spec":
        return body.get("spec")
    ignored = ("metadata", "status") if kind.status else ("metadata",)
    return {key: value for key, value in body.items() if key not in ignored}
