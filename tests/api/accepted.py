"""Objects that the API server would accept, drawn from our own schemas."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from elasticgpu.api.meta import KubeObject
from elasticgpu.api.structural import structural

Json = dict[str, Any]
Drawn = st.SearchStrategy[Any]

QUANTITIES: Drawn = st.one_of(
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.from_regex(
        r"[+-]?[0-9]{1,9}(\.[0-9]{0,6})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?",
        fullmatch=True,
    ),
)
STRANGERS: Drawn = st.dictionaries(
    st.sampled_from(["xLater", "xNewer"]), st.one_of(st.integers(), st.text(), st.lists(st.text()))
)
"""Fields of a newer release, which an older process must not lose."""


def objects(kind: type[KubeObject]) -> Drawn:
    """Whole objects as they travel, with fields here and there that no model knows."""
    head = {
        "apiVersion": st.just(kind.resource.api_version),
        "kind": st.just(kind.resource.kind),
        "metadata": st.fixed_dictionaries(
            {"name": st.just("x")},
            optional={
                "labels": st.dictionaries(st.text(max_size=9), st.text(max_size=9)),
                "deletionTimestamp": st.just("2026-01-01T00:00:00Z"),
                "managedFields": st.just([{"manager": "kubectl"}]),
            },
        ),
    }
    schema = structural(kind)
    body = {name: value(node) for name, node in schema["properties"].items() if name != "metadata"}
    status = {name: body.pop(name) for name in ("status",) if name in body}
    return st.fixed_dictionaries({**head, **body}, optional=status)


def value(node: Json) -> Drawn:
    """Anything that fits one schema."""
    if "x-kubernetes-int-or-string" in node:
        return QUANTITIES
    if "enum" in node:
        return st.sampled_from(node["enum"])
    match node["type"]:
        case "object":
            return _map(node) if "additionalProperties" in node else _object(node)
        case "array":
            return st.lists(value(node["items"]), max_size=min(node["maxItems"], 2))
        case "integer":
            return st.integers(node.get("minimum"), node.get("maximum"))
        case "boolean":
            return st.booleans()
        case _:
            return _text(node)


def _text(node: Json) -> Drawn:
    return st.text(min_size=node.get("minLength", 0), max_size=node["maxLength"])


def _map(node: Json) -> Drawn:
    return st.dictionaries(st.text(max_size=9), value(node["additionalProperties"]), max_size=2)


def _object(node: Json) -> Drawn:
    fields = {name: value(field) for name, field in node.get("properties", {}).items()}
    must = {name: fields.pop(name) for name in node.get("required", ())}
    known = st.fixed_dictionaries(must, optional=fields)
    return st.builds(lambda known, more: {**more, **known}, known, STRANGERS)
