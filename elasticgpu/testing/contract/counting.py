"""What is placed, counted by the suite's own sums: never more than the cards have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from elasticgpu.api.elasticgpu import CardSlice
from elasticgpu.api.gpu import GPU
from elasticgpu.provisioner import Demand, ElasticGPU, NodeView, Slice
from elasticgpu.rules.requests import build

from .setting import World

MOST = 400
"""Devices of one demand that a node of a few cards is tried with before it is called endless."""

Moves = Sequence[tuple[bool, int]]
"""True: place the demand of this number; False: release the device of this number."""


def sound(device: ElasticGPU, shown: NodeView) -> None:
    """A device names cards that were shown, each once. Raises AssertionError."""
    parts = device.spec.source.devices
    cards = {card.name: card.gpu for card in shown.cards}
    names = [part.gpu for part in parts]
    assert len(set(names)) == len(names), f"A device names each card once: {names}"
    for part in parts:
        assert part.gpu in cards, f"A device is of cards that place was shown: {part.gpu} is not"
        assert part.uuid in ("", cards[part.gpu].status.uuid), (
            f"A part has its card's uuid: {part.gpu} is not {part.uuid}"
        )
    ElasticGPU.model_validate(device.wire())


def played(world: World, wants: Sequence[Demand], moves: Moves) -> Iterator[None]:
    """Devices come and go; a step each."""
    living: list[ElasticGPU] = []
    for come, number in moves:
        if come:
            found = world.try_place(wants[number % len(wants)])
            if isinstance(found, Slice):
                living.append(counted(world, wants[number % len(wants)], found))
        elif living:
            world.ledger.drop_device(living.pop(number % len(living)).name)
        yield


def counted(world: World, want: Demand, place: Slice) -> ElasticGPU:
    """A device of this place, of which the ledger knows; nobody outside is asked for it."""
    made = build(world.plugin.name, world.request(want, place))
    device = made.with_metadata(name=f"device-{world.made - 1}").with_status(phase="Bound")
    world.ledger.set_device(device)
    return device


def filled(world: World, want: Demand) -> list[ElasticGPU]:
    """Devices of one demand until there is no more room."""
    world.made, made = 0, list[ElasticGPU]()
    while isinstance(found := world.try_place(want), Slice):
        made.append(counted(world, want, found))
        within(world)
        assert len(made) < MOST, (
            f"A node is full some day: it gave {MOST} devices of {want}; if they hold nothing of "
            "its cards, say `bounded = False`"
        )
    return made


def within(world: World) -> None:
    """No card gives more than it has: compute, memory, and MIG instances side by side."""
    for card in world.cards:
        parts = [part for row in world.ledger.held(card.name) for part in row.parts]
        core, memory = sum(p.core for p in parts), sum(p.memory_bytes for p in parts)
        assert core <= 100, f"place gives no more than is free: {core}% core of {card.name}"
        assert memory <= card.memory, (
            f"place gives no more than is free: {memory} bytes of {card.name}, which has "
            f"{card.memory}"
        )
        _instances(card, [part for part in parts if part.mig_profile])


def _instances(card: GPU, parts: Sequence[CardSlice]) -> None:
    table = {row.name: row for row in card.status.mig}
    taken: set[int] = set()
    for part in parts:
        row = table.get(part.mig_profile)
        assert row, f"MIG instances are of profiles that the card has: {part.mig_profile}"
        assert part.mig_start in row.starts, (
            f"MIG instances start where they may: {row.name} at {part.mig_start}, not at one of "
            f"{row.starts}"
        )
        slices = set(range(part.mig_start, part.mig_start + row.slices))
        assert not slices & taken, (
            f"MIG instances do not overlap: {row.name} at {part.mig_start} of {card.name}, where "
            f"slices {sorted(taken)} are taken"
        )
        taken |= slices
    for name, row in table.items():
        count = sum(part.mig_profile == name for part in parts)
        assert count <= row.max, f"A card holds {row.max} of MIG {name} at most, not {count}"
