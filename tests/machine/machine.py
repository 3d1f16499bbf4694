"""The state machine: its rules are what may happen, in any order, and after each of them what must
always hold does; at the end everything is mended, and must settle."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
)

from elasticgpu.cluster import clock
from elasticgpu.testing.apiserver import Fault
from elasticgpu.testing.apiserver.faults import Act
from tests.auditor import at

from . import always, settled
from .actions import CLAIM_PATH, CLASSES, POD_PATH, TEMPLATE_PATH, People
from .loop import Dates, VirtualLoop, finish
from .process import Process
from .town import CLAIMS, DEVICES, OURS, Object, Town

GPUS = "elasticgpu.io/gpus"
SETTLES = 1500.0
"""Seconds within which everything settles once nothing happens any more."""
MEMORY = Path("/dev/shm")
WINDOW = 120.0
"""Seconds for which nobody writes then."""

CLAIM = st.sampled_from(["c0", "c1", "c2", "c3", "c4"])
POD = st.sampled_from(["p0", "p1", "p2", "p3", "p4"])
TEMPLATE = st.sampled_from(["t0", "t1"])
NODE = st.sampled_from(["node-0", "node-1", "node-2"])
CLASS = st.sampled_from(sorted(CLASSES))
NTH = st.integers(0, 7)
PAUSE = st.sampled_from([0.0, 0.002, 0.05, 1.0, 15.0])
CORE = st.sampled_from([20, 30, 50, 70, 100])
ACT: st.SearchStrategy[Act] = st.sampled_from(
    ["fail", "delay", "drop", "lose", "fail-after", "duplicate", "disconnect"]
)
KIND = st.sampled_from(
    ["elasticgpus", "elasticgpuclaims", "gpus", "pods", "resourceclaims", "nodes"]
)


def asked(core: int) -> Object:
    amounts = {"elasticgpu.io/gpu-core": str(core), "elasticgpu.io/gpu-memory": f"{core // 10}Gi"}
    return {"resources": {"requests": amounts}}


class Life(RuleBasedStateMachine):
    """One cluster from its beginning to its end."""

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
        Life.steps += 1
        super().check_invariants(*args, **kwargs)

    # -- users -----------------------------------------------------------------------------------

    @rule(
        name=CLAIM,
        core=CORE,
        of=st.one_of(st.none(), CLASS, st.just("")),
        shared=st.booleans(),
        pause=PAUSE,
    )
    def claim(self, name: str, core: int, of: str | None, shared: bool, pause: float) -> None:
        spec = asked(core) | ({"shared": True} if shared else {})
        if of is not None:
            spec["elasticGPUClassName"] = of
        self.go(self.people.claim(name, spec), pause)

    @rule(
        name=CLAIM,
        core=CORE,
        of=CLASS,
        other=CLAIM,
        how=st.sampled_from(["colocateWith", "elasticGPUName", "nodeName"]),
        nth=NTH,
        pause=PAUSE,
    )
    def special_claim(
        self, name: str, core: int, of: str, other: str, how: str, nth: int, pause: float
    ) -> None:
        spec = asked(core) | {"elasticGPUClassName": of}
        match how:
            case "colocateWith":
                spec[how] = [other]
            case "elasticGPUName":
                spec[how] = self.nth(DEVICES, nth)
            case _:
                spec["gpuSelector"] = {how: f"node-{nth % 3}"}
        self.go(self.people.claim(name, spec), pause)

    @rule(name=CLAIM, pause=PAUSE)
    def delete_claim(self, name: str, pause: float) -> None:
        self.go(self.people.delete(f"{CLAIM_PATH}/{name}"), pause)

    @rule(name=POD, claims=st.lists(CLAIM, min_size=1, max_size=2, unique=True), pause=PAUSE)
    def pod(self, name: str, claims: list[str], pause: float) -> None:
        self.go(self.people.pod(name, claims), pause)

    @rule(name=POD, claim=CLAIM, node=NODE, pause=PAUSE)
    def pod_of_a_node(self, name: str, claim: str, node: str, pause: float) -> None:
        self.go(self.people.pod(name, [claim], node=node), pause)

    @rule(name=POD, template=TEMPLATE, core=CORE, of=CLASS, pause=PAUSE)
    def pod_of_a_template(self, name: str, template: str, core: int, of: str, pause: float) -> None:
        spec = asked(core) | {"elasticGPUClassName": of}
        self.go(self.people.template(template, spec))
        self.go(self.people.pod(name, [], template), pause)

    @rule(name=TEMPLATE, pause=PAUSE)
    def delete_template(self, name: str, pause: float) -> None:
        self.go(self.people.delete(f"{TEMPLATE_PATH}/{name}"), pause)

    @rule(name=POD, grace=st.sampled_from([None, 0]), pause=PAUSE)
    def delete_pod(self, name: str, grace: int | None, pause: float) -> None:
        self.go(self.people.delete(f"{POD_PATH}/{name}", grace), pause)

    @rule(name=POD, phase=st.sampled_from(["Succeeded", "Failed"]), pause=PAUSE)
    def end_pod(self, name: str, phase: str, pause: float) -> None:
        self.go(self.people.end_pod(name, phase), pause)

    @rule(claim=CLAIM, name=POD, other=POD, core=CORE, of=CLASS)
    def run_pod(self, claim: str, name: str, other: str, core: int, of: str) -> None:
        """What usually happens, so that the rest meets claims in use."""
        self.go(self.people.claim(claim, asked(core) | {"elasticGPUClassName": of}))
        self.go(self.people.pod(name, [claim]), 3.0)
        self.go(self.people.pod(other, [claim]))

    # -- admins ----------------------------------------------------------------------------------

    @rule(
        name=st.sampled_from(["d0", "d1", "d2"]),
        nth=NTH,
        core=CORE,
        of=st.one_of(CLASS, st.just("")),
        reserved=st.one_of(st.just(""), CLAIM),
        pause=PAUSE,
    )
    def device(self, name: str, nth: int, core: int, of: str, reserved: str, pause: float) -> None:
        cards = self.town.read(f"{OURS}/gpus")
        if cards:
            work = self.people.device(name, cards[nth % len(cards)], core, of, reserved)
            self.go(work, pause)

    @rule(nth=NTH, pause=PAUSE)
    def clear_claim_ref(self, nth: int, pause: float) -> None:
        self.go(self.people.clear(self.nth(DEVICES, nth)), pause)

    @rule(nth=NTH, pause=PAUSE)
    def delete_device(self, nth: int, pause: float) -> None:
        self.go(self.people.delete(f"{OURS}/elasticgpus/{self.nth(DEVICES, nth)}"), pause)

    @rule(nth=NTH, closed=st.booleans(), pause=PAUSE)
    def close_card(self, nth: int, closed: bool, pause: float) -> None:
        path = f"{OURS}/gpus/{self.nth(GPUS, nth)}"
        self.go(self.people.ask("PATCH", path, {"spec": {"unschedulable": closed}}), pause)

    @rule(name=CLASS, pause=PAUSE)
    def default_class(self, name: str, pause: float) -> None:
        self.go(self.people.flip_default(name), pause)

    @rule(name=CLASS, pause=PAUSE)
    def make_class_anew(self, name: str, pause: float) -> None:
        self.go(self.people.delete(f"{OURS}/elasticgpuclasses/{name}"), pause)
        self.go(self.people.make_class(name))

    # -- nodes -----------------------------------------------------------------------------------

    @rule(name=NODE, yes=st.booleans(), pause=PAUSE)
    def cordon(self, name: str, yes: bool, pause: float) -> None:
        self.go(self.people.cordon(name, yes), pause)

    @rule(name=NODE, pause=PAUSE)
    def power_off(self, name: str, pause: float) -> None:
        self.go(self.people.off(name), pause)

    @rule(name=NODE, pause=PAUSE)
    def cut_off(self, name: str, pause: float) -> None:
        self.go(self.people.cut(name), pause)

    @rule(name=NODE, gone=st.booleans(), pause=PAUSE)
    def give_up(self, name: str, gone: bool, pause: float) -> None:
        if not self.town.nodes[name].running:
            work = self.people.drop_node if gone else self.people.out_of_service
            self.go(work(name), pause)

    @precondition(lambda self: any(not m.running or m.kubelet.cut for m in self.machines()))
    @rule(name=NODE, pause=PAUSE)
    def back(self, name: str, pause: float) -> None:
        self.go(self.people.back(name), pause)

    @rule(name=NODE, nth=NTH, what=st.sampled_from(["out", "ill", "well"]), pause=PAUSE)
    def card(self, name: str, nth: int, what: str, pause: float) -> None:
        cards = self.town.nodes[name].cards
        one = cards.all[nth % len(cards.all)].name
        cards.out.discard(one)
        cards.ill.discard(one)
        if what != "well":
            getattr(cards, what).add(one)
        self.go(asyncio.sleep(61), pause)

    # -- faults and crashes ----------------------------------------------------------------------

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

    def machines(self) -> list[Any]:
        return list(self.town.nodes.values())

    def ours(self) -> list[Process]:
        return [self.town.controller, *(m.agent for m in self.machines())]

    def which(self, nth: int) -> Process:
        """The controller as often as all agents together."""
        ours = self.ours()
        return ours[0] if nth % 2 else ours[1 + nth // 2 % 3]

    # -- the end ---------------------------------------------------------------------------------

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
        """Who writes though nothing happens."""
        heard: list[str] = []

        def listen(table: str, event: Any) -> None:
            if not table.endswith("leases"):
                heard.append(f"{event.change} {table} {at(event.entry.body, 'metadata.name')}")

        self.town.server.store.listen(listen)
        self.go(asyncio.sleep(WINDOW))
        self.town.server.store._listeners.remove(listen)
        return [f"not quiet: {one}" for one in heard]


__all__ = ["CLAIMS", "Life"]
