"""The rules of `prepare` and `unprepare`: twice is once, and nothing is left on the node."""

from __future__ import annotations

from elasticgpu.agent import cdi
from elasticgpu.errors import Refused
from elasticgpu.host import ContainerEdits

from .setting import Setting, World
from .standing import Standing, changes, grown


class Preparing(Setting):
    """Tests of one device on a node of its own."""

    def test_edits_are_valid_cdi(self) -> None:
        """A runtime refuses a CDI file with a fault as a whole, and the container never starts."""
        for world, device in self.devices():
            edits = world.prepare(device)
            assert isinstance(edits, ContainerEdits), (
                f"prepare answers ContainerEdits: it answered {edits!r}"
            )
            try:
                cdi.spec("a-uid", edits)
            except Refused as error:
                raise AssertionError(f"Edits are valid CDI: {error}") from error

    def test_prepare_twice_is_once(self) -> None:
        """The same edits, and the node as after the first time."""
        for world, device in self.devices():
            first = world.prepare(device)
            once = world.standing()
            again = world.prepare(device)
            assert again == first, (
                f"prepare can be asked twice: first it answered {first!r}, then {again!r}"
            )
            same(once, world, "prepare can be asked twice: by the second time")

    def test_prepare_after_a_restart(self) -> None:
        """The agent keeps no plugin's memory: one that has just started answers the same."""
        for world, device in self.devices():
            first = world.prepare(device)
            once = world.standing()
            world.plugin = world.started()
            assert world.prepare(device) == first, (
                "prepare needs nothing of its process: after a restart it answered other edits"
            )
            same(once, world, "prepare needs nothing of its process: after a restart")

    def test_unprepare_leaves_nothing(self) -> None:
        """What prepare made is gone, and so is what the device's own directories were."""
        for world, device in self.devices():
            before = world.standing()
            world.prepare(device)
            world.unprepare(device)
            nothing_left(before, world, "after prepare and unprepare")
            once = world.standing()
            other = device.with_metadata(name="egpu-other", uid="uid-other")
            world.prepare(other)
            world.unprepare(other)
            _no_growth(once, world)

    def test_unprepare_after_a_restart(self) -> None:
        """A plugin that has just started undoes what another process prepared."""
        for world, device in self.devices():
            before = world.standing()
            world.prepare(device)
            world.plugin = world.started()
            world.unprepare(device, what="after a restart")
            nothing_left(before, world, "after prepare, a restart, and unprepare")

    def test_unprepare_twice(self) -> None:
        """It succeeds again, and changes nothing."""
        for world, device in self.devices():
            before = world.standing()
            world.prepare(device)
            world.unprepare(device)
            world.unprepare(device, what="the second time")
            nothing_left(before, world, "after unprepare twice")

    def test_unprepare_of_what_never_was(self) -> None:
        """It succeeds, and changes nothing."""
        for world, device in self.devices():
            before = world.standing()
            world.unprepare(device, what="of what never was prepared")
            nothing_left(before, world, "after unprepare of what never was prepared")

    def test_unprepare_after_a_reboot(self) -> None:
        """Directories of this boot, mounts and compute modes are gone; what is left is undone."""
        for world, device in self.devices():
            before = world.standing()
            world.prepare(device)
            world.node.reboot()
            world.plugin = world.started()
            world.unprepare(device, what="after a reboot")
            nothing_left(before, world, "after prepare, a reboot, and unprepare")

    def test_prepare_of_a_card_that_is_gone(self) -> None:
        """What the node has not is refused, in words."""
        for world, device in self.devices():
            if not device.spec.source.devices or not device.spec.node_name:
                continue
            world.node.cards = {}
            answer = world.try_prepare(device)
            assert isinstance(answer, Refused), (
                f"A device of a card that the node has not is refused: prepare answered {answer!r}"
            )
            assert len(answer.reason.split()) > 2, (
                f"A refusal is a sentence for a person: it is {answer.reason!r}"
            )


def same(before: Standing, world: World, when: str) -> None:
    """The node stands as it did. Raises AssertionError with what does not."""
    now = world.standing()
    found = [*changes(before, now), *grown(before, now)]
    assert not found, f"{when}, {'; '.join(found)}"


def nothing_left(before: Standing, world: World, when: str) -> None:
    """All is as it was before the device. Raises AssertionError with what is not."""
    found = list(changes(before, world.standing()))
    assert not found, f"unprepare leaves nothing on the node: {when}, {'; '.join(found)}"


def _no_growth(once: Standing, world: World) -> None:
    found = list(grown(once, world.standing()))
    assert not found, (
        "unprepare leaves nothing on the node: with every device that comes and goes, "
        f"{'; '.join(found)}"
    )
