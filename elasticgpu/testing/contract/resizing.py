"""The rules of `resize`: what grew in use is as if it had been that large from the beginning."""

from __future__ import annotations

from collections.abc import Iterator

from elasticgpu.api.quantity import format_bytes
from elasticgpu.errors import Refused
from elasticgpu.provisioner import ElasticGPU

from .preparing import nothing_left, same
from .setting import Setting, World
from .standing import changes

MORE = 64 << 20
"""Bytes by which each part of a device grows."""


class Resizing(Setting):
    """Tests of devices that get more memory, of plugins that say `grows`; others refuse it."""

    def test_resize_is_as_prepared_larger(self) -> None:
        """The node stands as if it had been prepared so; asked again, nothing changes."""
        for world, device, larger in self._growing():
            before = world.standing()
            world.prepare(larger)
            wanted = world.standing()
            world.unprepare(larger)
            world.prepare(device)
            for _ in range(2):
                world.resize(larger)
                same(wanted, world, "resize is as if prepare had made it so large: after it")
            world.unprepare(larger)
            nothing_left(before, world, "after prepare, resize and unprepare")

    def test_resize_of_what_never_was(self) -> None:
        """It succeeds, and makes nothing: there is nobody to let have it."""
        for world, _, larger in self._growing():
            before = world.standing()
            world.resize(larger)
            made = list(changes(before, world.standing()))
            assert not made, (
                f"resize makes nothing: after that of what never was, {'; '.join(made)}"
            )

    def test_resize_is_refused_without_grows(self) -> None:
        """Nobody asks a plugin that does not say that its devices grow."""
        if not self.plugin.grows:
            for world, device in self.devices():
                assert isinstance(world.try_resize(device), Refused), (
                    "resize is for plugins that say `grows`: it raised no Refused"
                )

    def _growing(self) -> Iterator[tuple[World, ElasticGPU, ElasticGPU]]:
        """Devices that have room to grow, as they are and larger."""
        for world, device in self.devices() if self.plugin.grows else ():
            parts = device.spec.source.devices
            cards = [world.ledger.card(part.gpu) for part in parts]
            if all(card is not None and card.memory_free >= MORE for card in cards):
                more = [p.but(memory=format_bytes(p.memory_bytes + MORE)) for p in parts]
                source = device.spec.source.but(devices=more)
                yield world, device, device.but(spec=device.spec.but(source=source))
