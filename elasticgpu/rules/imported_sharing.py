"""What an entry for NVIDIA's device plugin says of cards: which are shared, and what is unheard."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from elasticgpu.api.gpu import GPU
from elasticgpu.api.meta import GROUP
from elasticgpu.api.sharing import (
    GPU_RESOURCE,
    Devices,
    PluginConfig,
    PluginFlags,
    SharedResource,
    Strategy,
)
from elasticgpu.errors import Refused

MOST_REPLICAS = 48
"""Clients of one MPS server. Source: NVIDIA, Multi-Process Service, “Limitations”."""
ABOUT_THE_PLUGIN = "is about NVIDIA's plugin itself, which is not needed here: not imported"


@dataclass(frozen=True, slots=True)
class Shared:
    """Cards that are shared alike: how, under which class, and what pods call it, if they can."""

    strategy: str
    provisioner: str
    class_name: str
    devices: Devices
    resource: str = ""
    written: Mapping[str, str] = field(default_factory=dict)


def unheard(config: PluginConfig) -> Iterator[str]:
    """What of an entry is not honoured, in words."""
    for name, flag in PluginFlags.model_fields.items():
        if name != "mig_strategy" and getattr(config.flags, name) is not None:
            yield f"flags.{flag.alias} {ABOUT_THE_PLUGIN}"
    if config.resources is not None:
        yield "resources is not read by NVIDIA's plugin either: not imported"
    if config.imex is not None:
        yield "imex (channels between nodes) has nothing here that serves it: not imported"
    if config.flags.mig_strategy == "single":
        yield (
            "flags.migStrategy single calls MIG instances nvidia.com/gpu, which means whole cards "
            "here: ask for nvidia.com/mig-<profile>, as with mixed"
        )
    for name, strategy in strategies(config):
        names = {strategy.named(resource) for resource in strategy.resources}
        if name == "mps" and GPU_RESOURCE in names:
            yield (
                f"sharing.mps leaves {GPU_RESOURCE} its name, which means whole cards here: pods "
                "have to name a claim of the class, or ask for nvidia.com/gpu.shared"
            )
        if name == "mps" and strategy.fail_requests_greater_than_one:
            yield (
                "sharing.mps.failRequestsGreaterThanOne is not imported: a container that asks for "
                "several shares gets so many claims"
            )
    if config.sharing.time_slicing:
        yield (
            "sharing.timeSlicing.replicas is not imported: class gpushare books bytes of memory, "
            "so claims say how much (elasticgpu.io/gpu-memory), and a replica is nothing there"
        )


def shared(place: str, config: PluginConfig) -> Iterator[Shared]:
    """What the entry shares, MPS first. Raises Refused for what cannot be shared so."""
    for name, strategy in strategies(config):
        for resource in strategy.resources:
            where = f"{place}: sharing.{name}.resources, {resource.name}"
            if resource.name != GPU_RESOURCE:
                raise Refused(f"{where}: only {GPU_RESOURCE} can be shared, by full cards")
            yield _shared(where, name, strategy, resource)


def strategies(config: PluginConfig) -> Iterator[tuple[str, Strategy]]:
    """Those that are there, by name; the first wins."""
    if config.sharing.mps:
        yield "mps", config.sharing.mps
    if config.sharing.time_slicing:
        yield "timeSlicing", config.sharing.time_slicing


def _shared(where: str, name: str, strategy: Strategy, resource: SharedResource) -> Shared:
    if name == "mps" and resource.replicas > MOST_REPLICAS:
        raise Refused(f"{where}: replicas is {resource.replicas}, MPS has at most {MOST_REPLICAS}")
    if name != "mps":
        return Shared(name, f"{GROUP}/gpushare", "gpushare", resource.devices)
    called = strategy.named(resource)
    return Shared(
        strategy=name,
        provisioner=f"{GROUP}/mps",
        class_name=f"mps-{resource.replicas}",
        devices=resource.devices,
        resource="" if called == GPU_RESOURCE else called,
        written={"replicas": str(resource.replicas)},
    )


def chosen(place: str, by: Shared, cards: Sequence[GPU], elsewhere: Collection[str]) -> list[GPU]:
    """The cards of one node that are shared so; `elsewhere` are the uuids of all nodes' cards.

    Raises Refused for an index, a uuid or a number that there is not.
    """
    if by.devices == "all":
        return list(cards)
    where = f"{place}: sharing.{by.strategy}.devices"
    if isinstance(by.devices, int):
        if not 0 < by.devices <= len(cards):
            raise Refused(f"{where}: {by.devices} of its {len(cards)} cards")
        return list(cards[: by.devices])
    by_index = {str(card.status.index): card for card in cards}
    by_uuid = {card.status.uuid: card for card in cards}
    found = []
    for one in map(str, by.devices):
        card = by_index.get(one) or by_uuid.get(one)
        if card is not None:
            found.append(card)
        elif one not in elsewhere:
            raise Refused(f"{where}: the node has no card {one}, {_having(cards)}")
    return found


def _having(cards: Sequence[GPU]) -> str:
    return f"but {', '.join(f'{card.status.index} ({card.status.uuid})' for card in cards)}"
