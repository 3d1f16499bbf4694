"""Watches: from where, what is told, and how they end."""

from __future__ import annotations

from .api import Api
from .objects import KEEP, config, widget

END = "k8s.io/initial-events-end"


async def test_a_watch_from_a_version_tells_what_came_after(api: Api) -> None:
    before = await api.create(api.path("widgets"), widget("a"))
    (await api.create(api.path("widgets"), widget("b"))).made()
    path = api.path("widgets")
    async with api.watch(path, resourceVersion=before.version) as events:
        assert await events.next() == ("ADDED", (await api.get(f"{path}/b")).body)
        changed = await api.patch(f"{path}/a", {"spec": {"size": 3}})
        assert await events.next() == ("MODIFIED", changed.body)
        await api.delete(f"{path}/a")
        kind, gone = await events.next()
        assert (kind, gone["metadata"]["name"]) == ("DELETED", "a")
        assert int(gone["metadata"]["resourceVersion"]) > int(changed.version)
        assert gone["spec"] == changed.body["spec"]


async def test_a_watch_without_version_begins_with_what_is_there(api: Api) -> None:
    (await api.create(api.path("widgets"), widget("a"))).made()
    for version in ({}, {"resourceVersion": "0"}):
        async with api.watch(api.path("widgets"), **version) as events:
            assert await events.some(1) == [("ADDED", "a")]


async def test_a_version_too_old_is_410(api: Api) -> None:
    (await api.create(api.path("widgets"), widget("a"))).made()
    async with api.watch(api.path("widgets"), resourceVersion="1") as events:
        assert events.code == 200
        kind, status = await events.next()
        assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
        assert status["message"].startswith("too old resource version: 1 (")


async def test_a_version_from_the_future_is_silent(api: Api) -> None:
    version = (await api.get(api.path("widgets"))).version
    future = str(int(version) + 10**6)
    async with api.watch(api.path("widgets"), resourceVersion=future, timeoutSeconds="1") as events:
        (await api.create(api.path("widgets"), widget("a"))).made()
        assert await events.rest() == []


async def test_a_watch_ends_when_its_time_is_over(api: Api) -> None:
    version = (await api.get(api.path("widgets"))).version
    async with api.watch(
        api.path("widgets"), resourceVersion=version, timeoutSeconds="1"
    ) as events:
        assert await events.rest() == []


async def test_a_bookmark_comes_before_the_end_if_it_is_allowed(api: Api) -> None:
    """As new as the last event; a server under load may miss the moment, so it has several."""
    version = (await api.get(api.path("widgets"))).version
    for seconds in ("3", "5", "8", "16"):
        query = {"resourceVersion": version, "timeoutSeconds": seconds}
        async with api.watch(api.path("widgets"), allowWatchBookmarks="true", **query) as events:
            made = await api.create(api.path("widgets"), widget(f"after-{seconds}"))
            found = await events.rest()
        if found[-1][0] == "BOOKMARK":
            break
    kind, mark = found[-1]
    assert (kind, mark["kind"], set(mark["metadata"])) == (
        "BOOKMARK",
        "Widget",
        {"resourceVersion"},
    )
    assert int(mark["metadata"]["resourceVersion"]) >= int(made.version)


async def test_initial_events_end_with_a_marked_bookmark(api: Api) -> None:
    for name in "ab":
        (await api.create(api.path("widgets"), widget(name))).made()
    query = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    async with api.watch(api.path("widgets"), **query) as events:
        assert sorted(await events.some(2)) == [("ADDED", "a"), ("ADDED", "b")]
        kind, mark = await events.next()
        assert (kind, mark["metadata"]["annotations"]) == ("BOOKMARK", {END: "true"})
        listed = await api.get(api.path("widgets"))
        assert int(mark["metadata"]["resourceVersion"]) <= int(listed.version)
        (await api.create(api.path("widgets"), widget("c"))).made()
        assert await events.some(1) == [("ADDED", "c")]


async def test_initial_events_need_a_match(api: Api) -> None:
    refused = await api.get(api.path("widgets"), watch="true", sendInitialEvents="true")
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert "resourceVersionMatch" in refused.message


async def test_a_match_alone_is_forbidden_for_a_watch(api: Api) -> None:
    query = {"watch": "true", "resourceVersion": "1", "resourceVersionMatch": "NotOlderThan"}
    refused = await api.get(api.path("widgets"), **query)
    assert (refused.code, refused.reason) == (422, "Invalid")


