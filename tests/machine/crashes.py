"""What goes wrong in a life: answers, watches, processes."""

from __future__ import annotations

import asyncio

from hypothesis import strategies as st
from hypothesis.stateful import rule

from elasticgpu.testing.apiserver import Fault
from elasticgpu.testing.apiserver.faults import Act

from .drawn import NTH, PAUSE
from .stage import Stage

ACT: st.SearchStrategy[Act] = st.sampled_from(
    ["fail", "delay", "drop", "lose", "fail-after", "duplicate", "disconnect"]
)
KIND = st.sampled_from(
    ["elasticgpus", "elasticgpuclaims", "gpus", "pods", "resourceclaims", "nodes"]
)


class Crashes(Stage):
    """Faults of the API server, and deaths of our processes."""

    @rule(
        act=ACT,
        method=st.sampled_from(["", "PUT", "POST", "PATCH", "DELETE", "GET"]),
        kind=st.one_of(st.just(""), KIND),
        nth=st.integers(1, 4),
        times=st.integers(1, 3),
        seconds=st.sampled_from([0.0, 0.2, 5.0, 40.0]),
    )
    def fault(self, act: Act, method: str, kind: str, nth: int, times: int, seconds: float) -> None:
        ours = tuple(f"Bearer {p.token}" for p in self.ours())
        self.town.server.faults.add(
            Fault(
                act,
                method=method,
                path=f"/{kind}" if kind else "",
                nth=nth,
                times=times,
                seconds=seconds,
                matches=lambda request: request.authorization in ours,
            )
        )

    @rule(kind=st.one_of(st.none(), KIND), forget=st.booleans())
    def disconnect(self, kind: str | None, forget: bool) -> None:
        for table in self.town.server.store._tables if forget else ():
            if kind is None or table.endswith(kind):
                self.town.server.store.forget(table)
        self.town.server.disconnect()

    @rule(kind=KIND, seconds=st.sampled_from([0.5, 5.0, 50.0]), which=NTH)
    def hold_watches_up(self, kind: str, seconds: float, which: int) -> None:
        process = self.which(which)
        process.slow[f"/{kind}"] = self.loop.time() + seconds

    @rule(
        which=NTH,
        at_write=st.integers(1, 6),
        after=st.booleans(),
        again=st.sampled_from([0.0, 0.5, 20.0]),
    )
    def die_at_a_write(self, which: int, at_write: int, after: bool, again: float) -> None:
        process = self.which(which)
        process.fuse, process.after, process.again = at_write, after, again

    @rule(which=NTH, turns=st.integers(0, 60), again=st.sampled_from([0.0, 0.5, 20.0]), pause=PAUSE)
    def die_at_an_await(self, which: int, turns: int, again: float, pause: float) -> None:
        process = self.which(which)

        def die() -> None:
            if process.alive:
                process.kill()
                self.loop.call_later(again, process.start)

        self.loop.in_turns(turns, die)
        self.go(asyncio.sleep(0), pause)

    @rule(seconds=st.sampled_from([0.3, 5.0, 45.0, 400.0]))
    def wait(self, seconds: float) -> None:
        self.go(asyncio.sleep(seconds))
