"""Create and read: what the server gives an object, and what it refuses."""

from __future__ import annotations

import re

from .api import Api
from .objects import config, widget


async def test_a_new_object_gets_uid_time_and_version(api: Api) -> None:
    made = await api.create(api.path("configmaps"), config())
    assert made.code == 201
    assert made.body["kind"] == "ConfigMap"
    assert made.body["apiVersion"] == "v1"
    assert made.meta["namespace"] == api.namespace
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", made.meta["uid"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", made.meta["creationTimestamp"])
    assert int(made.version) > 0
    assert "generation" not in made.meta


async def test_a_new_custom_object_has_generation_one(api: Api) -> None:
    made = await api.create(api.path("widgets"), widget())
    assert (made.code, made.meta["generation"]) == (201, 1)


async def test_a_body_may_leave_out_the_kind_of_a_built_in(api: Api) -> None:
    made = await api.create(api.path("configmaps"), {"metadata": {"name": "a"}})
    assert (made.code, made.body["kind"]) == (201, "ConfigMap")


async def test_a_custom_object_without_kind_is_refused(api: Api) -> None:
    body = widget()
    del body["kind"]
    refused = await api.create(api.path("widgets"), body)
    assert (refused.code, refused.reason) == (400, "BadRequest")


async def test_a_wrong_kind_is_refused(api: Api) -> None:
    refused = await api.create(api.path("configmaps"), {**config(), "kind": "Other"})
    assert (refused.code, refused.reason) == (400, "BadRequest")
    refused = await api.create(api.path("widgets"), {**widget(), "kind": "Other"})
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert refused.message.endswith('kind: Invalid value: "Other": must be Widget')


async def test_a_wrong_version_is_refused(api: Api) -> None:
    for path, body in (("configmaps", config()), ("widgets", widget())):
        refused = await api.create(api.path(path), {**body, "apiVersion": "other/v7"})
        assert (refused.code, refused.reason) == (400, "BadRequest")


async def test_another_namespace_in_the_body_is_refused(api: Api) -> None:
    for path, body in (("configmaps", config(namespace="x")), ("widgets", widget(namespace="x"))):
        refused = await api.create(api.path(path), body)
        assert (refused.code, refused.reason) == (400, "BadRequest")
        assert "does not match the namespace" in refused.message


async def test_a_missing_namespace_is_404(api: Api) -> None:
    refused = await api.create("/api/v1/namespaces/nowhere/configmaps", config())
    assert (refused.code, refused.reason) == (404, "NotFound")
    assert refused.message == 'namespaces "nowhere" not found'
    assert refused.body["details"] == {"name": "nowhere", "kind": "namespaces"}


async def test_a_second_object_of_a_name_is_409_already_exists(api: Api) -> None:
    for path, body, named in (
        ("configmaps", config(), {"name": "a", "kind": "configmaps"}),
        (
            "widgets",
            widget(),
            {"name": "a", "group": "conformance.example.com", "kind": "widgets"},
        ),
    ):
        (await api.create(api.path(path), body)).made()
        refused = await api.create(api.path(path), body)
        assert (refused.code, refused.reason) == (409, "AlreadyExists")
        assert refused.message.endswith(' "a" already exists')
        assert refused.body["details"] == named


async def test_generate_name_makes_up_a_name(api: Api) -> None:
    body = config()
    body["metadata"] = {"generateName": "some-"}
    names = {(await api.create(api.path("configmaps"), body)).meta["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(re.fullmatch(r"some-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in names)


async def test_no_name_is_422(api: Api) -> None:
    refused = await api.create(api.path("configmaps"), {"metadata": {}})
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert "metadata.name: Required value: name or generateName is required" in refused.message


async def test_a_bad_name_is_422_with_its_cause(api: Api) -> None:
    for path, body, kind in (
        ("configmaps", config("Bad_Name"), "ConfigMap"),
        ("widgets", widget("Bad_Name"), "Widget"),
    ):
        refused = await api.create(api.path(path), body)
        assert (refused.code, refused.reason) == (422, "Invalid")
        (cause,) = refused.body["details"]["causes"]
        assert (cause["reason"], cause["field"]) == ("FieldValueInvalid", "metadata.name")
        assert 'Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain' in cause["message"]
        assert refused.body["details"]["kind"] == kind


async def test_a_name_of_254_characters_is_422(api: Api) -> None:
    refused = await api.create(api.path("widgets"), widget("x" * 254))
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert "must be no more than 253" in refused.message
    (await api.create(api.path("widgets"), widget("x" * 253))).made()


async def test_what_only_the_server_sets_is_ignored_at_creation(api: Api) -> None:
    body = widget(uid="mine", generation=7, deletionTimestamp="2026-01-01T00:00:00Z")
    made = await api.create(api.path("widgets"), body)
    assert made.code == 201
    assert made.meta["uid"] != "mine"
    assert made.meta["generation"] == 1
    assert "deletionTimestamp" not in made.meta


async def test_a_version_at_creation_is_refused(api: Api) -> None:
    refused = await api.create(api.path("configmaps"), config(resourceVersion="5"))
    assert refused.code == 500
    assert "resourceVersion should not be set on objects to be created" in refused.message


async def test_unknown_metadata_is_dropped(api: Api) -> None:
    made = await api.create(api.path("widgets"), widget(unheard="x", labels={"a": "b"}))
    assert made.code == 201
    assert "unheard" not in made.meta
    assert made.meta["labels"] == {"a": "b"}


async def test_dry_run_stores_nothing(api: Api) -> None:
    made = await api.create(api.path("configmaps"), config(), dryRun="All")
    assert (made.code, made.meta["name"]) == (201, "a")
    assert (await api.get(api.path("configmaps", "a"))).code == 404


async def test_status_is_dropped_at_creation(api: Api) -> None:
    made = await api.create(api.path("widgets"), {**widget(), "status": {"phase": "Bound"}})
    assert "status" not in made.body


async def test_empty_metadata_is_as_none(api: Api) -> None:
    empty = {"uid": "", "resourceVersion": "", "generateName": ""}
    made = await api.create(api.path("configmaps"), config(**empty))
    assert (made.code, "generateName" in made.meta) == (201, False)
    assert (await api.replace(api.path("configmaps", "a"), config(data={}, **empty))).code == 200
