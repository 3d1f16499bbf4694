"""Faults on demand, as the library's client meets them."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from elasticgpu.api.core import Lease
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.errors import AlreadyExists, Conflict, NotFound, Unavailable
from elasticgpu.testing.apiserver import ApiServer, DirectClient, Fault, serving
from elasticgpu.testing.apiserver.refusal import Refusal
from tests.conformance.api import Api, session

pytestmark = pytest.mark.looptime

KEY = ("default", "a")


def lease(name: str = "a", holder: str = "me") -> Lease:
    meta = ObjectMeta(name=name, namespace="default")
    return Lease(metadata=meta, spec={"holderIdentity": holder})


async def there(client: DirectClient) -> bool:
    try:
        await client.get(Lease, KEY)
    except NotFound:
        return False
    return True


async def test_a_failure_is_answered_and_not_done(client: DirectClient, server: ApiServer) -> None:
    server.faults.add(Fault("fail", method="POST", path="/leases"))
    with pytest.raises(Unavailable, match="500 InternalError"):
        await client.create(lease())
    assert not await there(client)
    await client.create(lease())


async def test_only_the_nth_request_that_matches_fails(
    client: DirectClient, server: ApiServer
) -> None:
    refusal = Refusal(409, "Conflict", "somebody was faster")
    fault = server.faults.add(Fault("fail", method="PUT", path="/leases/a$", nth=2, error=refusal))
    made = await client.create(lease())
    other = await client.create(lease("b"))
    await client.replace(other.but(spec={"holderIdentity": "x"}))
    made = await client.replace(made.but(spec={"holderIdentity": "1"}))
    with pytest.raises(Conflict, match="somebody was faster"):
        await client.replace(made.but(spec={"holderIdentity": "2"}))
    await client.replace(made.but(spec={"holderIdentity": "3"}))
    assert fault.seen == 3


async def test_a_dropped_request_is_not_done_and_a_lost_one_is(
    client: DirectClient, server: ApiServer
) -> None:
    server.faults.add(Fault("drop", method="POST"))
    with pytest.raises(Unavailable, match="NoAnswer"):
        await client.create(lease())
    assert not await there(client)
    server.faults.add(Fault("lose", method="POST"))
    with pytest.raises(Unavailable, match="NoAnswer"):
        await client.create(lease())
    assert await there(client)


async def test_a_failure_may_come_after_the_deed(client: DirectClient, server: ApiServer) -> None:
    server.faults.add(Fault("fail-after", method="POST"))
    with pytest.raises(Unavailable):
        await client.create(lease())
    assert await there(client)


async def test_a_request_may_arrive_twice(client: DirectClient, server: ApiServer) -> None:
    server.faults.add(Fault("duplicate", method="POST"))
    with pytest.raises(AlreadyExists):
        await client.create(lease())
    assert await there(client)


async def test_a_delay_takes_no_real_time(client: DirectClient, server: ApiServer) -> None:
    server.faults.add(Fault("delay", method="GET", seconds=3600))
    await client.create(lease())
    before = asyncio.get_running_loop().time()
    assert await there(client)
    assert asyncio.get_running_loop().time() - before >= 3600


async def test_a_watch_breaks_off(client: DirectClient, server: ApiServer) -> None:
    await client.create(lease())
    server.faults.add(Fault("disconnect", path="/leases", seconds=5))
    events = client.watch(Lease)
    assert (await anext(events))[0] == "ADDED"
    with pytest.raises(Unavailable, match="NoAnswer"):
        await anext(events)


async def test_a_request_may_cost_everybody_their_watches(
    client: DirectClient, server: ApiServer
) -> None:
    server.faults.add(Fault("disconnect", method="POST"))

    async def follow() -> list[str]:
        return [kind async for kind, _ in client.watch(Lease)]

    following = asyncio.create_task(follow())
    await asyncio.sleep(1)
    await client.create(lease())
    assert await following == ["ADDED"]


async def test_over_http_a_dropped_request_is_a_broken_connection(server: ApiServer) -> None:
    async with serving(server) as url, session() as connections:
        api = Api(url, connections, "default")
        server.faults.add(Fault("drop", method="POST"))
        with pytest.raises(aiohttp.ClientConnectionError):
            await api.create(api.path("configmaps"), {"metadata": {"name": "a"}})
        assert (await api.create(api.path("configmaps"), {"metadata": {"name": "a"}})).code == 201
