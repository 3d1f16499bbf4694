"""Deletion: finalizers, preconditions, and what goes at once or after a while."""

from __future__ import annotations

import pytest

from .api import Api
from .objects import KEEP, config, pod, widget

GONE = {"metadata": {"finalizers": None}}


async def test_a_delete_answers_a_status_with_the_uid(api: Api) -> None:
    for path, body, kind in (
        ("configmaps", config(), "configmaps"),
        ("widgets", widget(), "widgets"),
    ):
        made = await api.create(api.path(path), body)
        done = await api.delete(api.path(path, "a"))
        assert (done.code, done.body["kind"], done.body["status"]) == (200, "Status", "Success")
        details = done.body["details"]
        assert (details["name"], details["kind"], details["uid"]) == ("a", kind, made.meta["uid"])
        assert (await api.get(api.path(path, "a"))).code == 404


async def test_a_delete_of_what_is_not_there_is_404(api: Api) -> None:
    assert (await api.delete(api.path("widgets", "none"))).code == 404


async def test_a_finalizer_keeps_an_object_being_deleted(api: Api) -> None:
    for plural, body in (
        ("widgets", widget(finalizers=[KEEP])),
        ("configmaps", config(finalizers=[KEEP])),
    ):
        path = api.path(plural, "a")
        (await api.create(api.path(plural), body)).made()
        kept = await api.delete(path)
        assert (kept.code, kept.body["kind"]) == (200, body["kind"])
        assert kept.meta["deletionTimestamp"]
        assert kept.meta["deletionGracePeriodSeconds"] == 0
        assert (await api.get(path)).version == kept.version
        assert (await api.patch(path, GONE)).code == 200
        assert (await api.get(path)).code == 404


async def test_a_deletion_counts_as_a_generation(api: Api) -> None:
    (await api.create(api.path("widgets"), widget(finalizers=[KEEP]))).made()
    kept = await api.delete(api.path("widgets", "a"))
    assert kept.meta["generation"] == 2
    await api.patch(api.path("widgets", "a"), GONE)


async def test_a_second_delete_changes_nothing(api: Api) -> None:
    path = api.path("widgets", "a")
    (await api.create(api.path("widgets"), widget(finalizers=[KEEP]))).made()
    kept = await api.delete(path)
    again = await api.delete(path)
    assert (again.code, again.version) == (200, kept.version)
    await api.patch(path, GONE)


async def test_an_object_being_deleted_can_be_written_and_takes_no_finalizer(api: Api) -> None:
    path = api.path("widgets", "a")
    (await api.create(api.path("widgets"), widget(finalizers=[KEEP]))).made()
    await api.delete(path)
    changed = await api.patch(path, {"spec": {"size": 7}})
    assert (changed.code, changed.body["spec"]["size"]) == (200, 7)
    refused = await api.patch(path, {"metadata": {"finalizers": [KEEP, "example.com/b"]}})
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert "no new finalizers can be added if the object is being deleted" in refused.message
    last = await api.patch(path, GONE)
    assert (last.code, last.body["spec"]["size"]) == (200, 7)
    assert (await api.get(path)).code == 404


async def test_nobody_takes_a_deletion_back(api: Api) -> None:
    path = api.path("widgets", "a")
    (await api.create(api.path("widgets"), widget(finalizers=[KEEP]))).made()
    kept = (await api.delete(path)).made()
    body = {**kept, "metadata": {**kept["metadata"], "labels": {"a": "b"}}}
    del body["metadata"]["deletionTimestamp"]
    changed = await api.replace(path, body)
    assert (changed.code, changed.meta["labels"]) == (200, {"a": "b"})
    assert changed.meta["deletionTimestamp"] == kept["metadata"]["deletionTimestamp"]
    await api.patch(path, GONE)


async def test_only_the_server_says_that_an_object_is_deleted(api: Api) -> None:
    path = api.path("widgets", "a")
    (await api.create(api.path("widgets"), widget())).made()
    stamp = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
    refused = await api.patch(path, stamp)
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert "metadata.deletionTimestamp: Invalid value" in refused.message


