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
    """Drop null where it is not allowed, and fill in the defaults of what is missing."""
    if isinstance(value, dict):
        for name, below in node.properties.items():
            if name in value and value[name] is None and not below.nullable:
                del value[name]
            if below.has_default and name not in value:
                value[name] = deepcopy(below.default)
            if name in value:
                default(below, value[name])
        if node.additional:
            for one in value.values():
                default(node.additional, one)
    elif isinstance(value, list) and node.items:
        for item in value:
            default(node.items, item)
