"""The node is the last judge: whatever was decided elsewhere, no card here is given out twice.

Materialised first wins. The loser becomes Failed/Overcommitted, and its claim is placed again or
Lost, by the controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.cluster.clock import timestamp
from elasticgpu.errors import NotFound, Refused
from elasticgpu.rules.ledger import OVERCOMMITTED
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
    cards: Mapping[str, GPU], records: Iterable[Record], device: ElasticGPU
) -> str | None:
    """Why the device has no room beside what is materialised, in words; None if it has.

    Pods that share a device count once. Raises Refused if a card of the device is not here.
    """
    there = {record.device.uid: record.device for record in records}
    if device.uid in there:
        return None
    for part in device.spec.source.devices:
        if part.gpu not in cards:
            raise Refused(f"ElasticGPU {device.name} is cut from {part.gpu}, which is not here")
    others = (other.with_status(phase="Bound") for other in there.values())
    return Room(cards.values(), others).lacks(device)


async def fail(api: Api, device: ElasticGPU, reason: str) -> None:
    """Write down that the device lost; the claim behind it is the controller's business."""

    def failed(now: ElasticGPU) -> ElasticGPU:
        if now.status.phase == "Failed":
            return now
        message = f"node {now.spec.node_name} refused it: {reason}"
        return in_phase(now, "Failed", now=timestamp(), reason=OVERCOMMITTED, message=message)

    with suppress(NotFound):
        await revise(api, device, failed, "status")
