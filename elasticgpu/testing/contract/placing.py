"""The rules of `place`: pure, never more than there is, the same room again, refusals in words."""

from __future__ import annotations

from copy import deepcopy

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from elasticgpu.errors import Refused
from elasticgpu.provisioner import Slice
from elasticgpu.rules.fitting import too_small
from elasticgpu.rules.requests import build

from .counting import Moves, filled, played, sound, within
from .demands import common, named, read
from .listening import listening
from .setting import Setting, World

QUIET = settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
"""The same examples at every run: a stranger's tests must not fail by chance."""


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
            sound(device, world.view())
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
            for _ in played(world, wants, moves):
                within(world)

        any_order()

    def test_place_again_after_release(self) -> None:
        """What was given back is given again: a node that is empty again is as it was."""
        for want in self.served() if self.bounded else ():
            world = self.world()
            first = [list(device.spec.source.devices) for device in filled(world, want)]
            for n in range(world.made):
                world.ledger.drop_device(f"device-{n}")
            again = [list(device.spec.source.devices) for device in filled(world, want)]
            assert first == again, (
                f"Room that is free again is given again: an empty node gave {len(first)} devices "
                f"of {want}, and after all were released {len(again)}, or others"
            )

    def test_a_full_node_is_no_refusal(self) -> None:
        """Room comes back, so want of room is None: a refusal would be final."""
        for want in self.served() if self.bounded else ():
            world = self.world()
            filled(world, want)
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
