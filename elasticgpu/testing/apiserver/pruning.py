"""What a schema changes in an object before anybody checks it: pruning and defaulting."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from .schemas import Node

_TOP = ("apiVersion", "kind", "metadata")


def prune(node: Node, body: dict[str, Any]) -> list[str]:
    """Remove every field that the schema of a kind does not know; the paths of what was removed."""
    gone: list[str] = []
    _prune(node, body, "", gone, _TOP)
    return gone


def _prune(node: Node, value: Any, path: str, gone: list[str], keep: tuple[str, ...] = ()) -> None:
    if isinstance(value, dict):
        _prune_map(node, value, path, gone, keep)
    elif isinstance(value, list) and node.items:
        for number, item in enumerate(value):
            _prune(node.items, item, f"{path}[{number}]", gone)


def _prune_map(
    node: Node, value: dict[str, Any], path: str, gone: list[str], keep: tuple[str, ...]
) -> None:
    for name in list(value):
        below = node.properties.get(name, node.additional)
        here = f"{path}.{name}" if path else name
        if name in keep:
            continue
        if below is not None:
            _prune(below, value[name], here, gone)
        elif not node.preserves:
            del value[name]
            gone.append(here)


def default(node: Node, value: Any) -> None:
    """Fill in the defaults of the fields that are missing, or null where null is not allowed."""
    if isinstance(value, dict):
        for name, below in node.properties.items():
            missing = name not in value or (value[name] is None and not below.nullable)
            if below.has_default and missing:
                value[name] = deepcopy(below.default)
            if name in value:
                default(below, value[name])
        if node.additional:
            for one in value.values():
                default(node.additional, one)
    elif isinstance(value, list) and node.items:
        for item in value:
            default(node.items, item)
