"""The rules of `place`: pure, never more than there is, the same room again, refusals in words."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import cache

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from elasticgpu.api.elasticgpu import CardSlice
from elasticgpu.api.gpu import GPU
from elasticgpu.errors import Refused
from elasticgpu.provisioner import Demand, ElasticGPU, NodeView, Slice
from elasticgpu.rules.fitting import too_small
from elasticgpu.rules.requests import build

from .demands import common, named, read
from .setting import Setting, World

MOST = 400
"""Devices of one demand that a node of a few cards is tried with before it is called endless."""

Moves = Sequence[tuple[bool, int]]
"""True: place the demand of this number; False: release the device of this number."""

QUIET = settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
"""The same examples at every run: a stranger's tests must not fail by chance."""

OUTSIDE = ("open", "os.", "shutil.", "socket.", "subprocess.", "urllib.", "sqlite3.", "ctypes.")
"""Audit events of what reaches out of the process: see Python's audit events table."""


class Placing(Setting):
    """Tests of `place`, which controller and tests ask again and again."""

    def test_serves_something(self) -> None:
        """A plugin serves some demand on an empty node of these cards."""
        assert self.served(), (
            "A plugin serves something: on these cards it serves no common demand; "
            "name what it does serve in `serves`, or the `cards` it is for"
        )

    def test_place_is_pure(self) -> None:
        """Asked again, by whomever, whatever was asked between, it answers the same."""
        world, wants = self.world(), self.served()
        first = [world.try_place(want) for want in wants]
        again = [world.try_place(want) for want in reversed(wants)][::-1]
        fresh = World(self, world.node)
        for want, *answers in zip(wants, first, again, map(fresh.try_place, wants), strict=True):
            assert len({repr(answer) for answer in answers}) == 1, (
                f"place is pure: the same answer for the same arguments; for {want} it answered "
                + ", then ".join(repr(answer) for answer in answers)
            )

    def test_place_leaves_its_arguments(self) -> None:
        """What it is shown is everybody's, and stays as it was."""
        world = self.world()
        for want in self.served():
            view, asked = world.view(), deepcopy(want)
            shown = deepcopy(view)
            world.plugin.place(asked, view)
            assert (view, asked) == (shown, want), (
                f"place leaves its arguments as they were: asked for {want}, it changed them"
            )

    def test_place_reaches_out_for_nothing(self) -> None:
        """No file, no network, no program: all that counts is in the arguments."""
        world = self.world()
        for want in self.served():
            view = world.view()
            world.plugin.place(want, view)  # the first call may import what it needs
            with listening() as heard:
                world.plugin.place(want, view)
            assert not heard, f"place does no I/O: asked for {want} it did {', '.join(heard)}"

    def test_place_answers_what_was_asked(self) -> None:
        """A place holds as much as was asked for, on cards that were shown, each once."""
        for want in self.served():
            world = self.world()
            device = build(world.plugin.name, world.wanted(want))
            _sound(device, world.view())
            if self.bounded:
                short = too_small(want, device)
                assert short is None, f"A device is not smaller than asked: for {want} it {short}"

    def test_place_never_exceeds_the_node(self) -> None:
        """However devices come and go, no card has to give more than it has."""
        wants = self.served()

        @QUIET
        @given(st.lists(st.tuples(st.integers(0, 3).map(bool), st.integers(0, 40)), max_size=60))
        def any_order(moves: Moves) -> None:
            world = self.world()
            for _ in _played(world, wants, moves):
                _within(world)

        any_order()

    def test_place_again_after_release(self) -> None:
        """What was given back is given again: a node that is empty again is as it was."""
        for want in self.served() if self.bounded else ():
            world = self.world()
            first = [list(device.spec.source.devices) for device in _filled(world, want)]
            for n in range(world.made):
                world.ledger.drop_device(f"device-{n}")
            again = [list(device.spec.source.devices) for device in _filled(world, want)]
            assert first == again, (
                f"Room that is free again is given again: an empty node gave {len(first)} devices "
                f"of {want}, and after all were released {len(again)}, or others"
            )

    def test_a_full_node_is_no_refusal(self) -> None:
        """Room comes back, so want of room is None: a refusal would be final."""
        for want in self.served() if self.bounded else ():
            world = self.world()
            _filled(world, want)
            answer = world.try_place(want)
            assert answer is None, (
                f"No room now is None: on a full node, asked for {want}, place said {answer!r}"
            )

    def test_refusals_say_why(self) -> None:
        """What is never served is refused, in a sentence that names what was asked."""
        world, served = self.world(), self.served()
        others = [want for want in common(world.cards) if want not in served]
        for want in [*others, *(read(want) for want in self.refuses)]:
            answer = world.try_place(want)
            if isinstance(answer, Slice) and want in others:
                continue  # not named in `serves`, and served all the same
            assert isinstance(answer, Refused), (
                f"What is never served is refused with the reason: for {want}, which no other "
                f"device keeps from this empty node, place answered {answer!r}"
            )
            assert len(answer.reason.split()) > 2, (
                f"A refusal is a sentence for a person: for {want} it is {answer.reason!r}"
            )
            assert named(answer.reason, want), (
                f"A refusal names what was asked: for {want} it is {answer.reason!r}"
            )


def _sound(device: ElasticGPU, shown: NodeView) -> None:
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


def _played(world: World, wants: Sequence[Demand], moves: Moves) -> Iterator[None]:
    """Devices come and go; a step each."""
    living: list[ElasticGPU] = []
    for come, number in moves:
        if come:
            found = world.try_place(wants[number % len(wants)])
            if isinstance(found, Slice):
                living.append(_counted(world, wants[number % len(wants)], found))
        elif living:
            world.ledger.drop_device(living.pop(number % len(living)).name)
        yield


def _counted(world: World, want: Demand, place: Slice) -> ElasticGPU:
    """A device of this place, of which the ledger knows; nobody outside is asked for it."""
    made = build(world.plugin.name, world.request(want, place))
    device = made.with_metadata(name=f"device-{world.made - 1}").with_status(phase="Bound")
    world.ledger.set_device(device)
    return device


def _filled(world: World, want: Demand) -> list[ElasticGPU]:
    """Devices of one demand until there is no more room."""
    world.made, made = 0, list[ElasticGPU]()
    while isinstance(found := world.try_place(want), Slice):
        made.append(_counted(world, want, found))
        _within(world)
        assert len(made) < MOST, (
            f"A node is full some day: it gave {MOST} devices of {want}; if they hold nothing of "
            "its cards, say `bounded = False`"
        )
    return made


def _within(world: World) -> None:
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


@contextmanager
def listening() -> Iterator[list[str]]:
    """What reaches out of this process meanwhile, by the interpreter's own audit events."""
    _hook()
    heard: list[str] = []
    _LISTENERS.append(heard)
    try:
        yield heard
    finally:
        _LISTENERS.pop()


_LISTENERS: list[list[str]] = []


@cache
def _hook() -> None:
    """Hear audit events from now on: a hook cannot be taken away again."""
    sys.addaudithook(_heard)


def _heard(event: str, arguments: tuple[object, ...]) -> None:
    if _LISTENERS and event.startswith(OUTSIDE):
        _LISTENERS[-1].append(f"{event}{arguments!r:.80}")
