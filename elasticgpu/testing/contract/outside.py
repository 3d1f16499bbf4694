"""The rules of `provision` and `release`: what is made outside the cluster, once and no longer."""

from __future__ import annotations

from itertools import count

from elasticgpu.errors import Refused
from elasticgpu.provisioner import ElasticGPU, Provisioner, Request
from elasticgpu.rules.checking import check
from elasticgpu.rules.requests import build

from .setting import Setting, World
from .watching import cancelled, insist


class Outside(Setting):
    """Tests of `provision` and `release`; the defaults of `Provisioner` pass them."""

    def test_provision_answers_what_was_asked(self) -> None:
        """The device is the one that was asked for, with a handle and attributes at most."""
        for world, request in self._requests():
            answer = _provision(world.plugin, request)
            try:
                check(answer, build(world.plugin.name, request))
            except Refused as error:
                raise AssertionError(f"provision answers what it was asked for: {error}") from error

    def test_provision_twice_is_once(self) -> None:
        """Asked again, also by a process that has just started, it answers the same."""
        for world, request in self._requests():
            first = _provision(world.plugin, request)
            once = world.standing().more
            for plugin in (world.plugin, world.started()):
                again = _provision(plugin, request)
                assert again == first, (
                    "provision can be asked twice: the second answer was another device, "
                    f"{again.spec.source!r} after {first.spec.source!r}"
                )
            now = world.standing().more
            assert now == once, (
                f"provision can be asked twice: that made something twice, {once!r} became {now!r}"
            )

    def test_release_leaves_nothing(self) -> None:
        """What was made outside the cluster is gone."""
        for world, request in self._requests():
            before = world.standing().more
            _release(world, _provision(world.plugin, request))
            self._empty(world, before, "after release")

    def test_release_twice_or_of_nothing(self) -> None:
        """It succeeds for what is gone, and for what never was: nobody knows how far it came."""
        for world, request in self._requests():
            before = world.standing().more
            _release(world, build(world.plugin.name, request))
            self._empty(world, before, "after release of what never was")
            device = _provision(world.plugin, request)
            _release(world, device)
            _release(world, device)
            self._empty(world, before, "after release twice")

    def test_provision_cancelled_at_any_wait(self) -> None:
        """Cancelled anywhere, it is asked again and answers; and what it made can be released."""
        for want in self.served():
            for at in count():
                world = self.world()
                request, before = world.wanted(want), world.standing().more
                if not cancelled(world.plugin.provision(request), at, "provision"):
                    break
                device = _provision(world.started(), request)
                self._empty_after(world, device, before, f"provision was cancelled at wait {at}")

    def test_release_cancelled_at_any_wait(self) -> None:
        """Cancelled anywhere, it is asked again and succeeds."""
        for want in self.served():
            for at in count():
                world = self.world()
                request, before = world.wanted(want), world.standing().more
                device = _provision(world.plugin, request)
                if not cancelled(world.plugin.release(device), at, "release"):
                    break
                self._empty_after(world, device, before, f"release was cancelled at wait {at}")

    def _requests(self) -> list[tuple[World, Request]]:
        worlds = [(self.world(), want) for want in self.served()]
        return [(world, world.wanted(want)) for world, want in worlds]

    def _empty_after(self, world: World, device: ElasticGPU, before: object, what: str) -> None:
        _release(world, device)
        self._empty(world, before, f"after {what} and the device released")

    def _empty(self, world: World, before: object, when: str) -> None:
        after = world.standing().more
        assert after == before, (
            f"release leaves nothing outside the cluster: {when} there is {after!r}, "
            f"there was {before!r}"
        )


def _provision(plugin: Provisioner, request: Request) -> ElasticGPU:
    return insist(lambda: plugin.provision(request))


def _release(world: World, device: ElasticGPU) -> None:
    try:
        insist(lambda: world.plugin.release(device))
    except Exception as error:
        raise AssertionError(
            f"release succeeds, also twice and for what never was: it raised {error!r}"
        ) from error
