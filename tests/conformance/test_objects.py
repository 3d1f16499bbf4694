"""Create, read, replace: what the server gives an object, keeps, and refuses."""

from __future__ import annotations

import io
import json
import re

from .api import Api
from .objects import config, gadget, pod, widget


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


async def test_a_body_that_is_no_json_is_refused(api: Api) -> None:
    refused = await api.ask("POST", api.path("configmaps"), b"{")
    assert (refused.code, refused.reason) == (400, "BadRequest")


async def test_yaml_is_read(api: Api) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: z}\n"
    made = await api.ask("POST", api.path("configmaps"), text, content="application/yaml")
    assert (made.code, made.body["data"]) == (201, {"x": "z"})


async def test_an_unknown_format_is_415(api: Api) -> None:
    refused = await api.ask("POST", api.path("widgets"), b"x", content="text/plain")
    assert (refused.code, refused.reason) == (415, "UnsupportedMediaType")


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


async def test_missing_is_404_and_says_what(api: Api) -> None:
    missing = await api.get(api.path("widgets", "none"))
    assert (missing.code, missing.reason) == (404, "NotFound")
    assert missing.message == 'widgets.conformance.example.com "none" not found'
    assert missing.body["details"] == {
        "name": "none",
        "group": "conformance.example.com",
        "kind": "widgets",
    }


async def test_an_unknown_resource_is_404(api: Api) -> None:
    for path in ("/apis/nobody.example.com/v1/things", "/api/v1/things"):
        missing = await api.get(path)
        assert missing.code == 404


async def test_a_method_that_is_not_served_is_405(api: Api) -> None:
    refused = await api.ask("POST", api.path("configmaps", "a"), config())
    assert (refused.code, refused.reason) == (405, "MethodNotAllowed")


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


async def test_dry_run_of_an_update_and_a_delete_change_nothing(api: Api) -> None:
    path = api.path("configmaps", "a")
    made = await api.create(api.path("configmaps"), config())
    changed = await api.patch(path, {"data": {"x": "2"}}, dryRun="All")
    assert (changed.code, changed.body["data"]) == (200, {"x": "2"})
    assert (await api.delete(path, dryRun="All")).code == 200
    assert (await api.get(path)).version == made.version


async def test_every_write_has_a_greater_version(api: Api) -> None:
    versions = []
    for name in "abc":
        made = await api.create(api.path("configmaps"), config(name))
        versions.append(int(made.version))
    changed = await api.patch(api.path("configmaps", "a"), {"data": {"x": "2"}})
    assert [*versions, int(changed.version)] == sorted({*versions, int(changed.version)})


async def test_a_put_with_the_current_version_is_taken(api: Api) -> None:
    made = (await api.create(api.path("widgets"), widget())).made()
    made["spec"]["color"] = "green"
    changed = await api.replace(api.path("widgets", "a"), made)
    assert (changed.code, changed.body["spec"]["color"]) == (200, "green")
    assert changed.version != made["metadata"]["resourceVersion"]


async def test_a_put_with_an_old_version_is_409_conflict(api: Api) -> None:
    for path, body in (("configmaps", config()), ("widgets", widget())):
        made = (await api.create(api.path(path), body)).made()
        (await api.patch(api.path(path, "a"), {"metadata": {"labels": {"n": "1"}}})).made()
        refused = await api.replace(api.path(path, "a"), made)
        assert (refused.code, refused.reason) == (409, "Conflict")
        assert refused.message.endswith(
            '"a": the object has been modified; please apply your changes to the latest version '
            "and try again"
        )
        assert refused.body["details"]["name"] == "a"


async def test_a_put_of_a_custom_object_without_version_is_422(api: Api) -> None:
    (await api.create(api.path("widgets"), widget())).made()
    refused = await api.replace(api.path("widgets", "a"), widget())
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert "metadata.resourceVersion: Invalid value" in refused.message
    assert "must be specified for an update" in refused.message


async def test_a_put_of_a_config_map_without_version_is_taken(api: Api) -> None:
    (await api.create(api.path("configmaps"), config())).made()
    changed = await api.replace(api.path("configmaps", "a"), config(data={"y": "2"}))
    assert (changed.code, changed.body["data"]) == (200, {"y": "2"})


async def test_a_put_of_what_is_not_there_is_404(api: Api) -> None:
    for path, body in (
        ("configmaps", config()),
        ("widgets", widget()),
        ("widgets", widget(resourceVersion="5")),
    ):
        refused = await api.replace(api.path(path, "a"), body)
        assert (refused.code, refused.reason) == (404, "NotFound")


async def test_a_put_under_another_name_is_refused(api: Api) -> None:
    made = (await api.create(api.path("widgets"), widget())).made()
    (await api.create(api.path("widgets"), widget("b"))).made()
    refused = await api.replace(api.path("widgets", "b"), made)
    assert (refused.code, refused.reason) == (400, "BadRequest")
    assert "the name of the object (a) does not match the name on the URL (b)" in refused.message


