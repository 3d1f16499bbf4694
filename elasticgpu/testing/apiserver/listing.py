"""Lists: what is selected, page by page, all pages as of one version."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any

from elasticgpu.api.meta import Key
from elasticgpu.cluster.transport import dumps, loads

from .kinds import Kind
from .refusal import bad_options, bad_request, expired, too_new
from .selecting import Selects, selector
from .store import Entry, Store, Table

_OLD_TOKEN = (
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a list."""

    entries: list[Entry]
    version: int
    token: str
    remaining: int | None

    def metadata(self) -> dict[str, Any]:
        """The list's own metadata."""
        found: dict[str, Any] = {"resourceVersion": str(self.version)}
        if self.token:
            found["continue"] = self.token
        if self.remaining:
            found["remainingItemCount"] = self.remaining
        return found


def page(store: Store, kind: Kind, namespace: str, query: dict[str, str]) -> Page:
    """The page that the query asks for. Raises Refusal."""
    selects = selector(kind, query.get("labelSelector", ""), query.get("fieldSelector", ""))
    table = store.table(kind.table)
    limit = whole(query, "limit")
    if token := query.get("continue"):
        version, after = _read(token)
        if version and version < table.forgotten:
            raise expired(_OLD_TOKEN, **{"continue": _token(0, after)})
        version = version or store.version
    else:
        version, after = _asked(store, table, query), None
    found = selected(table, version, namespace, selects)
    if after is not None:
        found = [one for one in found if one[0] > after]
    kept = found[:limit] if limit else found
    left = len(found) - len(kept)
    return Page(
        [entry for _, entry in kept],
        version,
        _token(version, kept[-1][0]) if left else "",
        left if selects is None else None,
    )


def selected(
    table: Table, version: int, namespace: str, selects: Selects | None
) -> list[tuple[Key, Entry]]:
    """What there was at that version, in the order of its keys."""
    newest = not table.log or table.log[-1].version <= version
    entries = table.entries if newest else table.at(version)
    return sorted(
        (
            (key, entry)
            for key, entry in entries.items()
            if namespace in ("", key[0]) and (selects is None or selects(entry.body))
        ),
        key=lambda one: one[0],
    )


def _asked(store: Store, table: Table, query: dict[str, str]) -> int:
    """The version that a list without token is to have."""
    text, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    version = number(text)
    if match and not text:
        raise bad_options(
            "ListOptions",
            "resourceVersionMatch",
            "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        )
    if match not in ("", "Exact", "NotOlderThan"):
        known = 'supported values: "Exact", "NotOlderThan", ""'
        raise bad_options(
            "ListOptions", "resourceVersionMatch", f'Unsupported value: "{match}": {known}'
        )
    if version > store.version:
        raise too_new(version, store.version)
    exact = match == "Exact" or (not match and query.get("limit") and version)
    if not exact:
        return store.version
    if version < table.forgotten:
        raise expired(f"The provided resource version is too old: {version} ({table.forgotten})")
    return version


def number(text: str) -> int:
    """A resourceVersion; 0 for none. Raises Refusal for one that is no number."""
    if not text.isdigit() and text:
        raise bad_request(
            f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": '
            "invalid syntax"
        )
    return int(text or 0)


def whole(query: dict[str, str], name: str) -> int:
    """A number of the query; 0 if it is not there. Raises Refusal for one that is none."""
    text = query.get(name, "")
    try:
        return int(text or 0)
    except ValueError as error:
        raise bad_request(f'{name}: "{text}" is no number') from error


def _token(version: int, after: Key) -> str:
    data = dumps({"v": "meta.k8s.io/v1", "rv": version, "start": "/".join(after)})
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _read(token: str) -> tuple[int, Key]:
    try:
        found = loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        namespace, _, name = found["start"].partition("/")
        return int(found["rv"]), (namespace, name)
    except (ValueError, KeyError, TypeError, binascii.Error) as error:
        raise bad_request("continue key is not valid") from error
