"""(e) How long one claim takes on an idle cluster, from its creation to Bound."""

from __future__ import annotations

import time

from . import objects
from .bench import Bench
from .load import in_phase
from .objects import CLAIMS
from .server import controller, running


async def latencies(bench: Bench, times: int) -> list[float]:
    """Milliseconds from before a claim's create is sent until a watch has shown it Bound; one claim
    at a time, each with a device made for it. The first one warms up and does not count."""
    await bench.make_fleet(times + 1)
    found = []
    with running(controller(bench.cluster)):
        for claim in objects.claims(times + 1):
            found.append(await _once(bench, claim["metadata"]["name"]))
    bench.wipe()
    return found[1:]


async def _once(bench: Bench, name: str) -> float:
    path = f"{CLAIMS}?fieldSelector=metadata.name={name}"
    async with bench.load.seeing(path, in_phase("Bound"), 1) as bound:
        began = time.monotonic()
        await bench.load.create(CLAIMS, [objects.claim(name)])
        return (await bound - began) * 1000


def percentile(values: list[float], percent: int) -> float:
    """The smallest value that so many percent do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, -(-len(ordered) * percent // 100) - 1)]
