"""The life of an instance: mode, GPU instance, compute instance; and back in the other order.

The driver takes one change at a time, so all of a node's go through one lock. What an instance is
called changes whenever it is made: it is known by card, profile and start alone. Each step looks
first and does what is missing, so that a life that was cut short anywhere is taken up again: a GPU
instance without a compute instance is what a crash leaves, and gets one. An instance that is not
looked for is somebody else's: it is named where it is in the way, and never destroyed.

Sources: NVML API reference, “Multi Instance GPU Management”; MIG User Guide, “Getting Started”.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from weakref import WeakKeyDictionary

from elasticgpu.api.gpu import GPU, MigProfile
from elasticgpu.provisioner import CardSlice, ComputeInstance, GpuInstance, Host, Refused, Retry
from elasticgpu.rules import mig

log = logging.getLogger(__name__)

_workers: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


def _worker() -> asyncio.Lock:
    """The node's one lock: its agent is one process with one loop."""
    return _workers.setdefault(asyncio.get_running_loop(), asyncio.Lock())


async def begin(part: CardSlice, host: Host) -> tuple[GpuInstance, ComputeInstance]:
    """Have this instance, and be told its ids.

    Raises Refused, in words, if the card cannot have it as it is now; Retry while it is in use.
    """
    card = host.card(part.gpu)
    row = mig.find(card.status.mig, part.mig_profile)
    if row is None:
        wanted = mig.Instance(part.mig_profile, part.mig_start)
        raise Refused(f"{card.name}: {mig.conflict(card.status.mig, (), wanted)}")
    async with _worker():
        await _enable(card, host)
        gpu = await _gpu_instance(card, row, part.mig_start, host)
        there = await host.nvml.compute_instances(card.name, gpu.id)
        compute = there[0] if there else await host.nvml.create_compute_instance(card.name, gpu.id)
        return gpu, compute


async def end(part: CardSlice, host: Host) -> None:
    """Have no such instance any more, and no MIG mode once the card has none at all.

    A mode that only a reset changes stays: it is the card's admin who chose it.
    """
    try:
        card = host.card(part.gpu)
    except Refused:
        return  # with the card went what was on it
    nvml, row = host.nvml, mig.find(card.status.mig, part.mig_profile)
    if row is None:
        return await _none_unknown(card, part, host)
    async with _worker():
        if (await nvml.mig_mode(card.name))[0] != "Enabled":
            return
        there = await nvml.gpu_instances(card.name)
        for gpu in [one for one in there if (one.profile, one.start) == (row.id, part.mig_start)]:
            for compute in await nvml.compute_instances(card.name, gpu.id):
                await nvml.destroy_compute_instance(card.name, gpu.id, compute.id)
            await nvml.destroy_gpu_instance(card.name, gpu.id)
        if not card.status.mig_needs_reset and not await nvml.gpu_instances(card.name):
            await nvml.set_mig_mode(card.name, "Disabled")


async def _none_unknown(card: GPU, part: CardSlice, host: Host) -> None:
    """Raises Retry if what is there may be this instance, of a profile that the card lacks now."""
    known = {row.id for row in card.status.mig}
    there: list[GpuInstance] = []
    with suppress(Refused):  # it never was a card for MIG
        there = await host.nvml.gpu_instances(card.name)
    if any(one.start == part.mig_start and one.profile not in known for one in there):
        wanted = mig.Instance(part.mig_profile, part.mig_start)
        raise Retry(f"{card.name} does not know the profile of {wanted} any more, to destroy it")


async def _enable(card: GPU, host: Host) -> None:
    now, pending = await host.nvml.mig_mode(card.name)
    if now == "Enabled":
        return
    if card.status.mig_needs_reset:
        waits = "is pending until" if pending == "Enabled" else "needs"
        raise Refused(
            f"{card.name} is not in MIG mode, and the change {waits} a reset of the card: once "
            f"nothing uses it, its admin runs nvidia-smi -i {card.status.index} -mig 1, then "
            f"nvidia-smi --gpu-reset -i {card.status.index}"
        )
    await host.nvml.set_mig_mode(card.name, "Enabled")


async def _gpu_instance(card: GPU, row: MigProfile, start: int, host: Host) -> GpuInstance:
    there = await host.nvml.gpu_instances(card.name)
    for one in there:
        if (one.profile, one.start) == (row.id, start):
            log.info("%s: %s at %d is there already", card.name, row.name, start)
            return one
    strangers = list(_instances(card.status.mig, there))
    if said := mig.conflict(card.status.mig, strangers, mig.Instance(row.name, start)):
        raise Refused(
            f"{card.name}: {said}. What no ElasticGPU stands for somebody else made: who did "
            "destroys it (nvidia-smi mig -lgi, -dci, -dgi), or an admin makes an ElasticGPU of it"
        )
    return await host.nvml.create_gpu_instance_with_placement(card.name, row.id, start)


def _instances(table: Sequence[MigProfile], there: Iterable[GpuInstance]) -> Iterable[mig.Instance]:
    names = {row.id: row.name for row in table}
    for one in there:
        name = names.get(one.profile, f"profile {one.profile}")
        yield mig.Instance(name, one.start, f"GPU instance {one.id}")
