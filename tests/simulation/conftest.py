"""A simulated cluster for each test, looked over by the auditor afterwards."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from elasticgpu.errors import NotFound
from elasticgpu.testing.apiserver import ApiServer
from elasticgpu.testing.apiserver.requests import Answer, Request
from elasticgpu.testing.simulation import Cluster, simulated
from tests.auditor import audit

Object = dict[str, Any]
FLEET = "nodes: {node-0: [A10, A10], node-1: [H200]}\n"
PATIENCE = 30.0


class World:
    """The cluster as a person has it: manifests in, objects out, all in one namespace."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    async def make(self, path: str, body: Object) -> Object:
        """Create an object in a collection."""
        return await self.cluster.client.raw("POST", path, body=body)

    async def get(self, path: str) -> Object:
        """An object; nothing of it where there is none."""
        try:
            return await self.cluster.client.raw("GET", path)
        except NotFound:
            return {}

    async def delete(self, path: str, **options: Any) -> None:
        """Delete an object."""
        await self.cluster.client.raw("DELETE", path, body=options)

    async def until(self, found: Callable[[], Awaitable[Any]]) -> Any:
        """Wait until there is something, and say what."""
        async with asyncio.timeout(PATIENCE):
            while not (one := await found()):
                await asyncio.sleep(0.02)
        return one

    async def phase(self, path: str, *phases: str) -> Object:
        """Wait until the object is in one of these phases; "" is: not there."""

        async def there() -> Object | None:
            one = await self.get(path)
            now = one.get("status", {}).get("phase", "") if one else ""
            return (one or {"gone": path}) if now in phases and bool(one) == bool(now) else None

        found: Object = await self.until(there)
        return found

    def read(self, path: str) -> list[Object]:
        """All objects of a collection, as the auditor wants them."""
        answer = self.cluster.server.answer(Request("GET", path))
        assert isinstance(answer, Answer)
        items: list[Object] = json.loads(answer.body)["items"]
        return items

    def faults(self) -> list[str]:
        """What the auditor says."""
        return audit(self.read, self.cluster.folder / "node-0" / "cdi")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Two nodes with three cards, and a default class; at the end the auditor has no complaint."""
    with tempfile.TemporaryDirectory(prefix="sim-") as name:  # a socket's path has to be short
        folder = Path(name)
        (folder / "fleet.yaml").write_text(FLEET)
        async with simulated(ApiServer(), folder / "fleet.yaml", folder) as cluster:
            found = World(cluster)
            await cluster.published()
            await found.make("/apis/elasticgpu.io/v1alpha1/elasticgpuclasses", CLASS)
            yield found

            async def well() -> bool:
                return not found.faults()

            try:
                await found.until(well)
            except TimeoutError:
                pytest.fail("\n".join(found.faults()))


CLASS: Object = {
    "apiVersion": "elasticgpu.io/v1alpha1",
    "kind": "ElasticGPUClass",
    "metadata": {
        "name": "shares",
        "annotations": {"elasticgpu.io/is-default-class": "true"},
    },
    "spec": {"provisioner": "elasticgpu.io/qgpu"},
}
