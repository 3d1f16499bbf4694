"""MPS: shares of a card whose processes compute at the same time, under one daemon of the card.

What a share is and where it goes is here; `daemon` is what runs on the node.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated
from weakref import WeakValueDictionary

from pydantic import BeforeValidator, Field

from elasticgpu.api.elasticgpu import DeviceSource
from elasticgpu.api.gpu import GPU
from elasticgpu.api.quantity import MI, memory_bytes
from elasticgpu.api.vocabulary import describe
from elasticgpu.provisioner import (
    CardSlice,
    CardView,
    ContainerEdits,
    Demand,
    ElasticGPU,
    Host,
    Mount,
    NodeView,
    Parameters,
    Provisioner,
    Refused,
    Slice,
)
from elasticgpu.rules.cutting import nearest, share

from .daemon import Daemon, Options, Share

CLIENTS = 48
"""Processes that one MPS server serves a card for, since Volta.
Source: NVIDIA, Multi-Process Service, "Limitations"."""
CLIENTS_BEFORE_VOLTA = 16
VOLTA = 7
"""Major compute capability from which there are 48 clients and limits of their own."""
WHOLE = 100

PIPE = "/tmp/nvidia-mps"
"""Where a container finds the daemon's pipes: a process that lost its environment does too."""


class MPSParameters(Parameters):
    """What a class says of its shares, and of the daemon that serves them."""

    replicas: Annotated[int | None, Field(ge=2, le=CLIENTS)] = None
    multi_user: bool = False
    shm_size: Annotated[int, BeforeValidator(memory_bytes), Field(gt=0)] = 4 << 30


class MPS(Provisioner):
    """Equal or stated shares of a card, or of all cards of a set that is one claim's alone."""

    name = "elasticgpu.io/mps"
    parameters: MPSParameters = MPSParameters()

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        """The first card with room for the share and one client more; or a set of cards."""
        self._sensible(want)
        if want.count > 1:
            return self._set(want, node)
        parts = (self._share(want, card) for card in node.cards if _admits_one_more(card))
        part = next(filter(None, parts), None)
        return Slice((part,)) if part else None

    def _sensible(self, want: Demand) -> None:
        """Raises Refused for what this class never gives."""
        if want.gpus or want.mig:
            raise Refused(
                "MPS gives shares of cards: ask for elasticgpu.io/gpu-core and gpu-memory; whole "
                "cards and MIG instances need a class of another provisioner"
            )
        replicas = self.parameters.replicas
        if replicas and not want.unsized:
            raise Refused(
                f"this class gives equal shares, 1/{replicas} of a card each, not "
                f"{describe(want)}: leave the sizes out, or take a class without replicas"
            )
        if 0 < want.memory < want.count * MI:
            raise Refused("MPS limits memory by the MiB: ask for at least 1Mi of each card")
        if not (replicas or want.memory or want.memory_percentage):
            raise Refused(
                f"an MPS share has a size of memory, and {describe(want)} names none: ask for "
                "elasticgpu.io/gpu-memory, or take a class with replicas"
            )

    def _share(self, want: Demand, card: CardView) -> CardSlice | None:
        """This card's part of the demand; None if it has not that much free."""
        if replicas := self.parameters.replicas:
            memory = card.gpu.memory // replicas // MI * MI
            want = Demand(core=WHOLE // replicas, memory=memory)
        return share(want, card)

    def _set(self, want: Demand, node: NodeView) -> Slice | None:
        """Untouched cards, held whole: a process finds one daemon only, so that of several cards
        can serve nobody beside. What is asked of each card stays the limit of each process."""
        found = {card.name: self._share(want, card) for card in node.cards if card.untouched}
        fit = [card for card in node.cards if found.get(card.name)]
        cards = nearest(fit, want.count) if node.order == "topology" else fit[: want.count]
        limits = [part for card in cards if (part := found[card.name])]
        if len(limits) < want.count:
            return None
        return Slice(
            tuple(_whole(card) for card in cards),
            {
                "core": str(limits[0].core),
                "memory": ",".join(str(part.memory_bytes) for part in limits),
            },
        )

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        """The card's daemon runs, knows the device, and allows no more than its largest share."""
        daemon, limits = Daemon(host, _cards(device, host)), _limits(device)
        edits = _edits(host, daemon, limits)  # refuses cards that are not here
        options = Options(self.parameters.multi_user, self.parameters.shm_size)
        async with self._lock(daemon.folder):
            await daemon.serve(device.name, limits, options)
        return edits

    async def unprepare(self, device: ElasticGPU, host: Host) -> None:
        """The daemon forgets the device; after the last one the card is as it was."""
        daemon = Daemon(host, _cards(device, host))
        async with self._lock(daemon.folder):
            await daemon.forget(device.name)

    def _lock(self, folder: Path) -> asyncio.Lock:
        return self._locks.setdefault(folder, asyncio.Lock())


def _admits_one_more(card: CardView) -> bool:
    """Whether the card's server takes another client: at least one process a device."""
    return len(card.held) < clients(card.gpu)


def clients(card: GPU) -> int:
    """How many processes MPS serves the card for; of a card that is not known, the fewer."""
    major = card.status.compute_capability.partition(".")[0]
    return CLIENTS if major.isdecimal() and int(major) >= VOLTA else CLIENTS_BEFORE_VOLTA


def _whole(card: CardView) -> CardSlice:
    return CardSlice(gpu=card.name, uuid=card.gpu.status.uuid, core=WHOLE, memory=card.gpu.memory)


def _cards(device: ElasticGPU, host: Host) -> dict[str, str]:
    """The uuids of the device's cards, by the names of their GPU objects."""
    parts = device.spec.source.devices
    return {part.gpu: part.uuid or host.card(part.gpu).status.uuid for part in parts}


def _limits(device: ElasticGPU) -> Share:
    """What one process of the device may have of each of its cards.

    Raises Refused for a set of cards that others could have a part of, and for less than 1 MiB.
    """
    found = _share_of(device.spec.source)
    if not all(found.memory):
        raise Refused(f"{device.name}: MPS limits memory by the MiB, and here is less than 1Mi")
    return found


def _share_of(source: DeviceSource) -> Share:
    if len(source.devices) == 1:
        (part,) = source.devices
        return Share(part.core or WHOLE, (part.memory_bytes // MI,))
    if any(part.core < WHOLE for part in source.devices):
        raise Refused("MPS serves several cards for one claim alone: the device holds them whole")
    core = int(source.attributes.get("core", 0))
    memory = [part.memory_bytes for part in source.devices]
    if stated := source.attributes.get("memory"):
        memory = [int(size) for size in stated.split(",")]
    return Share(core or WHOLE, tuple(size // MI for size in memory))


def _edits(host: Host, daemon: Daemon, limits: Share) -> ContainerEdits:
    uuids = list(daemon.cards.values())
    memory = [f"{uuid}={mib}M" for uuid, mib in zip(uuids, limits.memory, strict=True)]
    return ContainerEdits(
        env=[
            f"{host.variable('UUID')}={','.join(uuids)}",
            f"CUDA_MPS_PIPE_DIRECTORY={PIPE}",
            f"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE={limits.core}",
            f"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT={','.join(memory)}",
            "NVIDIA_VISIBLE_DEVICES=void",
        ],
        mounts=[_mount(daemon.pipe, PIPE), _mount(daemon.shm, "/dev/shm")],
        device_nodes=host.nodes(*daemon.cards),
    )


def _mount(of: Path, at: str) -> Mount:
    return Mount(host_path=str(of), container_path=at, options=["rw", "nosuid", "nodev", "rbind"])
