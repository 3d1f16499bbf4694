"""The status: a part of the object with a door of its own."""

from __future__ import annotations

from .api import Api
from .objects import gadget, pod, widget


async def test_generation_without_status_subresource_counts_status_too(api: Api) -> None:
    name = f"{api.namespace}-a"
    (await api.create(api.path("gadgets"), gadget(name))).made()
    path = api.path("gadgets", name)
    assert (await api.patch(path, {"status": {"x": 1}})).meta["generation"] == 2
    assert (await api.get(f"{path}/status")).code == 404


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