async def test_a_watch_of_one_namespace_hears_of_no_other(api: Api) -> None:
    path = api.path("configmaps")
    version = (await api.get(path)).version
    async with api.watch(path, resourceVersion=version, labelSelector="app=here") as events:
        other = config("elsewhere", labels={"app": "here"})
        (await api.create("/api/v1/namespaces/default/configmaps", other)).made()
        (await api.create(path, config("here", labels={"app": "here"}))).made()
        assert await events.some(1) == [("ADDED", "here")]
    await api.delete("/api/v1/namespaces/default/configmaps/elsewhere")


async def test_what_enters_and_leaves_a_selection_is_added_and_deleted(api: Api) -> None:
    path = api.path("widgets")
    made = await api.create(path, widget("a"))
    query = {"resourceVersion": made.version, "labelSelector": "x=1"}
    async with api.watch(path, **query) as events:
        entered = await api.patch(f"{path}/a", {"metadata": {"labels": {"x": "1"}}})
        assert await events.next() == ("ADDED", entered.body)
        changed = await api.patch(f"{path}/a", {"spec": {"size": 5}})
        assert await events.next() == ("MODIFIED", changed.body)
        left = await api.patch(f"{path}/a", {"metadata": {"labels": {"x": "2"}}})
        kind, seen = await events.next()
        assert (kind, seen["metadata"]["labels"]) == ("DELETED", {"x": "1"})
        assert seen["metadata"]["resourceVersion"] == left.version


async def test_field_selectors_select_events(api: Api) -> None:
    path = api.path("widgets")
    version = (await api.get(path)).version
    async with api.watch(path, resourceVersion=version, fieldSelector="spec.color=blue") as events:
        (await api.create(path, widget("a"))).made()
        (await api.create(path, widget("b", {"color": "blue"}))).made()
        (await api.patch(f"{path}/b", {"spec": {"color": "red"}})).made()
        assert await events.some(2) == [("ADDED", "b"), ("DELETED", "b")]


async def test_one_object_can_be_watched_by_its_name(api: Api) -> None:
    path = api.path("widgets")
    version = (await api.get(path)).version
    query = {"resourceVersion": version, "fieldSelector": "metadata.name=b"}
    async with api.watch(path, **query) as events:
        for name in "ab":
            (await api.create(path, widget(name))).made()
        assert await events.some(1) == [("ADDED", "b")]


async def test_the_path_of_an_object_is_read_not_watched(api: Api) -> None:
    made = await api.create(api.path("configmaps"), config("a"))
    read = await api.get(api.path("configmaps", "a"), watch="true")
    assert (read.code, read.version) == (200, made.version)


async def test_a_write_that_changes_nothing_is_no_event(api: Api) -> None:
    path = api.path("widgets")
    made = await api.create(path, widget("a"))
    async with api.watch(path, resourceVersion=made.version) as events:
        (await api.replace(f"{path}/a", made.body)).made()
        changed = await api.patch(f"{path}/a", {"spec": {"size": 4}})
        assert (await events.next())[1]["metadata"]["resourceVersion"] == changed.version


async def test_a_finalizer_makes_a_deletion_two_events(api: Api) -> None:
    path = api.path("widgets")
    made = await api.create(path, widget("a", finalizers=[KEEP]))
    async with api.watch(path, resourceVersion=made.version) as events:
        await api.delete(f"{path}/a")
        kind, seen = await events.next()
        assert kind == "MODIFIED"
        assert seen["metadata"]["deletionTimestamp"]
        await api.patch(f"{path}/a", {"metadata": {"finalizers": None}})
        kind, seen = await events.next()
        assert kind == "DELETED"
        assert seen["metadata"]["finalizers"] == [KEEP]


async def test_a_watch_with_a_bad_selector_is_400(api: Api) -> None:
    refused = await api.get(api.path("widgets"), watch="true", fieldSelector="spec.unknown=1")
    assert (refused.code, refused.reason) == (400, "BadRequest")


async def test_status_writes_are_events_of_the_object(api: Api) -> None:
    path = api.path("widgets")
    made = await api.create(path, widget("a"))
    async with api.watch(path, resourceVersion=made.version) as events:
        told = await api.patch(f"{path}/a/status", {"status": {"phase": "Bound"}})
        assert await events.next() == ("MODIFIED", told.body)
