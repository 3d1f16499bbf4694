"""A CRD's structural schema, read once into a tree that pruning and checking walk."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """An entry of `x-kubernetes-validations`."""

    text: str
    message: str
    message_expression: str
    reason: str
    at: str
    transition: bool
    """It speaks of the old value, so it holds where there is none."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """The schema of one place; each is one of its own."""

    type: str
    properties: Mapping[str, Node]
    additional: Node | None
    items: Node | None
    required: tuple[str, ...]
    enum: tuple[Any, ...]
    pattern: re.Pattern[str] | None
    limits: Mapping[str, int | float]
    default: Any
    has_default: bool
    nullable: bool
    preserves: bool
    int_or_string: bool
    list_type: str
    list_keys: tuple[str, ...]
    rules: tuple[Rule, ...]


_LIMITS = (
    *("minLength", "maxLength", "minimum", "maximum"),
    *("minItems", "maxItems", "minProperties", "maxProperties"),
)


def read(schema: Json) -> Node:
    """The tree of a schema as it stands in a CRD."""
    extra = schema.get("additionalProperties")
    return Node(
        type=schema.get("type", ""),
        properties={name: read(one) for name, one in schema.get("properties", {}).items()},
        additional=read(extra) if isinstance(extra, dict) else (_ANY if extra else None),
        items=read(schema["items"]) if "items" in schema else None,
        required=tuple(schema.get("required", ())),
        enum=tuple(schema.get("enum", ())),
        pattern=re.compile(schema["pattern"]) if "pattern" in schema else None,
        limits={name: schema[name] for name in _LIMITS if name in schema},
        default=schema.get("default"),
        has_default="default" in schema,
        nullable=schema.get("nullable", False),
        preserves=schema.get("x-kubernetes-preserve-unknown-fields", False),
        int_or_string=schema.get("x-kubernetes-int-or-string", False),
        list_type=schema.get("x-kubernetes-list-type", ""),
        list_keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
        rules=tuple(_rule(one) for one in schema.get("x-kubernetes-validations", ())),
    )


def _rule(raw: Json) -> Rule:
    return Rule(
        text=raw["rule"],
        message=raw.get("message", ""),
        message_expression=raw.get("messageExpression", ""),
        reason=raw.get("reason", "FieldValueInvalid"),
        at=raw.get("fieldPath", ""),
        transition="oldSelf" in raw["rule"],
    )


_ANY = read({"x-kubernetes-preserve-unknown-fields": True})


def same_item(node: Node, item: Any) -> Any:
    """What identifies an item of a list, by its list type; None where nothing does."""
    if node.list_type == "map" and isinstance(item, dict):
        return tuple(repr(item.get(key)) for key in node.list_keys)
    return repr(item) if node.list_type == "set" else None
