"""A bound claim asks for more than its device has: the device grows, or the claim hears why not.

Only memory grows, and only on the cards where the device is, by provisioners that can change it
under the processes that use it. The controller writes the larger device; from then on it holds that
much. Its node judges once more, has the provisioner let the pods have it, and says so in
`status.preparedMemory`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import CardSlice, ElasticGPU
from elasticgpu.api.meta import find_condition
from elasticgpu.api.quantity import format_bytes, to_int
from elasticgpu.api.vocabulary import MEMORY, Demand, demand

from .fitting import Candidate, falls_short
from .fleet import CardView
from .ledger import shortage
from .placement import Wish, unfit

RESIZED = "Resized"
"""Type of the condition, of claims and devices. It is there only while something is missing."""

NO_ROOM: Literal["NoRoom"] = "NoRoom"


@dataclass(frozen=True, slots=True)
class GrowthView:
    """A bound claim with its device; `grows`: its provisioner can give it more memory in use.

    `cards` are those of the device by name, as if it were not there.
    """

    claim: ElasticGPUClaim
    device: Candidate
    grows: bool = False
    cards: Mapping[str, CardView] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Grow:
    """Write this: the device with as much memory as is asked for."""

    device: ElasticGPU


@dataclass(frozen=True, slots=True)
class Short:
    """The claim does not have what it asks for, or not yet, and why."""

    reason: Literal["DeviceTooSmall", "NoRoom", "Resizing"]
    message: str


def decide(view: GrowthView) -> Grow | Short | None:
    """What to do about the size of the claim's device; None: it has what is asked for."""
    device = view.device.device
    try:
        want = demand(view.claim.spec.resources.requests, view.claim.metadata.labels)
        short = falls_short(want, view.device)
        if short is None:
            return _underway(device)
        larger = _larger(want, view.device) if view.grows else device
        rest = falls_short(want, view.device.of(larger))
    except ValueError as error:
        return Short("DeviceTooSmall", str(error))
    if rest is not None or device.status.phase != "Bound" or device.terminating:
        but = ", but for its memory" if view.grows else ""
        return Short(
            "DeviceTooSmall",
            f"{device.name} {rest or short}: a bound claim keeps its device{but}. For more, make a "
            "new claim and let the pods use that",
        )
    lacks = [said for part in larger.spec.source.devices if (said := _lacks(part, view))]
    if lacks:
        return Short(NO_ROOM, f"{device.name} {short}: {'; '.join(lacks)}")
    return Grow(larger)


def _larger(want: Demand, candidate: Candidate) -> ElasticGPU:
    """The device with at least the memory that is asked for of each of its cards."""
    device, sizes = candidate.device, {card.name: card.memory for card in candidate.cards}
    spec = device.spec
    parts = [
        _with_memory(part, want.memory_of(sizes.get(part.gpu, 0))) for part in spec.source.devices
    ]
    more = sum(part.memory_bytes for part in parts) - device.memory_bytes
    if not more or MEMORY not in spec.capacity:
        return device
    capacity = {**spec.capacity, MEMORY: format_bytes(to_int(spec.capacity[MEMORY]) + more)}
    return device.but(spec=spec.but(capacity=capacity, source=spec.source.but(devices=parts)))


def _with_memory(part: CardSlice, least: int) -> CardSlice:
    return part if part.memory_bytes >= least else part.but(memory=format_bytes(least))


def _lacks(part: CardSlice, view: GrowthView) -> str | None:
    """Why a part of the larger device has no room on its card, in words; None if it has."""
    card = view.cards.get(part.gpu)
    if card is None:
        return f"there is no GPU object {part.gpu}"
    driver = view.device.device.spec.source.driver
    said = unfit(Wish(Demand()), driver, card) or shortage(part.core, part.memory_bytes, card)
    return said and f"{part.gpu}: {said}"


def _underway(device: ElasticGPU) -> Short | None:
    """What the device's node has still to do, or why it does not; None if nothing is left."""
    if not device.resizing:
        return None
    have = format_bytes(to_int(device.status.prepared_memory or 0))
    said = find_condition(device.status.conditions, RESIZED)
    return Short(
        "Resizing",
        f"{device.name} has {format_bytes(device.memory_bytes)} memory, the pods that use it have "
        f"{have} of it: {said.message if said else f'node {device.spec.node_name} is asked'}",
    )
