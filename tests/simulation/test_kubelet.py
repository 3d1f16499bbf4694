"""What the simulated kubelet has undone: all that it ever asked a driver to prepare."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from random import Random

import pytest

from elasticgpu.api.core import ResourceClaim
from elasticgpu.cluster.client import MERGE_PATCH
from elasticgpu.cluster.events import Recorder
from elasticgpu.errors import Retry
from elasticgpu.testing.apiserver import ApiServer, DirectClient
from elasticgpu.testing.simulation.kubelet import Kubelet

pytestmark = pytest.mark.looptime(noop_cycles=0)  # nothing comes from outside of the loop

PODS = "/api/v1/namespaces/default/pods"
REQUESTS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
POD = {
    "metadata": {"name": "web"},
    "spec": {"nodeName": "node-0", "containers": [{"name": "main", "image": "none"}]},
}
GIVEN = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "web-gpu"}]}


class HalfDone:
    """A driver that fails every time, after having done a part of it."""

    def __init__(self) -> None:
        self.begun: set[str] = set()
        self.undone: list[str] = []

    async def prepare(self, claims: Iterable[ResourceClaim]) -> dict[str, list[str]]:
        """Begin, and fail."""
        self.begun |= {claim.uid for claim in claims}
        raise Retry("the second of its cards is gone", after=1.0)

    async def unprepare(self, claims: Iterable[ResourceClaim]) -> None:
        """Undo it."""
        self.undone += [claim.uid for claim in claims]
        self.begun -= {*self.undone}


async def until(holds: Callable[[], Awaitable[object]]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(60):
        while not await holds():
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("grace", [30, 0], ids=["deleted", "deleted-by-force"])
async def test_what_was_half_done_is_undone(tmp_path: Path, grace: int) -> None:
    """As a kubelet does: it writes down what it asks for before it asks, and undoes that when the
    pod is deleted, though nothing of it ever succeeded."""
    driver = HalfDone()
    async with DirectClient(ApiServer(random=Random(1))) as client, asyncio.TaskGroup() as group:
        kubelet = Kubelet(client, "node-0", tmp_path, Recorder(client, controller="x", instance=""))
        work = group.create_task(kubelet.run(driver))  # type: ignore[arg-type] # no socket between
        made = await client.raw("POST", PODS, body=POD)
        await client.raw("POST", REQUESTS, body={"metadata": {"name": "web-gpu"}, "spec": {}})
        reserved = {"resource": "pods", "name": "web", "uid": made["metadata"]["uid"]}
        whole = {"allocation": {"devices": {}}, "reservedFor": [reserved]}
        for path, status in ((f"{REQUESTS}/web-gpu", whole), (f"{PODS}/web", GIVEN)):
            body = {"status": status}
            await client.raw("PATCH", f"{path}/status", body=body, content_type=MERGE_PATCH)

        async def begun() -> object:
            return driver.begun

        async def gone() -> bool:
            left = (await client.raw("GET", PODS))["items"]
            return not left and not driver.begun

        await until(begun)
        await client.raw("DELETE", f"{PODS}/web", body={"gracePeriodSeconds": grace})
        await until(gone)
        work.cancel()
    assert len(driver.undone) == 1
