"""Who leads: takeover by observation, renewal, and stopping before anybody else may begin."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from elasticgpu.cluster.access import Access
from elasticgpu.cluster.client import Client
from elasticgpu.cluster.lease import Elector

pytestmark = pytest.mark.looptime
MICROTIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


class LeaseServer:
    """One lease under compare-and-swap; it can `fail` with a status, or `hang` so many times."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.writes: list[dict[str, Any]] = []
        self.fail = 0
        self.hang = 0
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.serve)
        self.server = TestServer(app, host="127.0.0.1")

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        spec: dict[str, Any] = self.lease["spec"]
        return spec

    def store(self, lease: dict[str, Any]) -> web.Response:
        self.version += 1
        lease["metadata"]["resourceVersion"] = str(self.version)
        self.lease = lease
        self.writes.append(lease["spec"])
        return web.json_response(lease)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        data: dict[str, Any] = await request.json() if request.can_read_body else {}
        if self.hang:
            self.hang -= 1
            await asyncio.sleep(600)
        if self.fail:
            return web.json_response({"message": "away"}, status=self.fail)
        match request.method:
            case "GET" if self.lease is None:
                return web.json_response({"reason": "NotFound"}, status=404)
            case "GET":
                return web.json_response(self.lease)
            case "POST" if self.lease is not None:
                return web.json_response({"reason": "AlreadyExists"}, status=409)
            case "PUT" if data["metadata"]["resourceVersion"] != str(self.version):
                return web.json_response({"reason": "Conflict"}, status=409)
            case _:
                return self.store(data)


@pytest.fixture
async def leases() -> AsyncIterator[LeaseServer]:
    leases = LeaseServer()
    await leases.server.start_server(shutdown_timeout=0)
    yield leases
    await leases.server.close()


@pytest.fixture
async def client(leases: LeaseServer) -> AsyncIterator[Client]:
    async with Client(Access(str(leases.server.make_url("")).rstrip("/"))) as client:
        yield client


def elector(client: Client, identity: str) -> Elector:
    return Elector(client, namespace="kube", name="lease", identity=identity)


def now() -> float:
    return asyncio.get_running_loop().time()


