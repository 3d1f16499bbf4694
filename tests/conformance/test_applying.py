"""Server-side apply and strategic merge patch: whose a field is, and what goes with it."""

from __future__ import annotations

from typing import Any

from .api import Api, Object, Reply
from .objects import GROUP, config, pod, widget


async def apply(api: Api, plural: str, body: Object, manager: str, **query: str) -> Reply:
    """Apply an object by its own name."""
    path = api.path(plural, body["metadata"]["name"], query.pop("sub", ""))
    return await api.patch(path, body, "apply", fieldManager=manager, **query)


def part(**spec: Any) -> Object:
    """Some fields of the Widget `a`."""
    head = {"apiVersion": f"{GROUP}/v1", "kind": "Widget"}
    return {**head, "metadata": {"name": "a"}, "spec": spec}


def managers(reply: Reply) -> dict[str, Any]:
    """Who owns what."""
    return {one["manager"]: one["fieldsV1"] for one in reply.meta["managedFields"]}


async def test_an_apply_creates(api: Api) -> None:
    made = await apply(api, "configmaps", config(data={"x": "1", "y": "2"}), "m")
    assert (made.code, made.body["data"]) == (201, {"x": "1", "y": "2"})
    (entry,) = made.meta["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("m", "Apply")
    assert entry["fieldsV1"] == {"f:data": {"f:x": {}, "f:y": {}}}


async def test_the_same_apply_again_changes_nothing(api: Api) -> None:
    made = await apply(api, "configmaps", config(), "m")
    assert (await apply(api, "configmaps", config(), "m")).version == made.version


async def test_what_an_apply_no_longer_names_goes(api: Api) -> None:
    await apply(api, "configmaps", config(data={"x": "1", "y": "2"}), "m")
    changed = await apply(api, "configmaps", config(data={"x": "1"}), "m")
    assert (changed.code, changed.body["data"]) == (200, {"x": "1"})


async def test_managers_of_different_fields_do_not_meet(api: Api) -> None:
    await apply(api, "configmaps", config(data={"x": "1"}), "m")
    changed = await apply(api, "configmaps", config(data={"z": "3"}), "n")
    assert changed.body["data"] == {"x": "1", "z": "3"}
    assert managers(changed) == {"m": {"f:data": {"f:x": {}}}, "n": {"f:data": {"f:z": {}}}}


async def test_a_conflict_names_field_and_manager(api: Api) -> None:
    await apply(api, "configmaps", config(data={"x": "1"}), "m")
    refused = await apply(api, "configmaps", config(data={"x": "9"}), "n")
    assert (refused.code, refused.reason) == (409, "Conflict")
    assert refused.message == 'Apply failed with 1 conflict: conflict with "m": .data.x'
    assert refused.body["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "m"', "field": ".data.x"}
    ]


async def test_force_takes_the_field(api: Api) -> None:
    await apply(api, "configmaps", config(data={"x": "1"}), "m")
    taken = await apply(api, "configmaps", config(data={"x": "9"}), "n", force="true")
    assert (taken.body["data"], managers(taken)) == ({"x": "9"}, {"n": {"f:data": {"f:x": {}}}})


async def test_two_managers_who_agree_share_a_field(api: Api) -> None:
    await apply(api, "configmaps", config(data={"x": "1"}), "m")
    shared = await apply(api, "configmaps", config(data={"x": "1"}), "n")
    assert set(managers(shared)) == {"m", "n"}
    left = await apply(api, "configmaps", config(data={"y": "1"}), "m")
    assert left.body["data"] == {"x": "1", "y": "1"}


async def test_an_update_takes_what_it_changes(api: Api) -> None:
    await apply(api, "widgets", part(color="red", code="a"), "m")
    changed = await api.patch(api.path("widgets", "a"), {"spec": {"color": "blue"}})
    assert managers(changed)["m"] == {"f:spec": {"f:code": {}}}
    refused = await apply(api, "widgets", part(color="red", code="a"), "m")
    assert (refused.code, refused.reason) == (409, "Conflict")
    assert refused.body["details"]["causes"][0]["field"] == ".spec.color"


async def test_an_apply_meets_what_was_updated_before(api: Api) -> None:
    (await api.create(api.path("configmaps"), config(data={"x": "1"}))).made()
    assert (await apply(api, "configmaps", config(data={"x": "2"}), "m")).reason == "Conflict"
    assert (await apply(api, "configmaps", config(data={"y": "2"}), "m")).code == 200


async def test_keyed_lists_and_sets_are_merged(api: Api) -> None:
    first = part(color="red", parts=[{"name": "a", "count": 2}], tags=["a"], limits={"a": 1})
    await apply(api, "widgets", first, "m")
    second = part(parts=[{"name": "b"}], tags=["b"], limits={"b": 2})
    merged = await apply(api, "widgets", second, "n")
    assert merged.body["spec"] == {
        "color": "red",
        "size": 1,
        "limits": {"a": 1, "b": 2},
        "parts": [{"name": "a", "count": 2}, {"name": "b", "count": 1}],
        "tags": ["a", "b"],
    }
    assert managers(merged)["n"]["f:spec"] == {
        "f:limits": {"f:b": {}},
        "f:parts": {'k:{"name":"b"}': {".": {}, "f:name": {}}},
        "f:tags": {'v:"b"': {}},
    }
    refused = await apply(api, "widgets", part(parts=[{"name": "a", "count": 3}]), "n")
    assert refused.body["details"]["causes"][0]["field"] == '.spec.parts[name="a"].count'
    left = await apply(api, "widgets", part(color="red"), "m")
    assert left.body["spec"] == {
        "color": "red",
        "size": 1,
        "limits": {"b": 2},
        "parts": [{"name": "b", "count": 1}],
        "tags": ["b"],
    }


async def test_an_apply_of_the_status_owns_the_status_alone(api: Api) -> None:
    (await api.create(api.path("widgets"), widget())).made()
    body = {**part(color="blue"), "status": {"phase": "Bound"}}
    told = await apply(api, "widgets", body, "m", sub="status")
    assert (told.body["status"], told.body["spec"]["color"]) == ({"phase": "Bound"}, "red")
    entry = next(one for one in told.meta["managedFields"] if one["manager"] == "m")
    assert (entry["subresource"], entry["fieldsV1"]) == ("status", {"f:status": {"f:phase": {}}})


async def test_finalizers_and_labels_have_owners(api: Api) -> None:
    body = widget(labels={"a": "b"}, finalizers=["example.com/m"])
    await apply(api, "widgets", body, "m")
    other = {**part(), "metadata": {"name": "a", "finalizers": ["example.com/n"]}}
    del other["spec"]
    both = await apply(api, "widgets", other, "n")
    assert both.meta["finalizers"] == ["example.com/m", "example.com/n"]
    left = await apply(api, "widgets", widget(), "m")
    assert left.meta["finalizers"] == ["example.com/n"]
    assert "labels" not in left.meta
    await api.patch(api.path("widgets", "a"), {"metadata": {"finalizers": None}})


async def test_an_apply_without_manager_or_kind_is_refused(api: Api) -> None:
    path = api.path("configmaps", "a")
    refused = await api.patch(path, config(), "apply")
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert "fieldManager: Required value: is required for apply patch" in refused.message
    refused = await api.patch(path, {"metadata": {"name": "a"}}, "apply", fieldManager="m")
    assert (refused.code, refused.reason) == (400, "BadRequest")


async def test_an_apply_may_name_a_version_or_a_uid(api: Api) -> None:
    await apply(api, "configmaps", config(), "m")
    refused = await apply(api, "configmaps", config(resourceVersion="1"), "m")
    assert (refused.code, refused.reason) == (409, "Conflict")
    refused = await apply(api, "configmaps", config("b", uid="1"), "m")
    assert (refused.code, refused.reason) == (409, "Conflict")
    assert "no existing object was found" in refused.message


async def test_an_apply_can_be_tried_dry(api: Api) -> None:
    made = await apply(api, "configmaps", config(), "m", dryRun="All")
    assert made.code == 201
    assert (await api.get(api.path("configmaps", "a"))).code == 404


# -- strategic merge patch ---------------------------------------------------------------------


async def test_a_strategic_patch_merges_lists_by_key(api: Api) -> None:
    path = api.path("pods", "a")
    (await api.create(api.path("pods"), pod())).made()
    change = {"spec": {"containers": [{"name": "main", "image": "other"}]}}
    (container,) = (await api.patch(path, change, "strategic")).body["spec"]["containers"]
    assert (container["name"], container["image"]) == ("main", "other")
    for name in ("Ready", "Initialized"):
        fact = {"type": name, "status": "True"}
        await api.patch(f"{path}/status", {"status": {"conditions": [fact]}}, "strategic")
    told = await api.get(path)
    assert {one["type"] for one in told.body["status"]["conditions"]} == {"Ready", "Initialized"}
    drop = {"status": {"conditions": [{"type": "Ready", "$patch": "delete"}]}}
    told = await api.patch(f"{path}/status", drop, "strategic")
    assert [one["type"] for one in told.body["status"]["conditions"]] == ["Initialized"]


async def test_a_strategic_patch_of_finalizers(api: Api) -> None:
    path = api.path("configmaps", "a")
    (await api.create(api.path("configmaps"), config(finalizers=["example.com/a"]))).made()
    more = await api.patch(path, {"metadata": {"finalizers": ["example.com/b"]}}, "strategic")
    assert more.meta["finalizers"] == ["example.com/b", "example.com/a"]
    drop = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}
    assert (await api.patch(path, drop, "strategic")).meta["finalizers"] == ["example.com/b"]
    await api.patch(path, {"metadata": {"finalizers": None}}, "strategic")


async def test_a_strategic_patch_merges_and_replaces_maps(api: Api) -> None:
    path = api.path("configmaps", "a")
    (await api.create(api.path("configmaps"), config(data={"x": "1"}))).made()
    changed = await api.patch(path, {"data": {"x": None, "y": "2"}}, "strategic")
    assert changed.body["data"] == {"y": "2"}
    changed = await api.patch(path, {"data": {"$patch": "replace", "q": "3"}}, "strategic")
    assert changed.body["data"] == {"q": "3"}
