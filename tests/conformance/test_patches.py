"""JSON patch and merge patch."""

from __future__ import annotations

from typing import Any

import pytest

from .api import PATCHES, Api
from .objects import config, widget


async def test_a_merge_patch_merges_maps_and_removes_by_null(api: Api) -> None:
    made = config(data={"x": "1", "y": "2"}, labels={"a": "b"})
    (await api.create(api.path("configmaps"), made)).made()
    change = {"data": {"x": None, "z": "3"}, "metadata": {"labels": {"c": "d"}}}
    changed = await api.patch(api.path("configmaps", "a"), change)
    assert changed.body["data"] == {"y": "2", "z": "3"}
    assert changed.meta["labels"] == {"a": "b", "c": "d"}


async def test_a_merge_patch_replaces_lists(api: Api) -> None:
    (await api.create(api.path("widgets"), widget("a", {"tags": ["a", "b"]}))).made()
    changed = await api.patch(api.path("widgets", "a"), {"spec": {"tags": ["c"]}})
    assert changed.body["spec"]["tags"] == ["c"]


async def test_a_json_patch_does_its_steps_in_order(api: Api) -> None:
    (await api.create(api.path("widgets"), widget("a", {"tags": ["a", "c"]}))).made()
    steps = [
        {"op": "test", "path": "/spec/color", "value": "red"},
        {"op": "add", "path": "/spec/tags/1", "value": "b"},
        {"op": "add", "path": "/spec/tags/-", "value": "d"},
        {"op": "replace", "path": "/spec/color", "value": "blue"},
        {"op": "copy", "from": "/spec/tags/0", "path": "/spec/code"},
        {"op": "remove", "path": "/spec/tags/0"},
        {"op": "add", "path": "/metadata/labels", "value": {}},
        {"op": "add", "path": "/metadata/labels/example.com~1a", "value": "b"},
    ]
    changed = await api.patch(api.path("widgets", "a"), steps, "json")
    spec = changed.made()["spec"]
    assert (spec["tags"], spec["color"], spec["code"]) == (["b", "c", "d"], "blue", "a")
    assert changed.meta["labels"] == {"example.com/a": "b"}


@pytest.mark.parametrize(
    "step",
    [
        {"op": "test", "path": "/spec/color", "value": "blue"},
        {"op": "remove", "path": "/spec/none"},
        {"op": "replace", "path": "/spec/none/below", "value": 1},
        {"op": "add", "path": "/spec/tags/9", "value": "x"},
        {"op": "unheard", "path": "/spec/color"},
    ],
    ids=lambda step: step["op"],
)
async def test_a_json_patch_that_does_not_fit_is_422_and_changes_nothing(
    api: Api, step: dict[str, Any]
) -> None:
    made = await api.create(api.path("widgets"), widget("a", {"tags": ["a"]}))
    first = {"op": "replace", "path": "/spec/color", "value": "green"}
    refused = await api.patch(api.path("widgets", "a"), [first, step], "json")
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert refused.message == "the server rejected our request due to an error in our request"
    assert (await api.get(api.path("widgets", "a"))).version == made.version


async def test_replacing_what_a_map_lacks_adds_it(api: Api) -> None:
    (await api.create(api.path("widgets"), widget())).made()
    step = {"op": "replace", "path": "/spec/code", "value": "x"}
    changed = await api.patch(api.path("widgets", "a"), [step], "json")
    assert (changed.code, changed.body["spec"]["code"]) == (200, "x")


@pytest.mark.parametrize("kind", ["json", "merge"])
async def test_a_broken_patch_is_400(api: Api, kind: str) -> None:
    (await api.create(api.path("widgets"), widget())).made()
    for text in (b"{", b'{"a": 1}' if kind == "json" else b"[1]"):
        refused = await api.ask("PATCH", api.path("widgets", "a"), text, content=PATCHES[kind])
        assert (refused.code, refused.reason) == (400, "BadRequest")
        assert refused.message.startswith("error decoding patch: ")


async def test_a_patch_of_an_unknown_kind_is_415(api: Api) -> None:
    (await api.create(api.path("widgets"), widget())).made()
    for content in ("application/json", PATCHES["strategic"]):
        refused = await api.ask("PATCH", api.path("widgets", "a"), b"{}", content=content)
        assert (refused.code, refused.reason) == (415, "UnsupportedMediaType")


async def test_a_patch_needs_no_version_and_may_name_one(api: Api) -> None:
    path = api.path("widgets", "a")
    made = await api.create(api.path("widgets"), widget())
    named = {"metadata": {"resourceVersion": made.version}, "spec": {"size": 2}}
    assert (await api.patch(path, named)).code == 200
    refused = await api.patch(path, {**named, "spec": {"size": 3}})
    assert (refused.code, refused.reason) == (409, "Conflict")


async def test_a_patch_cannot_rename(api: Api) -> None:
    (await api.create(api.path("widgets"), widget())).made()
    for change in ({"name": "b"}, {"namespace": "b"}):
        refused = await api.patch(api.path("widgets", "a"), {"metadata": change})
        assert (refused.code, refused.reason) == (400, "BadRequest")


async def test_a_patch_with_another_uid_is_refused(api: Api) -> None:
    (await api.create(api.path("widgets"), widget())).made()
    refused = await api.patch(api.path("widgets", "a"), {"metadata": {"uid": "1"}})
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert "metadata.uid: Invalid value" in refused.message


async def test_a_patch_of_what_is_not_there_is_404(api: Api) -> None:
    for kind, body in (("merge", {}), ("json", [])):
        refused = await api.patch(api.path("widgets", "none"), body, kind)
        assert (refused.code, refused.reason) == (404, "NotFound")


async def test_a_patch_of_the_status_changes_the_status_alone(api: Api) -> None:
    path = api.path("widgets", "a")
    made = (await api.create(api.path("widgets"), widget())).made()
    change = {"spec": {"color": "blue"}, "status": {"phase": "Bound"}}
    told = await api.patch(f"{path}/status", change)
    assert (told.body["spec"], told.body["status"]) == (made["spec"], {"phase": "Bound"})
    changed = await api.patch(path, {"status": {"phase": "Lost"}})
    assert changed.body["status"] == {"phase": "Bound"}


async def test_a_json_patch_of_the_status(api: Api) -> None:
    path = api.path("widgets", "a", "status")
    (await api.create(api.path("widgets"), widget())).made()
    step = {"op": "add", "path": "/status", "value": {"phase": "Bound"}}
    assert (await api.patch(path, [step], "json")).body["status"] == {"phase": "Bound"}