class Leader:
    """A leader coroutine that notes when it led."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.from_ = self.until = 0.0

    async def __call__(self) -> None:
        self.from_ = now()
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.until = now()


async def cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_first_candidate_makes_the_lease(leases: LeaseServer, client: Client) -> None:
    """It is created with holder, whole seconds, times in UTC to the microsecond, no transition."""
    leader = Leader()
    task = asyncio.create_task(elector(client, "one").run(leader))
    await leader.began.wait()
    spec = dict(leases.spec)
    assert MICROTIME.fullmatch(spec.pop("acquireTime"))
    assert MICROTIME.fullmatch(spec.pop("renewTime"))
    assert spec == {"holderIdentity": "one", "leaseDurationSeconds": 15, "leaseTransitions": 0}
    await cancel(task)


async def test_the_leader_renews(leases: LeaseServer, client: Client) -> None:
    """For an hour it leads, renews every two seconds, and takes it no second time."""
    leader = Leader()
    task = asyncio.create_task(elector(client, "one").run(leader))
    await asyncio.sleep(3600)
    assert leader.until == 0
    assert 1700 < len(leases.writes) <= 1802
    assert {(w["acquireTime"], w["leaseTransitions"]) for w in leases.writes} == {
        (leases.writes[0]["acquireTime"], 0)
    }
    await cancel(task)


async def test_cancelling_stops_the_leader_then_releases(
    leases: LeaseServer, client: Client
) -> None:
    """On cancel the leader stops, then nobody holds the lease; the next one need not wait."""
    one, two = Leader(), Leader()
    first = asyncio.create_task(elector(client, "one").run(one))
    await one.began.wait()
    second = asyncio.create_task(elector(client, "two").run(two))
    await asyncio.sleep(60)
    assert not two.began.is_set()
    await cancel(first)
    assert leases.spec["holderIdentity"] == ""
    assert one.until
    await two.began.wait()
    assert two.from_ - one.until < 3
    assert (leases.spec["holderIdentity"], leases.spec["leaseTransitions"]) == ("two", 1)
    await cancel(second)


async def test_a_dead_leaders_lease_is_taken_after_its_duration(
    leases: LeaseServer, client: Client
) -> None:
    """It counts how long it saw no change; wall-clock times, far in the future here, do not."""
    far = "2099-01-01T00:00:00.000000Z"
    spec = {"holderIdentity": "dead", "leaseDurationSeconds": 40, "renewTime": far}
    leases.store({"metadata": {"name": "lease", "namespace": "kube"}, "spec": spec})
    started, leader = now(), Leader()
    task = asyncio.create_task(elector(client, "one").run(leader))
    await leader.began.wait()
    assert 40 <= leader.from_ - started < 44
    assert leases.spec["leaseTransitions"] == 1
    await cancel(task)


async def test_a_living_leader_is_not_disturbed(leases: LeaseServer, client: Client) -> None:
    """A lease that keeps changing is not taken, however old its times say it is."""
    meta = {"name": "lease", "namespace": "kube"}
    leader = Leader()
    task = asyncio.create_task(elector(client, "one").run(leader))
    for second in range(60):
        spec = {
            "holderIdentity": "other",
            "leaseDurationSeconds": 15,
            "renewTime": f"1999:{second}",
        }
        leases.store({"metadata": dict(meta), "spec": spec})
        await asyncio.sleep(5)
    assert not leader.began.is_set()
    assert leases.spec["holderIdentity"] == "other"
    await cancel(task)


@pytest.mark.parametrize("code", [500, 409, 403])
async def test_a_leader_that_cannot_renew_stops_in_time(
    leases: LeaseServer, client: Client, code: int
) -> None:
    """It stops 10 s after its last renewal; another may lead no earlier than 15 s after it."""
    one, two = Leader(), Leader()
    first = asyncio.create_task(elector(client, "one").run(one))
    await one.began.wait()
    second = asyncio.create_task(elector(client, "two").run(two))
    await asyncio.sleep(20)
    leases.fail = code
    failed = now()
    await first
    assert 7 <= one.until - failed <= 10.1
    leases.fail = 0
    await two.began.wait()
    assert two.from_ > one.until
    await cancel(second)


async def test_one_request_that_hangs_does_not_cost_the_lease(
    leases: LeaseServer, client: Client
) -> None:
    """An attempt is given up in time for another one before the deadline."""
    leader = Leader()
    task = asyncio.create_task(elector(client, "one").run(leader))
    await asyncio.sleep(21)
    leases.hang = 1
    await asyncio.sleep(60)
    assert leases.hang == 0
    assert leader.until == 0
    await cancel(task)


async def test_a_lease_taken_away_ends_the_leader(leases: LeaseServer, client: Client) -> None:
    """Seeing another holder, it stops at the next renewal and leaves the lease alone."""
    leader = Leader()
    task = asyncio.create_task(elector(client, "one").run(leader))
    await leader.began.wait()
    spec = {**leases.spec, "holderIdentity": "thief"}
    leases.store({"metadata": {"name": "lease", "namespace": "kube"}, "spec": spec})
    stolen = now()
    await task
    assert leader.until - stolen < 3
    assert leases.spec["holderIdentity"] == "thief"


async def test_only_one_of_many_leads(leases: LeaseServer, client: Client) -> None:
    """Of ten candidates that start together the compare-and-swap lets one through."""
    leaders = [Leader() for _ in range(10)]
    tasks = [
        asyncio.create_task(elector(client, f"c{n}").run(leader))
        for n, leader in enumerate(leaders)
    ]
    await asyncio.sleep(120)
    assert sum(leader.began.is_set() for leader in leaders) == 1
    for task in tasks:
        await cancel(task)


async def test_a_leader_that_ends_or_crashes_gives_the_lease_back(
    leases: LeaseServer, client: Client
) -> None:
    """Its end is the end of `run`, its crash is raised; either way the lease is free."""

    async def done() -> None:
        await asyncio.sleep(5)

    async def crash() -> None:
        raise ZeroDivisionError

    await elector(client, "one").run(done)
    assert leases.spec["holderIdentity"] == ""
    with pytest.raises(ZeroDivisionError):
        await elector(client, "one").run(crash)
    assert leases.spec["holderIdentity"] == ""


async def test_the_lease_covers_the_leaders_last_writes(
    leases: LeaseServer, client: Client
) -> None:
    """A leader that takes a minute to stop keeps the lease for that minute."""

    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(60)

    other = Leader()
    first = asyncio.create_task(elector(client, "one").run(slow))
    await asyncio.sleep(1)
    second = asyncio.create_task(elector(client, "two").run(other))
    await asyncio.sleep(1)
    first.cancel()
    await asyncio.sleep(58)
    assert not other.began.is_set()
    await other.began.wait()
    await asyncio.wait([first])
    await cancel(second)


@pytest.mark.parametrize("times", [(10, 10, 2), (15, 10, 10), (15, 10, 0)])
async def test_times_that_cannot_work_are_refused(
    client: Client, times: tuple[float, float, float]
) -> None:
    """retry < renew < duration, or two could lead."""
    duration, renew, retry = times
    with pytest.raises(ValueError, match="retry < renew < duration"):
        Elector(
            client,
            namespace="n",
            name="l",
            identity="i",
            duration=duration,
            renew=renew,
            retry=retry,
        )
