"""What every measurement has at hand: the server, the load, and a stopwatch for all of it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.cluster.cluster import Cluster
from tests.cluster.process import Process

from . import objects
from .load import Load
from .objects import GPUS, NODES, Json
from .server import Etcd, api_server, cpu_seconds

KINDS = ("elasticgpus", "elasticgpuclaims")
"""A bind's own resources; writes to any other one count beside it."""


@dataclass
class Sample:
    """One measurement of `count` binds. CPU in seconds, writes by resource and verb."""

    count: int
    seconds: float = 0.0
    cpu: dict[str, float] = field(default_factory=dict)
    writes: dict[str, int] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Binds a second."""
        return self.count / self.seconds

    def written(self, *, own: bool) -> float:
        """Writes a bind: to devices and claims, or to everything else."""
        counted = (n for what, n in self.writes.items() if _is_own(what) is own)
        return sum(counted) / self.count


def _is_own(what: str) -> bool:
    """Whether `PUT elasticgpus/status` and the like is a write of a bind."""
    return what.partition(" ")[2].partition("/")[0] in KINDS


@dataclass
class Bench:
    """One API server and what is asked of it."""

    cluster: Cluster
    load: Load
    etcd: Etcd

    def wipe(self) -> None:
        """Remove the load of a round, once nobody watches it who could care."""
        for prefix in ("elasticgpu.io/elasticgpus/", "elasticgpu.io/elasticgpuclaims/",
                       "elasticgpu.io/gpus/", "persistentvolumes/", "persistentvolumeclaims/",
                       "minions/", "events/"):  # fmt: skip
            self.etcd.wipe(f"/registry/{prefix}")

    async def make_fleet(self, devices: int) -> list[Json]:
        """Create the cards that hold so many devices, as their agents would, and their nodes."""
        cards = objects.fleet(devices)
        await self.load.each(objects.homes(cards), lambda node: self._make(NODES, node))
        await self.load.each(cards, lambda card: self._make(GPUS, card))
        return cards

    async def _make(self, path: str, obj: Json) -> Json:
        made = await self.load.send("POST", path, obj)
        status = f"{path}/{obj['metadata']['name']}/status"
        return await self.load.send("PUT", status, {**obj, "metadata": made["metadata"]})

    def writes(self) -> dict[str, int]:
        """Writing requests the API server has counted so far, by verb and resource."""
        found: dict[str, int] = {}
        for request, count in self.cluster.api.metrics().items():
            if request.verb in ("POST", "PUT", "PATCH", "APPLY", "DELETE"):
                what = f"{request.resource}/{request.subresource}".rstrip("/")
                found[f"{request.verb} {what}"] = found.get(f"{request.verb} {what}", 0) + count
        return found


@asynccontextmanager
async def fresh_server() -> AsyncIterator[Bench]:
    """A server with what is there for a whole run: the chart's objects, a namespace, classes."""
    with api_server() as cluster:
        load = Load(cluster)
        try:
            for path, obj in objects.standing():
                await load.send("POST", path, obj)
            yield Bench(cluster, load, Etcd(cluster))
        finally:
            await load.close()


class Stopwatch:
    """Seconds and CPU from its making to `stop`, writes until they are asked for."""

    def __init__(self, bench: Bench, count: int, *processes: Process) -> None:
        self._bench, self._count = bench, count
        self._processes = (*bench.cluster.processes.values(), *processes)
        self._writes = bench.writes()
        self._cpu = [cpu_seconds(process) for process in self._processes]
        self._began = time.monotonic()

    def stop(self, ended: float) -> Sample:
        """What was used until now, the last bind having been seen at `ended`."""
        pairs = zip(self._processes, self._cpu, strict=True)
        cpu = {process.name: cpu_seconds(process) - before for process, before in pairs}
        return Sample(self._count, ended - self._began, cpu)

    def writes(self) -> dict[str, int]:
        """What was written until now."""
        now, before = self._bench.writes(), self._writes
        return {what: n - before.get(what, 0) for what, n in now.items() if n > before.get(what, 0)}
