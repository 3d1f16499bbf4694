"""What a scenario is: rows of data, and the few verbs in which people change the world."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from elasticgpu.errors import ApiError
from elasticgpu.provisioner import Provisioner

from .backend import Share
from .faults import CLEAN, Fault

if TYPE_CHECKING:
    from .run import Run

Object = dict[str, Any]
State = Mapping[str, str]
"""What people see: `claim train` → `Bound d1 completed by-controller`, `device d1` → …"""


@dataclass(frozen=True)
class Step:
    """Something that a person or another component does, once the controllers have settled.

    `at_once`: without waiting for that. `always`: interposed, it happens each time.
    """

    do: Callable[[Run], Awaitable[None]]
    at_once: bool = False
    always: bool = False


@dataclass(frozen=True)
class Scenario:
    """One scenario, or one case of it.

    `then` is the whole state of claims, devices and what the backend has, or a function that says
    what is wrong with it; `fields` are values besides, by object and path. What follows is of the
    run without further faults: its `writes`, in order (of several sequences each is in order, and
    how they mix is open), its `events`, what it was `refused` (None: anything), and how often it
    called the provisioner's `provision` and `release`. Runs with a fault may say no more than that
    and `also_says`.

    `before` interposes a step just before that write leaves (`device d1`) or that object is read
    (`device d1 read`). `own` is a fault that the scenario is about. With `only` the process crashes
    after these writes, and no other fault is tried.
    """

    number: int
    given: Sequence[Object]
    then: State | Callable[[State], Sequence[str]]
    writes: Sequence[str] | Sequence[Sequence[str]] = ()
    events: Sequence[str] = ()
    when: Sequence[Step] = ()
    case: str = ""
    fields: Mapping[str, object] = field(default_factory=dict)
    before: Mapping[str, Step] = field(default_factory=dict)
    also_says: Sequence[str] = ()
    refused: Sequence[str] | None = ()
    calls: tuple[int, int] | None = None
    plugin: Callable[[], Provisioner] = Share
    own: Fault = CLEAN
    only: Sequence[int] = ()
    audited: bool = True

    @property
    def title(self) -> str:
        """Number and case."""
        return f"{self.number:02d}{' ' if self.case else ''}{self.case}"

    @property
    def chains(self) -> Sequence[Sequence[str]]:
        """The expected writes as sequences that may mix."""
        if self.writes and not isinstance(self.writes[0], str):
            return [list(chain) for chain in self.writes]
        return [[str(write) for write in self.writes]]


def bind(device: str, claim: str = "train") -> list[str]:
    """The four writes."""
    first = [f"device {device}", f"device {device} status"]
    return [*first, f"claim {claim}", f"claim {claim} status"]


def says(kind: str, reason: str, about: str, *, first: Sequence[str] = ()) -> list[str]:
    """The status of an object and the event that says the same."""
    return [*first, f"{about} status", f"event {kind} {reason} {about}"]


def create(obj: Object) -> Step:
    """Somebody creates this object."""
    return Step(lambda run: run.world.create(obj))


def edit(about: str, change: Object) -> Step:
    """Somebody edits `claim train`, `device d1`, …: a merge patch."""
    return Step(lambda run: run.world.edit(about, change))


def delete(about: str) -> Step:
    """Somebody deletes it; finalizers may keep it."""
    return Step(lambda run: run.world.delete(about))


def force_delete(about: str) -> Step:
    """Somebody takes its finalizers away and deletes it."""
    return Step(lambda run: run.world.remove(about))


def restart() -> Step:
    """The controllers' process is killed and started again."""
    return Step(lambda run: run.restart())


def listed_anew(word: str, *, so_that: str) -> Step:
    """The caches of this kind are filled from a new list, and this is read because of it."""

    async def do(run: Run) -> None:
        before = len(run.record.reads)
        await run.list_anew(word)
        async with asyncio.timeout(30):
            while so_that not in run.record.reads[before:]:
                await asyncio.sleep(0.01)

    return Step(do)


def together(*steps: Step) -> Step:
    """All of these, without waiting for the controllers to settle between them."""

    async def do(run: Run) -> None:
        for step in steps:
            await step.do(run)

    return Step(do)


def at_once(*steps: Step) -> Step:
    """The same, and without waiting before the first of them."""
    return replace(together(*steps), at_once=True)


def fails(error: ApiError, *, always: bool = False) -> Step:
    """The API server refuses what this is interposed before."""

    async def do(run: Run) -> None:
        raise error

    return Step(do, always=always)


def the_backend(change: Callable[[Any], None]) -> Step:
    """Something happens outside of the cluster."""

    async def do(run: Run) -> None:
        change(run.plugin)

    return Step(do)


def later(seconds: float) -> Step:
    """Time passes."""
    return Step(lambda run: asyncio.sleep(seconds))
