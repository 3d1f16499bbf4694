"""What is measured: the ceiling, the PV controller, and ours with devices made ahead or not.

The same for all controllers: the process runs and has seen the devices (all Available); it is
stopped while the claims are created, and let go. Seconds count from there until the watch of a
bystander has shown the last claim Bound.
"""

from __future__ import annotations

import asyncio
import time

from tests.cluster.process import Process

from . import objects
from .bench import Bench, Sample, Stopwatch
from .load import Load, in_phase
from .objects import CLAIMS, DEVICES, VOLUME_CLAIMS, VOLUMES, Json
from .server import controller, running, stopped, volume_binder

SETTLE = 3.0
"""Seconds after the last bind in which writes that follow it are still counted."""


async def ceiling(bench: Bench, count: int) -> Sample:
    """(a) The four writes of a bind, by PUT, with nobody deciding anything."""
    cards, load = objects.fleet(count), bench.load
    devices = await load.create(DEVICES, objects.devices(cards, count))
    claims = await load.create(CLAIMS, objects.claims(count))
    clock = Stopwatch(bench, count)
    await load.each(zip(devices, claims, strict=True), lambda both: _four_writes(load, *both))
    sample = clock.stop(time.monotonic())
    sample.writes = clock.writes()
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
    await asyncio.sleep(SETTLE)
    sample.writes = clock.writes()
    return sample
