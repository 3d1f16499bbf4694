"""The library's own machinery on the embedded server, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from elasticgpu.api.core import Event, Lease
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.cluster.events import Recorder
from elasticgpu.cluster.informer import Informer
from elasticgpu.cluster.lease import Elector
from elasticgpu.errors import Expired
from elasticgpu.testing.apiserver import ApiServer, DirectClient

pytestmark = pytest.mark.looptime


def lease(name: str = "a", **spec: Any) -> Lease:
    return Lease(metadata=ObjectMeta(name=name, namespace="default"), spec=spec)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(600):
        while not condition():
            await asyncio.sleep(0.01)


async def test_times_are_those_of_the_clock() -> None:
    start = datetime(2030, 1, 1, tzinfo=UTC)

    def clock() -> datetime:
        return start + timedelta(seconds=asyncio.get_running_loop().time())

    async with DirectClient(ApiServer(clock=clock)) as client:
        before = (await client.create(lease())).metadata.creation_timestamp
        await asyncio.sleep(86400)
        after = (await client.create(lease("b"))).metadata.creation_timestamp
    elapsed = datetime.fromisoformat(after) - datetime.fromisoformat(before)
    assert elapsed == timedelta(days=1)


async def test_a_seed_makes_the_same_names_again() -> None:
    async def names() -> list[str]:
        server = ApiServer(random=Random(7))
        body = {"metadata": {"generateName": "x-"}}
        made = [server.create("v1", "ConfigMap", body, "default") for _ in range(3)]
        return [one["metadata"]["name"] + one["metadata"]["uid"] for one in made]

    assert await names() == await names()


async def test_an_informer_follows_through_what_watches_suffer(
    client: DirectClient, server: ApiServer
) -> None:
    """Broken off, and then so late that it has to list anew: nothing is missed."""
    await client.create(lease("first"))
    cache = Informer(client, Lease)
    task = asyncio.create_task(cache.run())
    await asyncio.wait_for(cache.synced(), 60)
    server.disconnect()
    second = await client.create(lease("second"))
    await until(lambda: cache.get(second.key) == second)
    server.disconnect()
    await client.delete(second)
    third = await client.create(lease("third"))
    server.store.forget("coordination.k8s.io/leases")
    await until(lambda: {one.name for one in cache.values()} == {"first", "third"})
    assert cache.get(third.key) == third
    task.cancel()
    await asyncio.wait([task])


async def test_a_watch_from_what_was_forgotten_is_expired(
    client: DirectClient, server: ApiServer
) -> None:
    made = await client.create(lease())
    await client.replace(made.but(spec={"holderIdentity": "me"}))
    server.store.forget("coordination.k8s.io/leases")
    params = {"resourceVersion": made.metadata.resource_version}
    with pytest.raises(Expired, match="too old resource version"):
        async for _ in client.watch(Lease, params=params):
            pass


async def test_pages_from_what_was_forgotten_are_expired_or_go_on_as_it_is_now(
    client: DirectClient, server: ApiServer
) -> None:
    for name in "abc":
        await client.create(lease(name))
    path = Lease.resource.path("default")
    first = await client.raw("GET", path, params={"limit": "1"})
    token = {"limit": "5", "continue": first["metadata"]["continue"]}
    await client.create(lease("d"))
    server.store.forget("coordination.k8s.io/leases")
    with pytest.raises(Expired) as late:
        await client.raw("GET", path, params=token)
    assert late.value.reason == "Expired"


async def test_only_the_last_writes_are_remembered() -> None:
    server = ApiServer(remembered=2)
    async with DirectClient(server) as client:
        versions = [(await client.create(lease(n))).metadata.resource_version for n in "abcd"]
        events = client.watch(Lease, params={"resourceVersion": versions[1]}, seconds=1)
        assert [obj["metadata"]["name"] async for _, obj in events] == ["c", "d"]
        with pytest.raises(Expired):
            await anext(client.watch(Lease, params={"resourceVersion": versions[0]}))


async def test_an_election_over_days(client: DirectClient) -> None:
    led: list[str] = []

    def run(name: str) -> asyncio.Task[None]:
        async def lead() -> None:
            led.append(name)
            await asyncio.Event().wait()

        elector = Elector(client, namespace="default", name="l", identity=name)
        return asyncio.create_task(elector.run(lead))

    one, two = run("one"), run("two")
    await asyncio.sleep(3600)
    assert len(led) == 1
    (one if led == ["one"] else two).cancel()
    await until(lambda: len(led) == 2)
    for task in (one, two):
        task.cancel()
    await asyncio.wait([one, two])
    assert set(led) == {"one", "two"}


async def test_events_are_recorded(client: DirectClient) -> None:
    about = await client.create(lease())
    recorder = Recorder(client, controller="elasticgpu-controller", instance="test")
    recorder.event(about, "Warning", "Waiting", "no room", action="Bind")
    await recorder.flush(10)
    found = [one async for one in client.list(Event, namespace="default")]
    assert [one.wire()["note"] for one in found] == ["no room"]


async def test_nobody_elses_objects_are_changed(server: ApiServer, client: DirectClient) -> None:
    """Not those that were handed in, nor those that are stored and seen by others."""
    body: dict[str, Any] = {"metadata": {"name": "c"}, "spec": {"provisioner": "p"}}
    server.create("elasticgpu.io/v1alpha1", "ElasticGPUClass", body)
    assert body == {"metadata": {"name": "c"}, "spec": {"provisioner": "p"}}
    entry = server.store.get("elasticgpu.io/elasticgpuclasses", ("", "c"))
    assert entry is not None
    before = deepcopy(entry.body)
    path = "/apis/elasticgpu.io/v1alpha1/elasticgpuclasses/c"
    for change in ({"spec": {"unheard": {"x": 1}}}, {"metadata": {"labels": {"a": "b"}}}):
        await client.raw("PATCH", path, body=change, content_type="application/merge-patch+json")
    assert entry.body == before


async def test_a_delete_answers_what_stays() -> None:
    """A finalizer keeps the object: whoever deleted it knows at once that it goes."""
    async with DirectClient(ApiServer()) as client:
        plain = await client.create(lease())
        kept = await client.create(lease("b").with_finalizers("example.com/mine"))
        assert await client.delete(plain) is None
        left = await client.delete(kept)
        assert left is not None
        assert left.terminating
        assert await client.get(Lease, kept.key) == left
        assert await client.delete(plain) is None
