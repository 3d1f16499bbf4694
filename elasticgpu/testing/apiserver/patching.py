"""JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from .refusal import Refusal, bad_request

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"


class _Missing(Exception):
    """A path leads nowhere."""


def merge(target: Any, patch: Any) -> Any:
    """RFC 7386: maps are merged, null removes, everything else replaces.

    >>> merge({"a": 1, "b": {"c": 2}}, {"a": None, "b": {"d": [3]}})
    {'b': {'c': 2, 'd': [3]}}
    """
    if not isinstance(patch, dict):
        return patch
    found = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merge(found.get(key), value)
    return found


def json_patch(target: Any, steps: Any) -> Any:
    """RFC 6902: the steps in order, all or none. Raises Refusal.

    >>> json_patch({"a": [1, 3]}, [{"op": "add", "path": "/a/1", "value": 2}])
    {'a': [1, 2, 3]}
    """
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise bad_request("error decoding patch: a JSON patch is a list of operations")
    found = deepcopy(target)
    for step in steps:
        try:
            found = _step(found, step)
        except (_Missing, KeyError, IndexError, TypeError, ValueError) as error:
            message = "the server rejected our request due to an error in our request"
            raise Refusal(422, "Invalid", message) from error
    return found


def _step(doc: Any, step: dict[str, Any]) -> Any:
    op, path = step["op"], _pointer(step["path"])
    if op == "add":
        return _add(doc, path, deepcopy(step["value"]))
    if op == "remove":
        return _remove(doc, path)
    if op == "replace":
        # Like the API server, and unlike the RFC: what is missing in a map is added.
        return _put(doc, path, deepcopy(step["value"]))
    if op == "test":
        if _at(doc, path) != step["value"]:
            raise _Missing
        return doc
    source = _pointer(step["from"])
    value = deepcopy(_at(doc, source))
    if op == "move":
        return _add(_remove(doc, source), path, value)
    if op == "copy":
        return _add(doc, path, value)
    raise ValueError(op)


def _pointer(text: str) -> list[str]:
    if not text:
        return []
    if not text.startswith("/"):
        raise ValueError(text)
    return [part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/")]


def _at(doc: Any, path: list[str]) -> Any:
    for part in path:
        doc = doc[_index(part)] if isinstance(doc, list) else doc[part]
    return doc


def _index(part: str) -> int:
    if not part.isdigit():
        raise _Missing
    return int(part)


def _put(doc: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent = _at(doc, path[:-1])
    parent[_index(path[-1]) if isinstance(parent, list) else path[-1]] = value
    return doc


def _add(doc: Any, path: list[str], value: Any) -> Any:
    if path and isinstance(parent := _at(doc, path[:-1]), list):
        at = len(parent) if path[-1] == "-" else _index(path[-1])
        if at > len(parent):
            raise _Missing
        parent.insert(at, value)
        return doc
    return _put(doc, path, value)


def _remove(doc: Any, path: list[str]) -> Any:
    parent = _at(doc, path[:-1])
    del parent[_index(path[-1]) if isinstance(parent, list) else path[-1]]
    return doc