async def test_a_put_with_another_uid_is_409(api: Api) -> None:
    for path, body in (("configmaps", config()), ("widgets", widget())):
        made = (await api.create(api.path(path), body)).made()
        made["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000"
        made["metadata"]["labels"] = {"n": "1"}
        refused = await api.replace(api.path(path, "a"), made)
        assert (refused.code, refused.reason) == (409, "Conflict")
        assert "Precondition failed: UID in precondition" in refused.message


async def test_a_write_that_changes_nothing_keeps_the_version(api: Api) -> None:
    for path, body in (("configmaps", config()), ("widgets", widget())):
        made = await api.create(api.path(path), body)
        assert (await api.replace(api.path(path, "a"), made.body)).version == made.version
        patched = await api.patch(api.path(path, "a"), {"metadata": {"labels": None}})
        assert patched.version == made.version


async def test_what_a_put_leaves_out_is_gone(api: Api) -> None:
    made = (await api.create(api.path("widgets"), widget(labels={"a": "b"}))).made()
    del made["metadata"]["labels"]
    changed = await api.replace(api.path("widgets", "a"), made)
    assert "labels" not in changed.meta


async def test_creation_time_and_uid_survive_a_put_without_them(api: Api) -> None:
    made = (await api.create(api.path("configmaps"), config())).made()
    changed = await api.replace(api.path("configmaps", "a"), config(data={}))
    for key in ("uid", "creationTimestamp"):
        assert changed.meta[key] == made["metadata"][key]


async def test_generation_grows_with_the_spec_alone(api: Api) -> None:
    path = api.path("widgets", "a")
    (await api.create(api.path("widgets"), widget())).made()
    labelled = await api.patch(path, {"metadata": {"labels": {"a": "b"}}})
    assert labelled.meta["generation"] == 1
    changed = await api.patch(path, {"spec": {"size": 2}})
    assert changed.meta["generation"] == 2
    told = await api.patch(f"{path}/status", {"status": {"phase": "Bound"}})
    assert told.meta["generation"] == 2


async def test_generation_without_status_subresource_counts_status_too(api: Api) -> None:
    name = f"{api.namespace}-a"
    (await api.create(api.path("gadgets"), gadget(name))).made()
    path = api.path("gadgets", name)
    assert (await api.patch(path, {"status": {"x": 1}})).meta["generation"] == 2
    assert (await api.get(f"{path}/status")).code == 404


async def test_status_is_dropped_at_creation(api: Api) -> None:
    made = await api.create(api.path("widgets"), {**widget(), "status": {"phase": "Bound"}})
    assert "status" not in made.body


async def test_a_put_of_the_object_leaves_its_status(api: Api) -> None:
    path = api.path("widgets", "a")
    (await api.create(api.path("widgets"), widget())).made()
    told = (await api.patch(f"{path}/status", {"status": {"phase": "Bound"}})).made()
    changed = await api.replace(path, {**told, "status": {"phase": "Lost"}})
    assert changed.body["status"] == {"phase": "Bound"}
    assert changed.version == told["metadata"]["resourceVersion"]


async def test_a_put_of_the_status_changes_nothing_else(api: Api) -> None:
    path = api.path("widgets", "a")
    made = (await api.create(api.path("widgets"), widget(labels={"a": "b"}))).made()
    body = {**made, "spec": {"color": "blue"}, "status": {"phase": "Bound"}}
    body["metadata"] = {**made["metadata"], "labels": {"c": "d"}, "finalizers": ["x.y/z"]}
    told = await api.replace(f"{path}/status", body)
    assert told.code == 200
    assert told.body["spec"] == made["spec"]
    assert told.meta["labels"] == {"a": "b"}
    assert "finalizers" not in told.meta
    assert told.body["status"] == {"phase": "Bound"}


async def test_a_put_of_the_status_is_a_compare_and_swap(api: Api) -> None:
    path = api.path("widgets", "a")
    made = (await api.create(api.path("widgets"), widget())).made()
    (await api.patch(path, {"spec": {"size": 2}})).made()
    refused = await api.replace(f"{path}/status", {**made, "status": {"phase": "Bound"}})
    assert (refused.code, refused.reason) == (409, "Conflict")


async def test_the_status_can_be_read_alone_as_the_whole_object(api: Api) -> None:
    (await api.create(api.path("widgets"), widget())).made()
    read = await api.get(api.path("widgets", "a", "status"))
    assert (read.code, read.body["spec"]["color"]) == (200, "red")


async def test_a_pods_status_write_may_change_labels(api: Api) -> None:
    path = api.path("pods", "a")
    made = (await api.create(api.path("pods"), pod())).made()
    assert made["status"]["phase"] == "Pending"
    change = {"metadata": {"annotations": {"a": "b"}}, "status": {"phase": "Running"}}
    told = await api.patch(f"{path}/status", change)
    assert (told.code, told.body["status"]["phase"]) == (200, "Running")
    assert told.meta["annotations"]["a"] == "b"


async def test_a_body_of_four_megabytes_is_413(api: Api) -> None:
    text = json.dumps(config(data={"x": "y" * (4 << 20)})).encode()
    refused = await api.ask("POST", api.path("configmaps"), io.BytesIO(text))
    assert (refused.code, refused.reason) == (413, "RequestEntityTooLarge")
    assert refused.message == "Request entity too large: limit is 3145728"


async def test_a_limit_that_is_no_number_is_400(api: Api) -> None:
    refused = await api.get(api.path("configmaps"), limit="x")
    assert (refused.code, refused.reason) == (400, "BadRequest")


async def test_empty_metadata_is_as_none(api: Api) -> None:
    empty = {"uid": "", "resourceVersion": "", "generateName": ""}
    made = await api.create(api.path("configmaps"), config(**empty))
    assert (made.code, "generateName" in made.meta) == (201, False)
    assert (await api.replace(api.path("configmaps", "a"), config(data={}, **empty))).code == 200
