"""The node is the last judge: whatever was decided elsewhere, no card here is given out twice.

Materialised first wins, then the older one, then the lower uid. The loser becomes
Failed/Overcommitted, and its claim is placed again or Lost, by the controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.cluster.clock import timestamp
from elasticgpu.errors import NotFound, Refused
from elasticgpu.rules.ledger import OVERCOMMITTED, holds
from elasticgpu.rules.ledger import Ledger as Room
from elasticgpu.rules.reclaiming import in_phase

from .ledger import Record
from .ports import Api, revise


def same_name(records: Iterable[Record], device: ElasticGPU) -> None:
    """Refuse a device while another one that had its name is still in use."""
    for record in records:
        if record.device.name == device.name and record.device.uid != device.uid:
            raise Refused(
                f"ElasticGPU {device.name} was made anew, but pod {record.pod.name} still uses "
                "the one that had this name before"
            )


def overcommits(
    cards: Mapping[str, GPU],
    records: Sequence[Record],
    listed: Iterable[ElasticGPU],
    device: ElasticGPU,
) -> str | None:
    """Why the device has no room beside those that go before it, in words; None if it has.

    First come those that are materialised, by the ledger or, of what it does not know, by the API
    server's word: it may have been lost. Then by age those `listed` for this node that hold room
    and have it. Pods that share a device count once. Raises Refused if a card of the device is not
    here.
    """
    known = {record.device.uid for record in records}
    there = {record.device.uid: record.device for record in records if record.live}
    if device.uid in there:
        return None
    if not device.spec.node_name and all(p.gpu not in cards for p in device.spec.source.devices):
        return None  # what is not of this node is no business of its
    for part in device.spec.source.devices:
        if part.gpu not in cards:
            raise Refused(f"ElasticGPU {device.name} is cut from {part.gpu}, which is not here")
    others = {one.uid: one for one in listed if one.uid != device.uid}
    there |= {uid: others[uid] for uid in there if uid in others}  # it may have grown meanwhile
    lost = {uid for uid, one in others.items() if one.status.prepared_for} - known
    there |= {uid: others[uid] for uid in lost}
    room = Room(cards.values(), map(_taking, there.values()))
    older = (one for one in others.values() if _age(one) < _age(device) and one.uid not in there)
    for one in sorted(filter(holds, older), key=_age):
        if room.lacks(_taking(one)) is None:
            room.set_device(_taking(one))
    return room.lacks(device)


def outgrows(
    cards: Mapping[str, GPU],
    live: Sequence[Record],
    listed: Iterable[ElasticGPU],
    device: ElasticGPU,
) -> str | None:
    """Why a device that is in use and grew has no room beside all others that are materialised
    here or hold room by the API server's word, in words; None if it has."""
    holding = {one.uid: one for one in listed if holds(one)}
    others = {record.device.uid: record.device for record in live} | holding
    others.pop(device.uid, None)
    return Room(cards.values(), map(_taking, others.values())).lacks(_taking(device))


def _taking(device: ElasticGPU) -> ElasticGPU:
    return device.with_status(phase="Bound")


def _age(device: ElasticGPU) -> tuple[str, str]:
    """Order of those that are not materialised: the older one first, then by uid."""
    return device.metadata.creation_timestamp, device.uid


async def fail(api: Api, device: ElasticGPU, reason: str) -> None:
    """Write down that the device lost; the claim behind it is the controller's business."""

    def failed(now: ElasticGPU) -> ElasticGPU:
        if now.status.phase == "Failed":
            return now
        message = f"node {now.spec.node_name} refused it: {reason}"
        return in_phase(now, "Failed", now=timestamp(), reason=OVERCOMMITTED, message=message)

    with suppress(NotFound):
        await revise(api, device, failed, "status")
