"""The rules of interruption: a call that did not come to its end is asked again, or undone.

It may end by cancellation at any wait, by a crash between any two steps, or by the node's "not
now" at any step. Then `prepare` asked again answers the same, and `unprepare` leaves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from itertools import count
from typing import Any

from elasticgpu.errors import Retry
from elasticgpu.host import ContainerEdits, Host
from elasticgpu.provisioner import Demand, ElasticGPU, Provisioner

from .preparing import nothing_left
from .setting import Setting, World
from .watching import Crash, Life, cancelled, run, watched

Call = Callable[[Provisioner, ElasticGPU, Host], Coroutine[Any, Any, object]]


@dataclass(frozen=True)
class End:
    """How a call ended that was interrupted: its answer, if it had one all the same."""

    answered: bool = False
    answer: object = None


Interrupt = Callable[[World, ElasticGPU, Call, int], End | None]
"""Interrupts the call at this point of it; None: it did not come so far."""


class Interrupting(Setting):
    """Tests that end a call of `prepare` or `unprepare` at each point there is."""

    def test_prepare_cancelled_at_any_wait(self) -> None:
        """The agent stops, or a call took too long: the same process goes on."""
        self._interrupted(prepare, cancel, "was cancelled at its wait number")

    def test_unprepare_cancelled_at_any_wait(self) -> None:
        """So may the way back be."""
        self._interrupted(unprepare, cancel, "was cancelled at its wait number")

    def test_crash_in_prepare_between_any_two_steps(self) -> None:
        """The process is gone and nothing of it was tidied up; another one goes on."""
        self._interrupted(prepare, crash, "ended by a crash before its step number")

    def test_crash_in_unprepare_between_any_two_steps(self) -> None:
        """So may the way back."""
        self._interrupted(unprepare, crash, "ended by a crash before its step number")

    def test_prepare_when_the_node_says_not_now(self) -> None:
        """A library in use, a program that takes too long: Retry, at any step."""
        self._interrupted(prepare, fail, "met a Retry of the node at its step number")

    def test_unprepare_when_the_node_says_not_now(self) -> None:
        """So may the way back."""
        self._interrupted(unprepare, fail, "met a Retry of the node at its step number")

    def _interrupted(self, call: Call, interrupt: Interrupt, how: str) -> None:
        for want in self.few():
            edits = _uninterrupted(self.world(), want)
            for again in (True, False):
                for at in count():
                    world = self.world()
                    device, before = world.device(want), world.standing()
                    if call is unprepare:
                        world.prepare(device)
                    end = interrupt(world, device, call, at)
                    if end is None:
                        break
                    when = f"{call.__name__} {how} {at + 1}"
                    if end.answered and call is prepare:
                        assert end.answer == edits, (
                            f"prepare that answers has done all of it: {when}, and it answered "
                            f"{end.answer!r}, not {edits!r}"
                        )
                    elif end.answered:
                        nothing_left(before, world, f"{when}, and it succeeded")
                    if again:
                        answer = world.prepare(device)
                        assert world.lasting(answer) == world.lasting(edits), (
                            f"prepare can be asked again whatever happened: {when}, and then it "
                            f"answered {answer!r}, not {edits!r}"
                        )
                    world.unprepare(device, what=f"when {when}")
                    nothing_left(before, world, f"{when}; {_then(again)}")


def _uninterrupted(world: World, want: Demand) -> ContainerEdits:
    """What prepare answers when nothing happens."""
    return world.prepare(world.device(want))


def _then(again: bool) -> str:
    return "then it was prepared again, and unprepared" if again else "then it was unprepared"


async def prepare(plugin: Provisioner, device: ElasticGPU, host: Host) -> object:
    """The call of this name."""
    return await plugin.prepare(device, host)


async def unprepare(plugin: Provisioner, device: ElasticGPU, host: Host) -> object:
    """The call of this name."""
    await plugin.unprepare(device, host)
    return None


def cancel(world: World, device: ElasticGPU, call: Call, at: int) -> End | None:
    """Cancel the call at this wait of it."""
    work = call(world.plugin, device, watched(world.host(), Life()))
    return End() if cancelled(work, at, call.__name__) else None


def crash(world: World, device: ElasticGPU, call: Call, at: int) -> End | None:
    """End the plugin's process before this step of the call; whoever asked hears nothing."""
    ended = _lived(world, device, call, Life(at, Crash(), for_good=True))
    world.plugin = world.started()
    return End() if ended else None


def fail(world: World, device: ElasticGPU, call: Call, at: int) -> End | None:
    """Have the node say Retry at this step of the call, once."""
    return _lived(world, device, call, Life(at, Retry("in use", after=0.0)))


def _lived(world: World, device: ElasticGPU, call: Call, life: Life) -> End | None:
    try:
        answer = run(call(world.plugin, device, watched(world.host(), life)))
    except BaseException:
        if not life.met:
            raise
        return End()
    return End(True, answer) if life.met else None
