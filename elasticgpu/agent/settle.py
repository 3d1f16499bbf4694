"""The way back, after Unprepare or a restart: a record leaves the node, the API server, the ledger.

After Unprepare nothing of the pod's use is left on the node and the kubelet has its answer; what
the API server still believes (`status.preparedFor`, our finalizer) is put right here, now or
whenever it is back. No device is free for others before that.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.names import NODE_FINALIZER
from elasticgpu.cluster.backoff import jittered
from elasticgpu.errors import ElasticGPUError, NotFound
from elasticgpu.rules.growing import RESIZED

from .ledger import Record
from .node import Node, ask_plugin
from .ports import get_same, revise

log = logging.getLogger(__name__)


async def release(node: Node, record: Record) -> Record:
    """Undo a record on the node; the caller has the device's lock. Can be done twice.

    Raises what the provisioner raises, and then the record stays as it is.
    """
    if not node.ledger.sharing(record):
        plugin = node.plugin(record.device)
        await ask_plugin(plugin.name, plugin.unprepare(record.device, node.host(record)))
    node.folder.remove(record.uid)
    return await node.ledger.put(record.but(state="released", edits=None))


async def finish(node: Node, record: Record) -> None:
    """Tell the API server what `release` did, and forget it; the caller has the device's lock."""
    with suppress(NotFound):  # then there is nothing to take back
        device = await get_same(node.api, record.device)
        pods = {other.pod.uid for other in node.ledger.sharing(record)}
        if record.pod.uid not in pods:
            device = await revise(node.api, device, lambda d: without_row(d, record), "status")
        await revise(node.api, device, unmarked)
    await node.ledger.drop(record.uid)


async def restore(node: Node) -> None:
    """At start, before the kubelet can call: put back the CDI files of what is in use.

    What is from before a reboot is not in use, whoever forgot to say so: no container outlived it,
    and the kubelet asks Prepare again for every pod that stays. A reboot may also have taken what
    the provisioners made, so the next Prepare begins anew.
    """
    node.folder.sweep()
    for record in node.ledger.live():
        if record.boot_id != node.ledger.boot_id:
            await _release_after_boot(node, record)
        elif record.edits is not None:
            node.folder.write(record.uid, record.edits)


async def _release_after_boot(node: Node, record: Record) -> None:
    try:
        await release(node, record)
    except ElasticGPUError as error:
        log.warning("ElasticGPU %s is kept over the reboot: %s", record.device.name, error)
        await node.ledger.put(record.but(state="preparing", edits=None))


def without_row(device: ElasticGPU, record: Record) -> ElasticGPU:
    """The device, no longer prepared for the record's pod; the same object if it is not."""
    rows = device.status.prepared_for
    left = [uid for uid in rows if uid != record.pod.uid]
    if len(left) == len(rows):
        return device
    device = device.with_status(prepared_for=left)
    if left or device.status.prepared_memory is None:
        return device
    others = [one for one in device.status.conditions if one.type != RESIZED]
    return device.with_status(prepared_memory=None, conditions=others)


def unmarked(device: ElasticGPU) -> ElasticGPU:
    """The device without our finalizer, if no pod has it prepared; else the same object."""
    if device.status.prepared_for or NODE_FINALIZER not in device.metadata.finalizers:
        return device
    return device.without_finalizers(NODE_FINALIZER)


class Settler:
    """Finishes what is released, in the background, for as long as it takes."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """There is something to finish."""
        self._woken.set()

    async def run(self) -> None:
        """Finish, and try again what could not be finished, later and later."""
        failures = 0
        while True:
            self._woken.clear()
            failures = failures + 1 if await self.round() else 0
            pause = jittered(failures, base=1.0, cap=60.0) if failures else None
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._woken.wait()

    async def round(self) -> int:
        """Try every released record once; how many could not be finished."""
        left = 0
        for record in self._node.ledger.all():
            if not record.live:
                left += not await self._finish(record)
        return left

    async def _finish(self, record: Record) -> bool:
        node = self._node
        async with node.claims.of(record.uid), node.devices.of(record.device.name):
            now = node.ledger.get(record.uid)
            if now is None or now.live:
                return True
            try:
                await finish(node, now)
            except (ElasticGPUError, OSError) as error:
                log.warning("ElasticGPU %s is released, but: %s", record.device.name, error)
                return False
        log.info("ElasticGPU %s released by pod %s", record.device.name, record.pod.name)
        return True
