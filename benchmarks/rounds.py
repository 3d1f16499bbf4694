"""What is measured: the ceiling, the PV controller, and ours with devices made ahead or not.

The same for all controllers: the process runs and has seen the devices (all Available); it is
stopped while the claims are created, and let go. Seconds count from there until the watch of a
bystander has shown the last claim Bound.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from tests.cluster.cluster import Cluster
from tests.cluster.process import Process

from . import objects
from .load import Load, in_phase
from .objects import CLAIMS, DEVICES, GPUS, NODES, VOLUME_CLAIMS, VOLUMES, Json
from .server import Etcd, controller, cpu_seconds, running, say, stopped, volume_binder

SETTLE = 3.0
"""Seconds after the last bind in which writes that follow it are still counted."""


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


async def ceiling(bench: Bench, count: int) -> Sample:
    """(a) The four writes of a bind, by PUT, with nobody deciding anything."""
    cards, load = objects.fleet(count), bench.load
    devices = await load.create(DEVICES, objects.devices(cards, count))
    claims = await load.create(CLAIMS, objects.claims(count))
    clock = Stopwatch(bench, count)
    await load.each(zip(devices, claims, strict=True), lambda both: _four_writes(load, *both))
    sample = clock.stop(time.monotonic())
    bench.wipe()
    return sample


async def _four_writes(load: Load, device: Json, claim: Json) -> Json:
    meta, name = claim["metadata"], device["metadata"]["name"]
    ref = {"namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}
    device = _with(device, "device-protection", {"elasticgpu.io/bound-by-controller": "yes"})
    device["spec"]["claimRef"] = ref
    device = await load.send("PUT", f"{DEVICES}/{name}", device)
    device["status"] = {"phase": "Bound", "conditions": [_condition("ClaimBound")]}
    await load.send("PUT", f"{DEVICES}/{name}/status", device)
    notes = {"elasticgpu.io/bind-completed": "yes", "elasticgpu.io/bound-by-controller": "yes"}
    claim = _with(claim, "claim-protection", notes)
    claim["spec"]["elasticGPUName"] = name
    path = f"{CLAIMS}/{meta['name']}"
    claim = await load.send("PUT", path, claim)
    status = {"phase": "Bound", "className": objects.CLASS, "conditions": [_condition("Bound")]}
    claim["status"] = {**status, "capacity": device["spec"]["capacity"]}
    return await load.send("PUT", f"{path}/status", claim)


def _with(obj: Json, finalizer: str, annotations: dict[str, str]) -> Json:
    meta = {**obj["metadata"], "finalizers": [f"elasticgpu.io/{finalizer}"]}
    meta.pop("managedFields")
    return {**obj, "metadata": {**meta, "annotations": annotations}}


def _condition(reason: str) -> Json:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"type": "Bound", "status": "True", "reason": reason, "lastTransitionTime": now}


async def volumes(bench: Bench, count: int) -> Sample:
    """(b) Kubernetes' PV controller."""
    binder = volume_binder(bench.cluster)
    with running(binder):
        async with bench.load.seeing(VOLUMES, in_phase("Available"), count) as ready:
            await bench.load.create(VOLUMES, objects.volumes(count))
            await ready
        sample = await _bind(bench, binder, VOLUME_CLAIMS, objects.volume_claims(count))
    bench.wipe()
    return sample


async def premade(bench: Bench, count: int) -> Sample:
    """(c) Ours, with as many devices made ahead of time as there are claims."""
    cards = await bench.make_fleet(count)
    ours = controller(bench.cluster)
    with running(ours):
        async with bench.load.seeing(DEVICES, in_phase("Available"), count) as ready:
            await bench.load.create(DEVICES, objects.devices(cards, count))
            await ready
        await asyncio.sleep(SETTLE)  # the view of the cards is written up to a second later
        sample = await _bind(bench, ours, CLAIMS, objects.claims(count))
    bench.wipe()
    return sample


async def dynamic(bench: Bench, count: int) -> Sample:
    """(d) Ours, on a fleet that has room for one device a claim, and one to begin with."""
    await bench.make_fleet(count + 1)
    ours = controller(bench.cluster)
    with running(ours):
        async with bench.load.seeing(CLAIMS, in_phase("Bound"), 1) as ready:
            await bench.load.create(CLAIMS, [objects.claim("first")])
            await ready
        await asyncio.sleep(SETTLE)
        sample = await _bind(bench, ours, CLAIMS, objects.claims(count), already=1)
    bench.wipe()
    return sample


async def _bind(
    bench: Bench, process: Process, path: str, claims: list[Json], already: int = 0
) -> Sample:
    count = len(claims)
    async with bench.load.seeing(path, in_phase("Bound"), count + already) as last:
        with stopped(process):
            await bench.load.create(path, claims)
            clock = Stopwatch(bench, count, process)
        sample = clock.stop(await last)
    say(f"    pid {process.pid}: {sample.rate:.0f} binds/s")
    await asyncio.sleep(SETTLE)
    sample.writes = clock.writes()
    return sample
