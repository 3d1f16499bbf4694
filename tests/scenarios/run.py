"""One run: a world is given, the controllers start, people act, a fault strikes, all settles."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from elasticgpu.cluster.client import Client
from elasticgpu.provisioner import Provisioner
from tests import auditor

from .backend import Remote
from .faults import Fault, FaultyClient
from .process import Process
from .record import Object, Record
from .scenario import Scenario
from .world import Snapshot, World, audited, difference, summary

PATIENCE = 60.0
"""Seconds until a run that has not settled has failed; the machine may be busy."""
SOON = 0.25
"""What is due within so many seconds belongs to settling."""
QUIET = 0.03
"""Seconds without any sign of life after which the controllers count as settled."""
POLL = 0.01

_serial = count(1)


@dataclass(frozen=True)
class Site:
    """Where runs take place: an API server by the client of its admin and by what makes a client
    of the controllers, and an empty folder."""

    server: str
    admin: Client
    connect: Callable[[], Client]
    nothing: Path


@dataclass
class Result:
    """What a run left."""

    record: Record
    state: Mapping[str, str]
    objects: Mapping[str, Object]
    calls: tuple[int, int]
    wrong: list[str] = field(default_factory=list)


class Unsettled(AssertionError):
    """A run did not come to where it should."""


class Run:
    """One run of one scenario."""

    def __init__(self, site: Site, scenario: Scenario, fault: Fault) -> None:
        self.site = site
        self.scenario = scenario
        self.record = Record(f"r{next(_serial):04d}", fault)
        self.world = World(site.admin, self.record)
        self.plugin = scenario.plugin()
        self._before = dict(scenario.before)
        self._process: Process | None = None

    async def go(self) -> Result:
        """From the given world to the settled one."""
        await self.world.begin(self.scenario.given)
        try:
            await self._start()
            for step in self.scenario.when:
                if not step.at_once:
                    await self._settle()
                await step.do(self)
            snapshot = await self._settle(self._wrong)
            return self._result(snapshot)
        finally:
            await self._kill()
            await self.world.end()

    async def restart(self) -> None:
        """Throw the process away, and start another one from the API."""
        await self._kill()
        await self._start()

    async def list_anew(self, word: str) -> None:
        """What the controllers' cache of this kind does when a watch cannot go on."""
        assert self._process is not None
        await self._process.list_anew(word)

    async def _start(self) -> None:
        client = FaultyClient(self.site.connect(), self.record, self._interpose)
        self._process = await Process.start(client, self.record, {self.plugin.name: self.plugin})

    async def _kill(self) -> None:
        if self._process is not None:
            await self._process.kill()
            self._process = None

    async def _interpose(self, write: str) -> None:
        if step := self._before.get(write):
            if not step.always:
                del self._before[write]
            await step.do(self)

    async def _settle(self, wrong: Callable[[Snapshot], Sequence[str]] | None = None) -> Snapshot:
        """Wait until nothing moves, and until nothing is wrong; what there is then."""
        said: Sequence[str] = ()
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    await self._quiet()
                    snapshot = await self.world.snapshot() if wrong else {}
                    said = wrong(snapshot) if wrong else ()
                    if not said and not self._moving():
                        return snapshot
                    assert self._process is not None
                    if said and not self._process.busy(PATIENCE) and not self._moving():
                        raise TimeoutError
        except TimeoutError:
            wrote = f"it wrote {self.record.writes}, said {self.record.events}"
            raise Unsettled("; ".join([*(said or ["it never rests"]), wrote])) from None

    async def _quiet(self) -> None:
        since, seen = 0.0, (-1, -1)
        now = asyncio.get_running_loop().time
        while True:
            if self.record.crashed:
                self.record.crashed = False
                await self.restart()
            now_seen = (len(self.record.writes), len(self.record.refused))
            if self._moving() or now_seen != seen:
                since, seen = now(), now_seen
            elif now() - since >= QUIET:
                return
            await asyncio.sleep(POLL)

    def _moving(self) -> bool:
        """Whether something is about to happen. Opens the gate if only that can help."""
        process = self._process
        assert process is not None
        if self.record.crashed:
            return True
        process.check()
        gate = process.client.gate
        gate.is_open = False
        if process.busy(0):
            return True
        if process.behind(but=gate.held):
            return True
        if gate.waiting:
            gate.open()
            return True
        return process.busy(SOON) or process.behind()

    def _wrong(self, snapshot: Snapshot) -> Sequence[str]:
        state, then = self._state(snapshot), self.scenario.then
        wrong = then(state) if callable(then) else difference(dict(state), dict(then))
        fields = {name: self._field(snapshot, name) for name in self.scenario.fields}
        return [*wrong, *difference(fields, dict(self.scenario.fields))]

    def _state(self, snapshot: Snapshot) -> dict[str, str]:
        names = self.plugin.assets if isinstance(self.plugin, Remote) else ()
        assets = {f"asset {self.record.plain(name)}": "made" for name in names}
        return {**summary(snapshot, self.record), **assets}

    def _field(self, snapshot: Snapshot, name: str) -> object:
        about, path = name.rsplit(" ", 1)
        obj = snapshot.get(about)
        return auditor.at(self.record.lasting(obj), path) if obj else "it is not there"

    def _result(self, snapshot: Snapshot) -> Result:
        lasting = {name: self.record.lasting(obj) for name, obj in snapshot.items()}
        result = Result(self.record, self._state(snapshot), lasting, calls(self.plugin))
        if self.scenario.audited:
            result.wrong += audited(snapshot, self.site.nothing)
        result.wrong += self.record.errors
        if self.record.fault.strikes and not self.record.fired:
            result.wrong.append(f"nothing to strike: {self.record.fault}")
        return result


