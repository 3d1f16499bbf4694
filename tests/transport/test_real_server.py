"""The same room against a real API server: what the scripted one could only be believed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, ClassVar
from uuid import uuid4

import pytest

from elasticgpu.api.core import Event, Lease
from elasticgpu.api.meta import KubeObject, ObjectMeta, Resource
from elasticgpu.cluster import informer
from elasticgpu.cluster.access import find
from elasticgpu.cluster.client import Client
from elasticgpu.cluster.events import Recorder
from elasticgpu.cluster.informer import Informer
from elasticgpu.cluster.lease import Elector
from elasticgpu.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    Invalid,
    NamespaceTerminating,
    NotFound,
)
from tests.cluster.cluster import Cluster

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:kubernetes_asyncio")


class ConfigMap(KubeObject):
    resource: ClassVar[Resource] = Resource("", "v1", "ConfigMap", "configmaps", True)
    data: dict[str, str] = {}


class Namespace(KubeObject):
    resource: ClassVar[Resource] = Resource("", "v1", "Namespace", "namespaces")
    spec: dict[str, Any] = {}


@pytest.fixture
async def real(control_plane: Cluster) -> AsyncIterator[Client]:
    """A client as an admin has it, by kubeconfig."""
    async with await Client.connect(kubeconfig=str(control_plane.kubeconfig)) as client:
        yield client


@pytest.fixture
async def namespace(real: Client) -> str:
    """A namespace of this test's own."""
    name = f"transport-{uuid4().hex[:8]}"
    await real.create(Namespace(metadata=ObjectMeta(name=name)))
    return name


def config(namespace: str, name: str, **data: str) -> ConfigMap:
    meta = ObjectMeta(name=name, namespace=namespace, labels={"app": "transport"})
    return ConfigMap(metadata=meta, data=data)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for it, for half a minute at most."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.02)


@asynccontextmanager
async def running(informer: Informer[ConfigMap]) -> AsyncIterator[None]:
    task = asyncio.create_task(informer.run())
    try:
        async with asyncio.timeout(30):
            await informer.synced()
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_life_of_an_object(real: Client, namespace: str) -> None:
    """Create, compare-and-swap, patch, apply, delete by precondition; each refusal by name."""
    made = await real.create(config(namespace, "a", x="1"))
    with pytest.raises(AlreadyExists):
        await real.create(config(namespace, "a"))
    written = await real.replace(made.but(data={"x": "2"}))
    with pytest.raises(Conflict) as stale:
        await real.replace(made.but(data={"x": "3"}))
    assert not isinstance(stale.value, AlreadyExists)
    with pytest.raises(Conflict):
        await real.delete(made)
    patched = await real.patch(ConfigMap, made.key, {"data": {"y": "1"}})
    assert patched.data == {"x": "2", "y": "1"}
    applied = await real.apply(ConfigMap, made.key, {"data": {"z": "1"}}, manager="me")
    assert applied.data == {"x": "2", "y": "1", "z": "1"}
    assert (await real.apply(ConfigMap, made.key, {}, manager="me")).data == patched.data
    assert written.uid == made.uid
    latest = await real.get(ConfigMap, made.key)
    await real.delete(latest)
    await real.delete(latest)
    with pytest.raises(NotFound):
        await real.get(ConfigMap, made.key)


async def test_an_apply_may_create(real: Client, namespace: str) -> None:
    """Server-side apply of an object that is not there yields the new object (201)."""
    made = await real.apply(ConfigMap, (namespace, "b"), {"data": {"x": "1"}}, manager="me")
    assert (made.name, made.data, bool(made.uid)) == ("b", {"x": "1"}, True)
    with pytest.raises(Conflict):
        await real.apply(
            ConfigMap, (namespace, "b"), {"data": {"x": "2"}}, manager="other", force=False
        )


async def test_refusals_have_their_class(real: Client, namespace: str) -> None:
    """422 is Invalid; a namespace that is going refuses creations for good."""
    with pytest.raises(Invalid):
        await real.create(config(namespace, "Not_A_Name"))
    await real.create(
        ConfigMap(
            metadata=ObjectMeta(name="stays", namespace=namespace, finalizers=["example.com/stay"])
        )
    )
    await real.delete(await real.get(Namespace, ("", namespace)))
    with pytest.raises(NamespaceTerminating):
        await real.create(config(namespace, "late"))
    await real.patch(ConfigMap, (namespace, "stays"), {"metadata": {"finalizers": None}})


