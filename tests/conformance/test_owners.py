"""Owners: which dependents go with them, before them, or stay."""

from __future__ import annotations

import asyncio

from .api import PATIENCE, Api, Object
from .objects import KEEP, config, owner
from .test_deletion import GONE


# Built-in kinds: the garbage collector of a cluster learns of new ones only every 30 s.
async def owned(api: Api, **policy: bool) -> Object:
    """A ConfigMap `a` that owns a ConfigMap `b`."""
    made = (await api.create(api.path("configmaps"), config())).made()
    dependent = config("b", ownerReferences=[owner(made, **policy)])
    (await api.create(api.path("configmaps"), dependent)).made()
    return made


async def test_dependents_go_with_their_owner(api: Api) -> None:
    await owned(api)
    assert (await api.delete(api.path("configmaps", "a"))).body["status"] == "Success"
    await api.gone(api.path("configmaps", "b"))


async def test_an_owner_in_the_foreground_waits_for_its_dependents(api: Api) -> None:
    await owned(api, controller=True, blockOwnerDeletion=True)
    path = api.path("configmaps", "b")
    (await api.patch(path, {"metadata": {"finalizers": [KEEP]}})).made()
    kept = await api.delete(api.path("configmaps", "a"), {"propagationPolicy": "Foreground"})
    assert kept.meta["finalizers"] == ["foregroundDeletion"]
    async with asyncio.timeout(PATIENCE):
        while "deletionTimestamp" not in (await api.get(path)).meta:
            await asyncio.sleep(0.01)
    assert (await api.get(api.path("configmaps", "a"))).code == 200
    await api.patch(path, GONE)
    await api.gone(path)
    await api.gone(api.path("configmaps", "a"))


async def test_orphans_stay(api: Api) -> None:
    await owned(api)
    await api.delete(api.path("configmaps", "a"), {"propagationPolicy": "Orphan"})
    await api.gone(api.path("configmaps", "a"))
    assert "ownerReferences" not in (await api.get(api.path("configmaps", "b"))).meta


async def test_an_owner_that_never_was_takes_its_dependent_along(api: Api) -> None:
    made = await owned(api)
    stranger = {**owner(made), "uid": "00000000-0000-4000-8000-000000000000"}
    (await api.create(api.path("configmaps"), config("c", ownerReferences=[stranger]))).made()
    await api.gone(api.path("configmaps", "c"))
    assert (await api.get(api.path("configmaps", "b"))).code == 200


async def test_one_living_owner_of_two_is_enough(api: Api) -> None:
    one = (await api.create(api.path("configmaps"), config("one"))).made()
    two = (await api.create(api.path("configmaps"), config("two"))).made()
    both = config("b", ownerReferences=[owner(one), owner(two)])
    (await api.create(api.path("configmaps"), both)).made()
    await api.delete(api.path("configmaps", "one"))
    async with asyncio.timeout(PATIENCE):
        while len((await api.get(api.path("configmaps", "b"))).meta["ownerReferences"]) > 1:
            await asyncio.sleep(0.01)
    await api.delete(api.path("configmaps", "two"))
    await api.gone(api.path("configmaps", "b"))


async def test_a_dependent_of_a_cluster_scoped_owner(api: Api) -> None:
    name = f"{api.namespace}-owner"
    body = {"metadata": {"name": name}, "value": 1}
    made = (await api.create(api.path("priorityclasses"), body)).made()
    (await api.create(api.path("configmaps"), config(ownerReferences=[owner(made)]))).made()
    await api.delete(api.path("priorityclasses", name))
    await api.gone(api.path("configmaps", "a"))


async def test_an_incomplete_owner_reference_is_422(api: Api) -> None:
    refused = await api.create(api.path("configmaps"), config(ownerReferences=[{"kind": "X"}]))
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert [cause["field"] for cause in refused.body["details"]["causes"]] == [
        "metadata.ownerReferences.apiVersion",
        "metadata.ownerReferences.name",
        "metadata.ownerReferences.uid",
    ]