def calls(plugin: Provisioner) -> tuple[int, int]:
    """How often it was asked to provision and to release."""
    return (plugin.asked, plugin.released) if isinstance(plugin, Remote) else (0, 0)


def judge_clean(scenario: Scenario, result: Result) -> list[str]:
    """What is wrong with a run without faults: it writes and says nothing that is not expected."""
    record, wrong = result.record, list(result.wrong)
    writes = [write for write in record.writes if not write.startswith("card ")]
    expected = [write for chain in scenario.chains for write in chain]
    inside = all(_in_order(chain, writes) for chain in scenario.chains)
    if sorted(writes) != sorted(expected) or not inside:
        wrong.append(f"it wrote {writes}, not {scenario.writes}")
    if sorted(record.events) != sorted(scenario.events):
        wrong.append(f"it said {record.events}, not {list(scenario.events)}")
    if scenario.calls not in (None, result.calls):
        wrong.append(f"it called provision and release {result.calls} times")
    if scenario.refused is not None and sorted(record.refused) != sorted(scenario.refused):
        wrong.append(f"it was refused {record.refused}")
    return wrong


def judge_faulty(scenario: Scenario, result: Result, clean: Result) -> list[str]:
    """What is wrong with a run with a fault: it ends where the one without ended."""
    wrong = list(result.wrong)
    if not callable(scenario.then):
        wrong += difference(dict(result.objects), dict(clean.objects))
        wrong += difference(dict(result.state), dict(clean.state))
    unexpected = set(result.record.events) - {*clean.record.events, *scenario.also_says, "repeated"}
    wrong += [f"it said {event}" for event in sorted(unexpected)]
    return wrong


def judge_reordered(scenario: Scenario, result: Result) -> list[str]:
    """What is wrong with a run in another order: it ends as it should, and what it writes and says
    on the way is no more than the run without faults does, though it may come to that sooner."""
    record, wrong = result.record, list(result.wrong)
    writes = Counter(write for write in record.writes if not write.startswith("card "))
    more = writes - Counter(write for chain in scenario.chains for write in chain)
    wrong += [f"it also wrote {write}" for write in sorted(more)]
    more = Counter(record.events) - Counter([*scenario.events, *scenario.also_says])
    wrong += [f"it also said {event}" for event in sorted(more)]
    return wrong


def _in_order(chain: Sequence[str], writes: Sequence[str]) -> bool:
    left = iter(writes)
    return all(any(write == one for one in left) for write in chain) and not (
        Counter(chain) - Counter(writes)
    )
