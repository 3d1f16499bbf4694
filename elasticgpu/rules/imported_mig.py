"""What a layout of mig-parted says of cards: which are cut, and into which devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

from elasticgpu.api.canonical import CORE, MEMORY
from elasticgpu.api.elasticgpu import DeviceSource, ElasticGPU, ElasticGPUSpec
from elasticgpu.api.gpu import GPU
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.api.sharing import MigPart
from elasticgpu.errors import Refused

from . import mig

LONGEST = 63
"""Characters of a device's name: it is a DNS label."""


def matched(
    place: str, parts: Sequence[MigPart], cards: Sequence[GPU]
) -> Iterator[tuple[GPU, MigPart]]:
    """The cards of one node that a part of the layout is about, each once.

    Raises Refused for an index that the node lacks, a card in two parts, and one that does not
    tell what a filter asks for.
    """
    for part in parts:
        if part.mig_devices and not part.mig_enabled:
            raise Refused(f"{place}: mig-devices of cards that are not mig-enabled")
        there = {card.status.index for card in cards}
        if part.devices != "all" and (missing := sorted({*part.devices} - there)):
            raise Refused(f"{place}: the node has no card {', '.join(map(str, missing))}")
    for card in cards:
        about = [part for part in parts if _is_about(place, part, card)]
        if len(about) > 1:
            raise Refused(f"{place}: card {card.status.index} is in {len(about)} parts of it")
        if about:
            yield card, about[0]


def _is_about(place: str, part: MigPart, card: GPU) -> bool:
    if part.devices != "all" and card.status.index not in part.devices:
        return False
    if not part.device_filter:
        return True
    if not card.status.pci_device_id:
        raise Refused(
            f"{place}: card {card.status.index} does not tell its PCI device id, by which the "
            "device-filter goes"
        )
    return int(card.status.pci_device_id, 16) in part.device_filter


def devices(place: str, card: GPU, part: MigPart, driver: str) -> list[ElasticGPU]:
    """The instances that are made ahead. Raises Refused if the card cannot be cut so."""
    table = card.status.mig
    if not table:
        raise Refused(
            f"{place}: card {card.status.index}, {card.status.model}, cannot be cut by MIG"
        )
    wanted = ", ".join(f"{count} of {name}" for name, count in part.mig_devices.items())
    try:
        found = mig.layout(table, part.mig_devices)
    except ValueError as error:
        raise Refused(f"{place}: card {card.status.index}, {card.status.model}: {error}") from error
    if found is None:
        raise Refused(
            f"{place}: card {card.status.index}, {card.status.model}, cannot hold {wanted}"
        )
    return [_device(card, one, driver) for one in sorted(found, key=lambda one: one.start)]


def _device(card: GPU, one: mig.Instance, driver: str) -> ElasticGPU:
    row = mig.find(card.status.mig, one.profile)
    assert row is not None, "layout answers rows of the table"
    cut = mig.part(card, row, one.start)
    return ElasticGPU(
        metadata=ObjectMeta(name=_name(card, one)),
        spec=ElasticGPUSpec(
            capacity={CORE: cut.core, MEMORY: cut.memory},
            elastic_gpu_class_name="mig",
            node_name=card.spec.node_name,
            source=DeviceSource(driver=driver, devices=[cut]),
        ),
    )


def _name(card: GPU, one: mig.Instance) -> str:
    """The same at every import; of a card with a long name a digest."""
    name = f"{card.name}-{one.profile}-{one.start}".replace(".", "-").replace("+", "-")
    return name if len(name) <= LONGEST else f"egpu-{sha256(name.encode()).hexdigest()[:32]}"
