"""MIG on made-up cards, as NVIDIA's library does it: modes, GPU instances, compute instances.

Overlap, numbers of instances and compute slices are by the card's own table. An instance that is
made anew may have the id of an earlier one, and always has another uuid. Ampere keeps a change of
mode until it is reset; later cards change at once and forget it with the driver; instances are
never kept. Sources: NVML API reference; MIG User Guide, “Getting Started”.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from elasticgpu.api.gpu import GPU, MigMode, MigProfile
from elasticgpu.errors import Refused, Retry
from elasticgpu.host import ComputeInstance, GpuInstance
from elasticgpu.rules import mig

Fault = Callable[[str, str], None]
"""Called before each call with its name and the card's; raises what the library is to fail with."""


@dataclass
class _Card:
    table: Sequence[MigProfile]
    needs_reset: bool
    mode: MigMode
    pending: MigMode
    instances: dict[int, GpuInstance] = field(default_factory=dict)
    compute: dict[int, dict[int, ComputeInstance]] = field(default_factory=dict)

    def begin_anew(self, mode: MigMode) -> None:
        self.mode = self.pending = mode
        self.instances.clear()
        self.compute.clear()


class SimulatedMig:
    """The part of an `Nvml` that is about MIG; one change at a time, as the driver has it."""

    def __init__(self, cards: Iterable[GPU] = ()) -> None:
        self._mig = {
            card.name: _Card(
                card.status.mig,
                card.status.mig_needs_reset,
                card.status.mig_mode or "Disabled",
                card.status.mig_mode_pending or card.status.mig_mode or "Disabled",
            )
            for card in cards
            if card.status.mig
        }
        self._made = count(1)
        self._changing = ""
        self.clients: dict[str, list[int]] = {}
        """PIDs that compute on a card, by its name: then its mode and instances cannot change."""
        self.latency = 0.0
        """Seconds that each call takes."""
        self.fault: Fault = lambda call, gpu: None

    async def processes(self, gpu: str) -> list[int]:
        """See `Nvml`: whatever a test says computes there."""
        return list(self.clients.get(gpu, ()))

    async def mig_mode(self, gpu: str) -> tuple[MigMode, MigMode]:
        """See `Nvml`."""
        card = await self._ask("mig_mode", gpu)
        return card.mode, card.pending

    async def set_mig_mode(self, gpu: str, mode: MigMode) -> None:
        """See `Nvml`."""
        async with self._change("set_mig_mode", gpu) as card:
            if card.instances or self.clients.get(gpu):
                raise Retry(f"{gpu}: in use by another client")
            card.pending = mode
            if card.needs_reset and card.mode != mode:
                raise Refused(f"{gpu}: the change is pending until the card is reset")
            card.mode = mode

    async def gpu_instances(self, gpu: str) -> list[GpuInstance]:
        """See `Nvml`."""
        card = await self._ask("gpu_instances", gpu)
        return [card.instances[number] for number in sorted(card.instances)]

    async def create_gpu_instance_with_placement(
        self, gpu: str, profile: int, start: int
    ) -> GpuInstance:
        """See `Nvml`."""
        async with self._change("create_gpu_instance_with_placement", gpu) as card:
            if card.mode != "Enabled":
                raise Refused(f"{gpu}: not supported, it is not in MIG mode")
            held = [_instance(card, one) for one in card.instances.values()]
            wanted = _instance(card, GpuInstance(-1, profile, start))
            if said := mig.conflict(card.table, held, wanted):
                raise Refused(f"{gpu}: insufficient resources: {said}")
            number = next(n for n in count() if n not in card.instances)
            card.instances[number] = made = GpuInstance(number, profile, start)
            card.compute[number] = {}
            return made

    async def destroy_gpu_instance(self, gpu: str, instance: int) -> None:
        """See `Nvml`."""
        async with self._change("destroy_gpu_instance", gpu) as card:
            if card.compute.get(instance):
                raise Retry(f"{gpu}: GPU instance {instance} is in use")
            card.instances.pop(instance, None)
            card.compute.pop(instance, None)

    async def compute_instances(self, gpu: str, instance: int) -> list[ComputeInstance]:
        """See `Nvml`."""
        card = await self._ask("compute_instances", gpu)
        there = card.compute.get(instance, {})
        return [there[number] for number in sorted(there)]

    async def create_compute_instance(self, gpu: str, instance: int) -> ComputeInstance:
        """See `Nvml`."""
        async with self._change("create_compute_instance", gpu) as card:
            if instance not in card.instances:
                raise Refused(f"{gpu}: there is no GPU instance {instance}")
            if card.compute[instance]:
                raise Refused(f"{gpu}: insufficient resources in GPU instance {instance}")
            name = f"{next(self._made)}.{gpu}.simulated"
            made = ComputeInstance(0, f"MIG-{uuid.uuid5(uuid.NAMESPACE_DNS, name)}")
            card.compute[instance][made.id] = made
            return made

    async def destroy_compute_instance(self, gpu: str, instance: int, compute: int) -> None:
        """See `Nvml`."""
        async with self._change("destroy_compute_instance", gpu) as card:
            if self.clients.get(gpu):
                raise Retry(f"{gpu}: compute instance {compute} is in use by another client")
            card.compute.get(instance, {}).pop(compute, None)

    def reset(self, gpu: str) -> None:
        """The card is reset: what was pending is so now, and its instances are gone."""
        card = self._mig[gpu]
        card.begin_anew(card.pending)

    def reload(self) -> None:
        """The driver begins anew, as after a reboot: only Ampere knows the mode it is to be in."""
        for card in self._mig.values():
            card.begin_anew(card.pending if card.needs_reset else "Disabled")

    async def _ask(self, call: str, gpu: str) -> _Card:
        await asyncio.sleep(self.latency)
        self.fault(call, gpu)
        if gpu not in self._mig:
            raise Refused(f"{gpu}: not supported, it cannot be cut by MIG")
        return self._mig[gpu]

    @asynccontextmanager
    async def _change(self, call: str, gpu: str) -> AsyncIterator[_Card]:
        """Only one change at a time, on all cards of the node; who comes meanwhile is told so."""
        if self._changing:
            raise Retry(f"{gpu}: {call} while {self._changing} goes on")
        self._changing = call
        try:
            yield await self._ask(call, gpu)
        finally:
            self._changing = ""


def _instance(card: _Card, one: GpuInstance) -> mig.Instance:
    row = next((row for row in card.table if row.id == one.profile), None)
    return mig.Instance(row.name if row else f"of id {one.profile}", one.start)
