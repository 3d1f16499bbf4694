"""(f) A controller that starts where there is much already: time to its first decision, memory.

The load is made by a bind: one claim is bound by the controller, and device and claim are copied in
the store as often as wanted. The controller runs once to write who holds what on the cards, ends,
and is started again with one more claim waiting.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

from tests.cluster.process import Process

from . import objects
from .bench import Bench
from .load import in_phase
from .objects import CLAIMS, SHARES, SPACE, Json
from .server import controller, resident_kib, running

STORE = "/registry/elasticgpu.io"
QUIET = 3.0
"""Seconds without a write after which a controller has settled."""
PROBE = "zz-waiting"
"""The claim that waits; its name comes last in every list."""


@dataclass(frozen=True)
class Start:
    """`seconds` from the process's start to the waiting claim Bound; `kib` per device or claim,
    over the same process with the same cards and one claim; `resident` in all."""

    seconds: float
    kib: float
    resident: int


async def start(bench: Bench, count: int) -> Start:
    """Measure it with so many devices bound to as many claims."""
    cards = await bench.make_fleet(count + 2)
    with running(controller(bench.cluster)) as process:
        before = await _settle(bench, process, "pattern")
    bench.etcd.put(_copies(bench, cards, count))
    with running(controller(bench.cluster)) as process:
        await _quiet(bench)
    await bench.load.create(CLAIMS, [objects.claim(PROBE)])
    began = time.monotonic()
    with running(controller(bench.cluster)) as process:
        seconds = await _bound(bench, PROBE) - began
        await _quiet(bench)
        after = resident_kib(process)
    bench.wipe()
    return Start(seconds, (after - before) / (2 * count), after)


async def _settle(bench: Bench, process: Process, name: str) -> int:
    await bench.load.create(CLAIMS, [objects.claim(name)])
    await _bound(bench, name)
    await _quiet(bench)
    return resident_kib(process)


async def _bound(bench: Bench, name: str) -> float:
    path = f"{CLAIMS}?fieldSelector=metadata.name={name}"
    async with bench.load.seeing(path, in_phase("Bound"), 1) as bound:
        return await bound


async def _quiet(bench: Bench) -> None:
    """Wait until nothing but leases is written any more, and something was."""
    last, since = bench.writes(), time.monotonic()
    while time.monotonic() - since < QUIET:
        await asyncio.sleep(QUIET / 6)
        now = bench.writes()
        if {**now, "PUT leases": 0} != {**last, "PUT leases": 0}:
            last, since = now, time.monotonic()


def _copies(bench: Bench, cards: list[Json], count: int) -> Iterator[tuple[str, str]]:
    """Keys and values of so many bound pairs, ten on a card."""
    claim = json.loads(bench.etcd.read(f"{STORE}/elasticgpuclaims/{SPACE}/pattern"))
    device = json.loads(bench.etcd.read(f"{STORE}/elasticgpus/{claim['spec']['elasticGPUName']}"))
    for number in range(count):
        # The pattern's own place, the first of the first card, is taken.
        card = cards[(number + 1) // SHARES]
        uid, name = str(uuid4()), f"claim-{number:05}"
        yield (
            f"{STORE}/elasticgpus/egpu-{uid}",
            json.dumps(_device(device, uid, name, card)),
        )
        yield (
            f"{STORE}/elasticgpuclaims/{SPACE}/{name}",
            json.dumps(_claim(claim, uid, name)),
        )


def _device(pattern: Json, uid: str, claim: str, card: Json) -> Json:
    (part,) = pattern["spec"]["source"]["devices"]
    gpu = {"gpu": card["metadata"]["name"], "uuid": card["status"]["uuid"]}
    source = {**pattern["spec"]["source"], "handle": f"egpu-{uid}", "devices": [{**part, **gpu}]}
    spec = {
        **pattern["spec"],
        "claimRef": {"namespace": SPACE, "name": claim, "uid": uid},
        "nodeName": card["spec"]["nodeName"],
        "source": source,
    }
    meta = {**pattern["metadata"], "name": f"egpu-{uid}", "uid": str(uuid4())}
    return {**pattern, "metadata": meta, "spec": spec}


def _claim(pattern: Json, uid: str, name: str) -> Json:
    meta = {**pattern["metadata"], "name": name, "uid": uid}
    return {
        **pattern,
        "metadata": meta,
        "spec": {**pattern["spec"], "elasticGPUName": f"egpu-{uid}"},
    }
