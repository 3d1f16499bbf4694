"""Custom objects under their schema: what is pruned, filled in, refused, and in which words."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from .api import Api
from .objects import GROUP, widget

UNCHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was "
    "invalid; correct the existing errors to complete validation"
)


class Wrong(NamedTuple):
    """A spec, and what is said against it."""

    spec: dict[str, Any]
    said: str
    blocking: bool = False


def words(errors: list[str]) -> str:
    said = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
    return f'Widget.{GROUP} "a" is invalid: {said}'


def mistyped(path: str, wanted: str, found: str) -> str:
    return f'{path}: Invalid value: "{found}": {path} in body must be of type {wanted}: "{found}"'


WRONG = {
    "type": Wrong({"size": "x"}, mistyped("spec.size", "integer", "string"), True),
    "type of a list": Wrong({"tags": "a"}, mistyped("spec.tags", "array", "string"), True),
    "type of a map": Wrong({"limits": []}, mistyped("spec.limits", "object", "array"), True),
    "minimum": Wrong(
        {"size": -1},
        "spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0",
    ),
    "maximum": Wrong(
        {"size": 101},
        "spec.size: Invalid value: 101: spec.size in body should be less than or equal to 100",
    ),
    "enum": Wrong(
        {"color": "pink"},
        'spec.color: Unsupported value: "pink": supported values: "red", "green", "blue"',
        True,
    ),
    "too long": Wrong(
        {"title": "x" * 11}, "spec.title: Too long: may not be more than 10 bytes", True
    ),
    "too short": Wrong(
        {"title": "x"},
        'spec.title: Invalid value: "x": spec.title in body should be at least 2 chars long',
    ),
    "pattern": Wrong(
        {"code": "A"}, "spec.code: Invalid value: \"A\": spec.code in body should match '^[a-z]+$'"
    ),
    "int or string": Wrong(
        {"amount": True}, mistyped("spec.amount", "integer,string", "boolean"), True
    ),
    "too many items": Wrong(
        {"tags": ["a", "b", "c", "d", "e"]},
        "spec.tags: Too many: 5: must have at most 4 items",
        True,
    ),
    "too many properties": Wrong(
        {"limits": {"a": 1, "b": 2, "c": 3, "d": 4}},
        "spec.limits: Too many: 4: must have at most 3 items",
        True,
    ),
    "an item of a map": Wrong(
        {"limits": {"a": 10}},
        "spec.limits.a: Invalid value: 10: spec.limits.a in body should be less than or equal to 9",
    ),
    "a set with a value twice": Wrong({"tags": ["a", "a"]}, 'spec.tags[1]: Duplicate value: "a"'),
    "a keyed list with a key twice": Wrong(
        {"parts": [{"name": "a"}, {"name": "a"}]}, 'spec.parts[1]: Duplicate value: {"name":"a"}'
    ),
    "a required field of an item": Wrong(
        {"parts": [{"count": 1}]}, "spec.parts[0].name: Required value", True
    ),
    "a rule with a field and a reason": Wrong(
        {"home": {"namespace": "forbidden"}}, "spec.home.namespace: Forbidden: not that one"
    ),
    "a rule that words its own message": Wrong(
        {"size": 60, "color": "blue"}, "spec: Invalid value: too large for one that is blue"
    ),
    "a rule without words": Wrong(
        {"amount": "0"},
        "spec: Invalid value: failed rule: !has(self.amount) || "
        "quantity(string(self.amount)).isGreaterThan(quantity('0'))",
    ),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
async def test_what_the_schema_refuses_in_which_words(api: Api, wrong: Wrong) -> None:
    refused = await api.create(api.path("widgets"), widget("a", wrong.spec))
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert refused.message == words([wrong.said, *([UNCHECKED] if wrong.blocking else [])])
    assert refused.body["details"]["kind"] == "Widget"
    assert refused.body["details"]["group"] == GROUP
    first = refused.body["details"]["causes"][0]
    assert f"{first['field']}: {first['message']}" == wrong.said


async def test_a_required_field_is_missed(api: Api) -> None:
    body = widget()
    del body["spec"]
    refused = await api.create(api.path("widgets"), body)
    assert refused.message == words(["spec: Required value", UNCHECKED])


async def test_several_errors_are_told_together(api: Api) -> None:
    refused = await api.create(api.path("widgets"), widget("a", {"code": "A", "size": -1}))
    fields = {cause["field"] for cause in refused.body["details"]["causes"]}
    assert fields == {"spec.code", "spec.size"}


async def test_unknown_fields_are_dropped_with_a_warning(api: Api) -> None:
    made = await api.create(
        api.path("widgets"), widget("a", {"unheard": 1, "parts": [{"name": "a", "of": 2}]})
    )
    assert made.code == 201
    assert "unheard" not in made.body["spec"]
    assert made.body["spec"]["parts"] == [{"name": "a", "count": 1}]
    assert sorted(made.warnings) == [
        '299 - "unknown field \\"spec.parts[0].of\\""',
        '299 - "unknown field \\"spec.unheard\\""',
    ]


async def test_unknown_fields_are_refused_if_asked_strictly(api: Api) -> None:
    refused = await api.create(
        api.path("widgets"), widget("a", {"unheard": 1}), fieldValidation="Strict"
    )
    assert (refused.code, refused.reason) == (400, "BadRequest")
    assert 'strict decoding error: unknown field "spec.unheard"' in refused.message


async def test_unknown_fields_are_dropped_without_a_word_if_asked(api: Api) -> None:
    made = await api.create(
        api.path("widgets"), widget("a", {"unheard": 1}), fieldValidation="Ignore"
    )
    assert (made.code, made.warnings) == (201, [])


async def test_preserved_fields_stay(api: Api) -> None:
    free = {"a": {"b": [1, {"c": None}]}}
    made = await api.create(api.path("widgets"), widget("a", {"free": free}))
    assert made.body["spec"]["free"] == free


async def test_defaults_are_stored(api: Api) -> None:
    made = await api.create(api.path("widgets"), widget("a", {"parts": [{"name": "x"}]}))
    assert made.body["spec"]["size"] == 1
    assert made.body["spec"]["parts"] == [{"name": "x", "count": 1}]


async def test_null_is_dropped_unless_it_is_allowed(api: Api) -> None:
    spec = {"size": None, "flag": None, "note": None}
    made = await api.create(api.path("widgets"), widget("a", spec))
    assert made.body["spec"] == {"color": "red", "size": 1, "note": None}


async def test_a_rule_of_change_holds_from_the_first_value_on(api: Api) -> None:
    path = api.path("widgets", "a")
    (await api.create(api.path("widgets"), widget())).made()
    (await api.patch(path, {"spec": {"title": "one"}})).made()
    for value in ("two", None):
        refused = await api.patch(path, {"spec": {"title": value}})
        assert refused.message == words(["spec.title: Forbidden: title never changes"])


async def test_a_rule_of_change_follows_the_items_of_a_keyed_list(api: Api) -> None:
    path = api.path("widgets", "a")
    parts = [{"name": "a", "fixed": "x"}, {"name": "b"}]
    (await api.create(api.path("widgets"), widget("a", {"parts": parts}))).made()
    moved = [{"name": "b"}, {"name": "a", "fixed": "y"}]
    refused = await api.patch(path, {"spec": {"parts": moved}})
    assert refused.message == words(["spec.parts[1]: Invalid value: fixed stays"])
    assert (await api.patch(path, {"spec": {"parts": moved[:1]}})).code == 200


async def test_the_status_has_its_schema(api: Api) -> None:
    path = api.path("widgets", "a", "status")
    (await api.create(api.path("widgets"), widget())).made()
    told = await api.patch(path, {"status": {"phase": "x", "unheard": 1}})
    assert told.body["status"] == {"phase": "x"}
    refused = await api.patch(path, {"status": {"phase": "x" * 21}})
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert "status.phase: Too long: may not be more than 20 bytes" in refused.message


async def test_a_write_of_the_status_does_not_look_at_the_spec(api: Api) -> None:
    path = api.path("widgets", "a")
    made = (await api.create(api.path("widgets"), widget())).made()
    body = {**made, "spec": {"color": "pink"}, "status": {"phase": "x"}}
    told = await api.replace(f"{path}/status", body)
    assert (told.code, told.body["spec"]["color"]) == (200, "red")
