"""Replace: what a PUT changes, what it leaves, and which one is refused."""

from __future__ import annotations

from .api import Api
from .objects import config, widget


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