@pytest.mark.parametrize("what", ["uid", "resourceVersion"])
async def test_preconditions_of_a_delete(api: Api, what: str) -> None:
    for plural, body in (("widgets", widget()), ("configmaps", config())):
        path = api.path(plural, "a")
        made = await api.create(api.path(plural), body)
        refused = await api.delete(path, {"preconditions": {what: "1"}})
        assert (refused.code, refused.reason) == (409, "Conflict")
        assert "in the precondition (1) does not match" in refused.message
        done = await api.delete(path, {"preconditions": {what: made.meta[what]}})
        assert done.code == 200
        assert (await api.get(path)).code == 404


async def test_an_unknown_propagation_policy_is_422(api: Api) -> None:
    (await api.create(api.path("configmaps"), config())).made()
    refused = await api.delete(api.path("configmaps", "a"), {"propagationPolicy": "Never"})
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert 'propagationPolicy: Unsupported value: "Never"' in refused.message


async def test_a_collection_is_deleted_by_selector(api: Api) -> None:
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "2"})):
        (await api.create(api.path("widgets"), widget(name, labels=labels))).made()
    done = await api.delete(api.path("widgets"), labelSelector="x=1")
    assert (done.code, done.body["kind"], done.names) == (200, "WidgetList", ["a"])
    assert (await api.get(api.path("widgets"))).names == ["b"]


async def test_a_namespace_being_deleted_refuses_what_is_new(api: Api) -> None:
    name = f"{api.namespace}-going"
    (await api.create("/api/v1/namespaces", {"metadata": {"name": name}})).made()
    inside = f"/api/v1/namespaces/{name}/configmaps"
    (await api.create(inside, config(finalizers=[KEEP]))).made()
    going = await api.delete(f"/api/v1/namespaces/{name}")
    assert (going.code, going.body["status"]["phase"]) == (200, "Terminating")
    assert "deletionGracePeriodSeconds" not in going.meta
    refused = await api.create(inside, config("late"))
    assert (refused.code, refused.reason) == (403, "Forbidden")
    assert refused.message == (
        f'configmaps "late" is forbidden: unable to create new content in namespace {name} '
        "because it is being terminated"
    )
    (cause,) = refused.body["details"]["causes"]
    assert cause["reason"] == "NamespaceTerminating"
    await api.patch(f"{inside}/a", GONE)


async def test_a_namespace_has_its_label_and_phase(api: Api) -> None:
    found = await api.get(f"/api/v1/namespaces/{api.namespace}")
    assert found.meta["labels"] == {"kubernetes.io/metadata.name": api.namespace}
    assert found.body["spec"] == {"finalizers": ["kubernetes"]}
    assert found.body["status"] == {"phase": "Active"}


async def test_a_pod_without_node_goes_at_once(api: Api) -> None:
    (await api.create(api.path("pods"), pod())).made()
    gone = await api.delete(api.path("pods", "a"))
    assert (gone.code, gone.body["kind"]) == (200, "Pod")
    assert gone.meta["deletionGracePeriodSeconds"] == 0
    assert (await api.get(api.path("pods", "a"))).code == 404


async def test_a_pod_on_a_node_has_its_grace_period(api: Api) -> None:
    path = api.path("pods", "a")
    (await api.create(api.path("pods"), pod("a", {"nodeName": "nowhere"}))).made()
    going = await api.delete(path)
    assert going.meta["deletionGracePeriodSeconds"] == 30
    shorter = await api.delete(path, {"gracePeriodSeconds": 5})
    assert shorter.meta["deletionGracePeriodSeconds"] == 5
    assert shorter.meta["deletionTimestamp"] < going.meta["deletionTimestamp"]
    longer = await api.delete(path, {"gracePeriodSeconds": 50})
    assert longer.meta["deletionGracePeriodSeconds"] == 5
    assert (await api.delete(path, {"gracePeriodSeconds": 0})).code == 200
    assert (await api.get(path)).code == 404
