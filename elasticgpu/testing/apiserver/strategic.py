"""Strategic merge patch: a merge patch that knows the keys of lists, and its directives."""

from __future__ import annotations

from typing import Any

from .refusal import bad_request
from .shapes import Shape

STRATEGIC_PATCH = "application/strategic-merge-patch+json"
_DELETE_FROM = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"


def merge(shape: Shape, target: Any, patch: Any) -> Any:
    """What the patch makes of the target. Raises Refusal for a directive that is not known."""
    if not isinstance(patch, dict):
        return patch
    match patch.get("$patch"):
        case None | "merge":
            pass
        case "replace":
            return {key: value for key, value in patch.items() if key != "$patch"}
        case "delete":
            return {}
        case other:
            raise bad_request(f"Unknown patch type found: {other}")
    found = dict(target) if isinstance(target, dict) else {}
    retained = patch.get("$retainKeys")
    if retained is not None:
        found = {key: value for key, value in found.items() if key in retained}
    for key, value in patch.items():
        _field(shape, found, key, value)
    for key, order in patch.items():
        if key.startswith(_ORDER):
            _reorder(shape, found, key.removeprefix(_ORDER), order)
    return found


def _field(shape: Shape, found: dict[str, Any], key: str, value: Any) -> None:
    if key.startswith(_DELETE_FROM):
        name = key.removeprefix(_DELETE_FROM)
        found[name] = [one for one in found.get(name, []) if one not in value]
    elif key.startswith("$"):
        return
    elif value is None:
        found.pop(key, None)
    elif isinstance(value, list):
        found[key] = _list(shape.below(key), found.get(key), value)
    else:
        found[key] = merge(shape.below(key), found.get(key), value)


def _list(shape: Shape, target: Any, patch: list[Any]) -> list[Any]:
    if shape.is_set:
        return [*patch, *(one for one in target or [] if one not in patch)]
    if not shape.keys:
        return patch
    if any(isinstance(one, dict) and one.get("$patch") == "replace" for one in patch):
        return [one for one in patch if "$patch" not in one]
    changes = {shape.step(one): one for one in patch}
    found = []
    for one in target or []:
        change = changes.pop(shape.step(one), None)
        if change is None:
            found.append(one)
        elif change.get("$patch") != "delete":
            found.append(merge(shape.item(), one, change))
    new = [one for one in changes.values() if one.get("$patch") != "delete"]
    return [*(merge(shape.item(), {}, one) for one in new), *found] if new else found


def _reorder(shape: Shape, found: dict[str, Any], name: str, order: list[Any]) -> None:
    below, items = shape.below(name), found.get(name)
    if not isinstance(items, list):
        return
    places = {below.step(one) or repr(one): number for number, one in enumerate(order)}
    items.sort(key=lambda one: places.get(below.step(one) or repr(one), len(places)))