async def test_who_may_not_is_forbidden(
    real: Client, namespace: str, control_plane: Cluster
) -> None:
    """A ServiceAccount without rights, and a token that is none: Forbidden, said once."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    await real.raw("POST", path, body={"metadata": {"name": "weak"}})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await real.raw("POST", f"{path}/weak/token", body=request)
    for token in (answer["status"]["token"], "nobody"):
        other = await find(str(control_plane.kubeconfig))
        other.authorization, other.reload = f"Bearer {token}", None
        async with Client(other) as weak:
            with pytest.raises(Forbidden):
                await weak.get(ConfigMap, (namespace, "x"))


async def test_lists_by_page_are_complete(real: Client, namespace: str) -> None:
    """Seven objects, two a page."""
    for number in range(7):
        await real.create(config(namespace, f"c{number}"))
    found = real.list(ConfigMap, namespace=namespace, label_selector="app=transport", page=2)
    assert sorted([c.name async for c in found]) == [f"c{n}" for n in range(7)]


@pytest.mark.parametrize("streams", [True, False], ids=["WatchList", "LIST"])
async def test_an_informer_follows_the_server(real: Client, namespace: str, streams: bool) -> None:
    """Both ways of the first list, then additions, changes and deletions by somebody else."""
    first = await real.create(config(namespace, "first"))
    cache = Informer(real, ConfigMap, namespace=namespace, label_selector="app=transport")
    cache._streams_lists = streams
    async with running(cache):
        assert cache.get(first.key) == first
        assert cache._streams_lists is streams
        second = await real.create(config(namespace, "second"))
        await until(lambda: cache.get(second.key) == second)
        changed = await real.replace(first.but(data={"x": "1"}))
        await until(lambda: cache.get(first.key) == changed)
        await real.patch(ConfigMap, second.key, {"metadata": {"labels": None}})
        await until(lambda: cache.get(second.key) is None)
        await real.delete(changed)
        await until(lambda: cache.values() == [])


async def test_an_informer_survives_the_server(
    real: Client, namespace: str, control_plane: Cluster
) -> None:
    """The API server is killed and started again: what happened is in the cache, by resumption."""
    cache = Informer(real, ConfigMap, namespace=namespace, label_selector="app=transport")
    async with running(cache):
        before = await real.create(config(namespace, "before"))
        await asyncio.to_thread(control_plane.restart, "kube-apiserver")
        after = await real.create(config(namespace, "after"))
        await until(lambda: cache.get(after.key) == after and cache.get(before.key) == before)


async def test_a_watch_is_never_mute(real: Client, namespace: str) -> None:
    """Where nothing happens the server sends a bookmark, the last one shortly before the end.

    Only one that is newer than the watch's start: so there are several watches from the same start,
    and an event before each.
    """
    version = (await real.create(config(namespace, "first"))).metadata.resource_version
    params = {"resourceVersion": version, "allowWatchBookmarks": "true"}
    for round_, seconds in enumerate((4, 8, 8, 16)):
        events = real.watch(ConfigMap, namespace=namespace, params=params, seconds=seconds)
        if "BOOKMARK" in [kind async for kind, _ in events]:
            return
        await real.create(config(namespace, f"seen-{round_}"))
    pytest.fail("four watches in a row without a bookmark")


async def test_a_version_from_the_future_is_doubted(
    real: Client, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server lets such a watch end in silence, without an error; the cache lists anew."""
    monkeypatch.setattr(informer, "WATCH_SECONDS", (2, 2))
    monkeypatch.setattr(informer, "MUTE", 1.0)
    first = await real.create(config(namespace, "first"))
    cache = Informer(real, ConfigMap, namespace=namespace)
    cache._reached, cache.version = str(10**15), 10**15
    async with running(cache):
        assert cache.get(first.key) == first


async def test_election(real: Client, namespace: str) -> None:
    """One of two leads; when it stops, the lease is given back and the other leads."""
    led: list[str] = []

    def lead(name: str) -> Callable[[], Any]:
        async def work() -> None:
            led.append(name)
            await asyncio.Event().wait()

        return work

    def run(name: str) -> asyncio.Task[None]:
        elector = Elector(
            real, namespace=namespace, name="l", identity=name, duration=3, renew=2, retry=0.2
        )
        return asyncio.create_task(elector.run(lead(name)))

    one = run("one")
    await until(lambda: led == ["one"])
    two = run("two")
    await asyncio.sleep(1)
    one.cancel()
    await until(lambda: led == ["one", "two"])
    lease = await real.get(Lease, (namespace, "l"))
    assert (lease.spec["holderIdentity"], lease.spec["leaseTransitions"]) == ("two", 1)
    two.cancel()
    await asyncio.wait([one, two])
    assert (await real.get(Lease, (namespace, "l"))).spec["holderIdentity"] == ""


async def test_events_are_accepted(real: Client, namespace: str) -> None:
    """The server takes the event, and its count afterwards, as we write them."""
    about = await real.create(config(namespace, "about"))
    recorder = Recorder(real, controller="elasticgpu-controller", instance="test")
    recorder.event(about, "Warning", "Waiting", "ä" * 2000, action="Bind")
    await recorder.flush(10)
    recorder.event(about, "Warning", "Waiting", "ä" * 2000, action="Bind")
    (series,) = recorder._series.values()
    await recorder._write(series)
    found = [e async for e in real.list(Event, namespace=namespace)]
    assert [e.wire()["series"]["count"] for e in found] == [2]
