"""The stage of a life: a town, those who act in it, and what holds after each step, and when all is
over."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize

from elasticgpu.cluster import clock
from tests.auditor import at

from . import always, settled
from .actions import CLASSES, People
from .loop import Dates, VirtualLoop, finish
from .process import Process
from .town import Town

SETTLES = 1500.0
"""Seconds within which everything settles once nothing happens any more."""
MEMORY = Path("/dev/shm")
WINDOW = 120.0
"""Seconds for which nobody writes then."""


class Stage(RuleBasedStateMachine):
    """One cluster from its beginning to its end; what happens in it is others' to say."""

    steps = 0
    """Taken by all machines of this process."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(
            prefix="machine-", dir=MEMORY if MEMORY.is_dir() else None
        )

    @initialize(seed=st.integers(0, 2**32 - 1), default=st.booleans())
    def begin(self, seed: int, default: bool) -> None:
        random = Random(seed)
        self.loop = VirtualLoop(random)
        asyncio.set_event_loop(self.loop)
        Dates.loop = self.loop
        self.dates, clock.datetime = clock.datetime, Dates  # type: ignore[attr-defined]
        self.town = Town(self.loop, Path(self.folder.name), random)
        self.people = People(self.town)
        self.go(self.town.begin())
        for name in CLASSES:
            self.go(self.people.make_class(name, default and name == "shares"))

    def go(self, work: Coroutine[Any, Any, Any], pause: float = 0.0) -> None:
        """Do it, let time pass, and look."""

        async def run() -> None:
            await work
            await asyncio.sleep(pause)

        self.loop.run_until_complete(run())
        self.look()

    def look(self) -> None:
        found = always.broken(self.town)
        assert not found, "\n".join(found)

    def nth(self, table: str, nth: int) -> str:
        names = self.people.names(table)
        return names[nth % len(names)] if names else "none"

    def check_invariants(self, *args: Any, **kwargs: Any) -> None:
        Stage.steps += 1
        super().check_invariants(*args, **kwargs)

    def machines(self) -> list[Any]:
        return list(self.town.nodes.values())

    def ours(self) -> list[Process]:
        return [self.town.controller, *(m.agent for m in self.machines())]

    def which(self, nth: int) -> Process:
        """The controller as often as all agents together."""
        ours = self.ours()
        return ours[0] if nth % 2 else ours[1 + nth // 2 % 3]

    def teardown(self) -> None:
        try:
            if hasattr(self, "town"):
                self.end()
        finally:
            if hasattr(self, "loop"):
                finish(self.loop)
                asyncio.set_event_loop(None)
                clock.datetime = self.dates  # type: ignore[attr-defined]
            self.folder.cleanup()

    def end(self) -> None:
        self.look()
        self.go(self.people.mend(), SETTLES)
        found = [*settled.unsettled(self.town), *self.loud()]
        assert not found, "\n".join(found)
        self.go(self.people.empty(), SETTLES)
        found = list(settled.left_over(self.town))
        assert not found, "\n".join(found)

    def loud(self) -> list[str]:
        """Who writes though nothing happens. That an event is told again, every ten minutes, is no
        noise: a kubelet goes on trying."""
        heard: list[str] = []

        def listen(table: str, event: Any) -> None:
            repeats = event.change == "MODIFIED" and table.endswith("/events")
            if not repeats and not table.endswith("leases"):
                heard.append(f"{event.change} {table} {at(event.entry.body, 'metadata.name')}")

        self.town.server.store.listen(listen)
        self.go(asyncio.sleep(WINDOW))
        self.town.server.store._listeners.remove(listen)
        return [f"not quiet: {one}" for one in heard]
