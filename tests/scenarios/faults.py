"""A client that fails on purpose: the library's own transport, with a fault planted in it.

It sees no more of the API server than its run does, so that many runs share one server, each in
a world of its own. Writes go out one at a time, so that "the third write" means something.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from elasticgpu.api.meta import KubeObject
from elasticgpu.cluster.client import Client
from elasticgpu.cluster.informer import COMPLETE
from elasticgpu.errors import ApiError, Unavailable

from .kinds import BY_KIND

if TYPE_CHECKING:
    from .record import Record

Json = dict[str, Any]
Events = AsyncGenerator[tuple[str, Json], None]


@dataclass(frozen=True)
class Fault:
    """What goes wrong in one run.

    crash: the write `at` is done, then the process is gone. lost: it is done, its answer never
    comes. unsent: it never arrives, and neither does an answer. stale: events of the kinds `held`
    come only when the controllers have nothing left to do without them. garbage: the version of an
    event is no number. With `stutters` each event comes twice, after the last one of its object.
    """

    kind: Literal["none", "crash", "lost", "unsent", "stale", "garbage"] = "none"
    at: int = 0
    held: frozenset[str] = frozenset()
    stutters: bool = False

    @property
    def strikes(self) -> bool:
        """Whether it is at one certain moment, which has to come."""
        return self.kind not in ("none", "stale")

    def __str__(self) -> str:
        if self.kind == "stale":
            return f"stale {' and '.join(sorted(self.held))}"
        return f"{self.kind} at write {self.at}" if self.at else self.kind


CLEAN = Fault()


@dataclass
class Gate:
    """Holds back watch events of some kinds until it is opened for a moment."""

    held: frozenset[str]
    waiting: list[asyncio.Future[None]] = field(default_factory=list)
    is_open: bool = False

    async def passes(self, word: str) -> None:
        """Return when an event of this kind may go on."""
        if word in self.held and not self.is_open:
            mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.waiting.append(mine)
            await mine

    def open(self) -> None:
        """Let go what waits, and what comes until it is closed."""
        self.is_open = True
        for one in self.waiting:
            if not one.done():
                one.set_result(None)
        self.waiting.clear()


class FaultyClient(Client):
    """One process's way to the API server, through a client of any make.

    `before` is called with each read or write of one object that is about to leave.
    """

    def __init__(self, way: Client, record: Record, before: Callable[[str], Any]) -> None:
        self._way = way
        self.gate = Gate(record.fault.held)
        self.dead = False
        self._record = record
        self._before = before
        self._one_at_a_time = asyncio.Lock()

    def __repr__(self) -> str:
        return f"FaultyClient({self._way})"

    async def close(self) -> None:
        """Close the way."""
        await self._way.close()

    async def _once(self, *request: Any) -> Json:
        return await self._way._once(*request)

    def stream(self, path: str, **options: Any) -> Events:
        """One watch request, as it is without faults."""
        return self._way.stream(path, **options)

    async def raw(self, method: str, path: str, **options: Any) -> Json:
        """One request; a write may meet the run's fault."""
        self._live(path)
        if method == "GET":
            if where := self._record.read(path):
                self._record.reads.append(where)
                await self._before(where)
            return await super().raw(method, path, **options)
        async with self._one_at_a_time:
            self._live(path)
            return await self._write(method, path, options)

    def _live(self, path: str) -> None:
        if self.dead:
            raise Unavailable(0, "Dead", f"{path}: the process is gone")

    async def _write(self, method: str, path: str, options: dict[str, Any]) -> Json:
        record, body = self._record, options.get("body")
        if record.meets("unsent", len(record.writes) + 1):
            raise Unavailable(0, "NoAnswer", f"{method} {path}: it never arrived")
        try:
            await self._before(record.words(method, path, body))
            answer = await super().raw(method, path, **options)
        except ApiError as error:
            record.refused.append(f"{record.words(method, path, body)}: {error.reason}")
            raise
        number = record.done(method, path, body, answer)
        if record.meets("crash", number):
            self.dead = record.crashed = True
            await asyncio.Event().wait()
        if record.meets("lost", number):
            raise Unavailable(0, "NoAnswer", f"{method} {path}: the answer was lost")
        return answer

    async def pages(self, kind: type[KubeObject], **options: Any) -> AsyncGenerator[Json, None]:
        """A list, of this run's objects."""
        self._live(kind.resource.plural)
        async for body in super().pages(kind, **self._narrowed(kind, options)):
            body["items"] = [item for item in body["items"] if self._mine(kind, item)]
            yield body

    def watch(self, kind: type[KubeObject], **options: Any) -> Events:
        """A watch of this run's objects; after the first list the gate may hold events back."""
        return self._seen(kind, super().watch(kind, **self._narrowed(kind, options)), options)

    async def _seen(self, kind: type[KubeObject], events: Events, options: Json) -> Events:
        listing = "sendInitialEvents" in (options.get("params") or {})
        word = BY_KIND[kind.resource.kind].word if kind.resource.kind in BY_KIND else ""
        before: dict[str, Json] = {}
        async with aclosing(events):
            async for what, obj in events:
                if what != "BOOKMARK" and not self._mine(kind, obj):
                    continue
                if not listing:
                    await self.gate.passes(word)
                listing = listing and COMPLETE not in obj["metadata"].get("annotations", {})
                if what == "MODIFIED" and self._record.meets("garbage", 0):
                    try:
                        yield what, _garbled(obj)
                    except GeneratorExit:
                        self.dead = self._record.crashed = True
                        raise
                    self._record.errors.append("a version that is no number was taken in")
                if self._record.fault.stutters and what in ("ADDED", "MODIFIED"):
                    uid = obj["metadata"]["uid"]
                    yield what, deepcopy(before.get(uid, obj))
                    yield what, deepcopy(obj)
                    before[uid] = obj
                yield what, obj

    def _narrowed(self, kind: type[KubeObject], options: Mapping[str, Any]) -> dict[str, Any]:
        inside = {"namespace": self._record.mark} if kind.resource.namespaced else {}
        return {**options, **inside}

    def _mine(self, kind: type[KubeObject], obj: Json) -> bool:
        return kind.resource.namespaced or self._record.mine(obj)


def _garbled(obj: Json) -> Json:
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": "soon"}}
