"""Whether an object is what its schema says, in the words of the API server.

Of an update only what it changed is checked: what was stored under an older schema stays good.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .refusal import FieldError
from .schemas import Node, same_item

_TOP = ("apiVersion", "kind", "metadata")
_KINDS: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}


def check(node: Node, body: dict[str, Any], old: dict[str, Any] | None) -> list[FieldError]:
    """Everything that is wrong with an object of the kind; rules apart."""
    shown = {name: value for name, value in body.items() if name not in _TOP}
    before = None if old is None else {k: v for k, v in old.items() if k not in _TOP}
    return list(_check(node, shown, before, ""))


def _check(node: Node, value: Any, old: Any, path: str) -> Iterator[FieldError]:
    if old is not None and value == old:
        return
    if value is None and node.nullable:
        return
    if (wrong := _wrong_type(node, value, path)) is not None:
        yield wrong
        return
    yield from _plain(node, value, path)
    if isinstance(value, dict):
        yield from _map(node, value, old if isinstance(old, dict) else {}, path)
    elif isinstance(value, list) and node.items:
        yield from _list(node, node.items, value, old if isinstance(old, list) else [], path)


def _wrong_type(node: Node, value: Any, path: str) -> FieldError | None:
    if node.int_or_string:
        if isinstance(value, (int, str)) and not isinstance(value, bool):
            return None
        return _type_error(path, "integer,string", value)
    if not node.type:
        return None
    fits = isinstance(value, _KINDS[node.type])
    if isinstance(value, bool) and node.type != "boolean":
        fits = False
    if node.type == "integer" and isinstance(value, float) and value.is_integer():
        fits = True
    return None if fits else _type_error(path, node.type, value)


def _type_error(path: str, wanted: str, value: Any) -> FieldError:
    found = next((name for name, types in _KINDS.items() if type(value) in types), "null")
    text = f'Invalid value: "{found}": {path} in body must be of type {wanted}: "{found}"'
    return FieldError(path, "FieldValueTypeInvalid", text)


def _plain(node: Node, value: Any, path: str) -> Iterator[FieldError]:
    """What can be said of the value without what lies below it."""
    if node.enum and value not in node.enum:
        known = ", ".join(json.dumps(one) for one in node.enum)
        text = f"Unsupported value: {shown(value)}: supported values: {known}"
        yield FieldError(path, "FieldValueNotSupported", text)
    for limit, bound in node.limits.items():
        if error := _beyond(limit, bound, value, path):
            yield error
    if node.pattern and isinstance(value, str) and not node.pattern.search(value):
        yield _bad(path, value, f"in body should match '{node.pattern.pattern}'")


def _beyond(limit: str, bound: float, value: Any, path: str) -> FieldError | None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    match limit:
        case "maxLength" if isinstance(value, str) and len(value) > bound:
            text = f"Too long: may not be more than {bound} bytes"
            return FieldError(path, "FieldValueTooLong", text)
        case "minLength" if isinstance(value, str) and len(value) < bound:
            return _bad(path, value, f"in body should be at least {bound} chars long")
        case "maximum" if number and value > bound:
            return _bad(path, value, f"in body should be less than or equal to {bound}")
        case "minimum" if number and value < bound:
            return _bad(path, value, f"in body should be greater than or equal to {bound}")
        case "maxItems" if isinstance(value, list) and len(value) > bound:
            return _too_many(path, len(value), bound)
        case "maxProperties" if isinstance(value, dict) and len(value) > bound:
            return _too_many(path, len(value), bound)
        case "minItems" if isinstance(value, list) and len(value) < bound:
            return _bad(path, len(value), f"in body should have at least {bound} items")
        case "minProperties" if isinstance(value, dict) and len(value) < bound:
            return _bad(path, len(value), f"in body should have at least {bound} properties")
        case _:
            return None


def _bad(path: str, value: Any, what: str) -> FieldError:
    return FieldError(path, "FieldValueInvalid", f"Invalid value: {shown(value)}: {path} {what}")


def _too_many(path: str, count: int, bound: float) -> FieldError:
    text = f"Too many: {count}: must have at most {bound} items"
    return FieldError(path, "FieldValueTooMany", text)


def _map(node: Node, value: dict[str, Any], old: Any, path: str) -> Iterator[FieldError]:
    for name in node.required:
        if name not in value:
            yield FieldError(_below(path, name), "FieldValueRequired", "Required value")
    for name, one in value.items():
        below = node.properties.get(name, node.additional)
        if below is not None:
            yield from _check(below, one, old.get(name), _below(path, name))


def _list(
    node: Node, item: Node, value: list[Any], old: list[Any], path: str
) -> Iterator[FieldError]:
    before = {same_item(node, one): one for one in old} if node.list_type else {}
    seen = set()
    for number, one in enumerate(value):
        which = same_item(node, one)
        yield from _check(item, one, before.get(which), f"{path}[{number}]")
        if which is not None and which in seen:
            yield _duplicate(node, one, f"{path}[{number}]")
        seen.add(which)


def _duplicate(node: Node, item: Any, path: str) -> FieldError:
    keys = node.list_keys
    named = {key: item[key] for key in keys if key in item} if keys else item
    text = f"Duplicate value: {shown(named)}"
    return FieldError(path, "FieldValueDuplicate", text)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def shown(value: Any) -> str:
    """A value as messages quote it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
