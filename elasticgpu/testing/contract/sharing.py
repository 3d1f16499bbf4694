"""The rules of neighbours: devices side by side on a card, and pods that share one device."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from elasticgpu.host import ContainerEdits
from elasticgpu.provisioner import ElasticGPU, Slice

from .preparing import nothing_left, same
from .setting import Setting, World
from .watching import Life, run, watched

SIDE_BY_SIDE = 3
"""Devices of one demand that are tried together on a node, if it has room for as many."""


class Sharing(Setting):
    """Tests of several devices on a node, and of several pods with one of them."""

    def test_a_neighbour_is_left_alone(self) -> None:
        """Devices come and go while others of the same cards stay in use."""
        for world, devices in self._neighbours():
            before = world.standing()
            edits = {device.name: world.prepare(device) for device in devices}
            living = list(devices)
            while living:
                gone = living.pop(0)
                world.unprepare(gone)
                for other in living:
                    _still_works(world, other, edits[other.name], gone.name)
            nothing_left(before, world, "after several devices were prepared and unprepared")

    def test_neighbours_at_once(self) -> None:
        """Calls for different devices overlap: each answers as if it were alone."""
        for world, devices in self._neighbours():
            before = world.standing()
            for device, edits in zip(devices, run(_at_once(world, devices)), strict=True):
                again = world.prepare(device)
                assert edits == again, (
                    "prepare does not mind its neighbours: at once with them it answered "
                    f"{edits!r}, then {again!r}"
                )
            for device in devices:
                world.unprepare(device)
            nothing_left(before, world, "after several devices were prepared at once")

    def test_a_second_pod(self) -> None:
        """A claim that pods share is prepared for each, by its own variables, and undone once."""
        for world, device in self.devices():
            before = world.standing()
            world.prepare(device, tag="0")
            once = world.standing()
            world.prepare(device, tag="1")
            same(once, world, "prepare for a second pod makes nothing new on the node: by it")
            world.unprepare(device, tag="1")
            nothing_left(before, world, "after prepare for two pods, and unprepare")

    def _neighbours(self) -> list[tuple[World, list[ElasticGPU]]]:
        """For each demand, a node with several devices of it."""
        found = []
        for want in self.served():
            world = self.world()
            devices = [world.device(want)]
            while len(devices) < SIDE_BY_SIDE and isinstance(world.try_place(want), Slice):
                devices.append(world.device(want))
            found.append((world, devices))
        return found


async def _at_once(world: World, devices: Sequence[ElasticGPU]) -> list[ContainerEdits]:
    hosts = [watched(world.host(), Life()) for _ in devices]
    calls = map(world.plugin.prepare, devices, hosts)
    return await asyncio.gather(*calls)


def _still_works(world: World, device: ElasticGPU, edits: ContainerEdits, gone: str) -> None:
    """Prepared again nothing is new: whatever its containers use is still there."""
    rule = f"unprepare leaves neighbours alone: after that of {gone}"
    now = world.standing()
    again = world.prepare(device)
    assert again == edits, f"{rule}, {device.name} answers {again!r}, no longer {edits!r}"
    same(now, world, f"{rule}, {device.name} had to be prepared again, and by that")
