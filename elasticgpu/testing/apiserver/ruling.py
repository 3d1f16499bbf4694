"""The rules of a CRD, `x-kubernetes-validations`: evaluated where a write changed something."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from elasticgpu.cluster.transport import dumps, loads

from .checking import shown
from .expressions import Failed, Scope
from .refusal import FieldError
from .schemas import Node, Rule, same_item

REMEMBERED = 8192
"""So many verdicts are kept."""

UNCHECKED = FieldError(
    "<nil>",
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)
"""Said beside errors that leave no sense in asking the rules."""

_WORDS = {
    "FieldValueForbidden": "Forbidden",
    "FieldValueRequired": "Required value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueDuplicate": "Duplicate value",
}


def judge(node: Node, body: dict[str, Any], old: dict[str, Any] | None) -> list[FieldError]:
    """What the rules of a kind say against the object."""
    return list(_judge(node, _visible(body), None if old is None else _visible(old), ""))


def _visible(body: dict[str, Any]) -> dict[str, Any]:
    """Of metadata rules see the name alone."""
    meta = body.get("metadata", {})
    seen = {key: meta[key] for key in ("name", "generateName") if key in meta}
    return {**body, "metadata": seen}


def _judge(node: Node, value: Any, old: Any, path: str) -> Iterator[FieldError]:
    if value is None or (old is not None and value == old):
        return
    if node.rules:
        yield from _here(node, value, old, path)
    if isinstance(value, dict):
        before = old if isinstance(old, dict) else {}
        for name, one in value.items():
            below = node.properties.get(name, node.additional)
            if below is not None:
                where = f"{path}.{name}" if name in node.properties else f"{path}[{name}]"
                yield from _judge(below, one, before.get(name), where)
    elif isinstance(value, list) and node.items:
        known = {same_item(node, one): one for one in old or ()} if node.list_type == "map" else {}
        for number, one in enumerate(value):
            yield from _judge(node.items, one, known.get(same_item(node, one)), f"{path}[{number}]")


def _here(node: Node, value: Any, old: Any, path: str) -> Iterator[FieldError]:
    for rule, said in _verdict(node, dumps(value), None if old is None else dumps(old)):
        yield _error(rule, value, path, said)


@lru_cache(maxsize=REMEMBERED)
def _verdict(node: Node, value: bytes, old: bytes | None) -> tuple[tuple[Rule, str], ...]:
    """The rules of one place that do not hold, and what each says. Rules see nothing but the two
    values, and the same ones come again and again."""
    before = None if old is None else {"oldSelf": loads(old)}
    scope = Scope({"self": loads(value), **(before or {})})
    found = []
    for rule in node.rules:
        if before or not rule.transition:
            said = _said(rule, scope)
            found += [] if said is None else [(rule, said)]
    return tuple(found)


def _said(rule: Rule, scope: Scope) -> str | None:
    """What the rule says against the value; None if it holds."""
    words = rule.message or f"failed rule: {rule.text}"
    try:
        if scope.value(rule.text) is True:
            return None
        return str(scope.value(rule.message_expression)) if rule.message_expression else words
    except Failed as error:
        return f"{error} evaluating rule: {words}"


def _error(rule: Rule, value: Any, path: str, said: str) -> FieldError:
    word = _WORDS[rule.reason]
    if rule.reason in ("FieldValueForbidden", "FieldValueRequired") or isinstance(
        value, (dict, list)
    ):
        text = f"{word}: {said}"
    else:
        text = f"{word}: {shown(value)}: {said}"
    return FieldError((path + rule.at).lstrip(".") or "<nil>", rule.reason, text)
