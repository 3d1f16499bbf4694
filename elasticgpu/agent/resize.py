"""A device that grew while pods use it: the node judges, then its provisioner lets them have it.

The controller writes the larger device, and counts it from then on; here it comes true, in an order
in which every step can be done twice, and the process may die after any:

1. The node judges: the device has room beside all others that are here.
2. The ledger has the larger device, on disk.
3. The provisioner lets the pods have it.
4. `status.preparedMemory` says so. Until then it is done again, from the beginning.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Condition, merge_condition
from elasticgpu.api.quantity import format_bytes
from elasticgpu.cluster.backoff import jittered
from elasticgpu.cluster.clock import timestamp
from elasticgpu.errors import ElasticGPUError, NotFound, Refused, Retry
from elasticgpu.rules.growing import RESIZED

from . import judge
from .ledger import snapshot
from .node import Node, ask_plugin
from .ports import get_same, revise

log = logging.getLogger(__name__)


async def resize(node: Node, device: ElasticGPU) -> None:
    """Let the pods that use the device have its size; the caller has the device's lock.

    Raises Refused with the reason, Retry, ApiError, or what the provisioner raises.
    """
    now = await get_same(node.api, device)
    if not now.resizing:
        return
    records = [record for record in node.ledger.live() if record.device.uid == now.uid]
    if not records:
        raise Retry(f"the ledger does not know ElasticGPU {now.name} yet")
    async with node.judging:
        listed = [one async for one in node.listing()]
        if said := judge.outgrows(node.cards(), node.ledger.live(), listed, now):
            raise Refused(f"node {node.name} has no room: {said}")
        for record in records:
            await node.ledger.put(record.but(device=snapshot(now)))
    plugin = node.plugin(now)
    await ask_plugin(plugin.name, plugin.resize(now, node.host(records[0])))
    size = format_bytes(now.memory_bytes)

    def resized(device: ElasticGPU) -> ElasticGPU:
        others = [one for one in device.status.conditions if one.type != RESIZED]
        return device.with_status(prepared_memory=size, conditions=others)

    await revise(node.api, now, resized, "status")
    log.info("ElasticGPU %s: its pods have %s memory", now.name, size)


async def refuse(node: Node, device: ElasticGPU, reason: str) -> None:
    """Say on the device why its pods do not have its size."""
    condition = Condition(type=RESIZED, status="False", reason="Refused", message=reason[:1024])

    def refused(device: ElasticGPU) -> ElasticGPU:
        have = device.status.conditions
        said = merge_condition(have, condition, now=timestamp())
        return device if said == have else device.with_status(conditions=said)

    await revise(node.api, await get_same(node.api, device), refused, "status")


class Resizer:
    """Has every device of the node resized that grew, for as long as it takes."""

    def __init__(self, node: Node, devices: Callable[[], Iterable[ElasticGPU]]) -> None:
        self._node = node
        self._devices = devices
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """A device may have grown."""
        self._woken.set()

    async def run(self) -> None:
        """Resize, and try again what could not be done, later and later."""
        failures = 0
        while True:
            self._woken.clear()
            failures = failures + 1 if await self.round() else 0
            pause = jittered(failures, base=1.0, cap=60.0) if failures else None
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._woken.wait()

    async def round(self) -> int:
        """Try once each device that grew; how many could not be resized."""
        grown = [device for device in self._devices() if device.resizing]
        return sum([not await self._resized(device) for device in grown])

    async def _resized(self, device: ElasticGPU) -> bool:
        node = self._node
        async with node.devices.of(device.name):
            try:
                try:
                    await resize(node, device)
                except Refused as error:
                    await refuse(node, device, error.reason)
                    raise
            except NotFound:
                return True
            except (ElasticGPUError, OSError) as error:
                log.warning("ElasticGPU %s grew, but: %s", device.name, error)
                return False
        return True
