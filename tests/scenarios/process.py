"""The controllers as one process: started from the API alone, and gone from one moment to the next.

They are the library's own `control`, without the lease. What it makes is found by registering every
queue, informer and call that it makes.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import pytest

from elasticgpu.api.meta import labels_match
from elasticgpu.cluster.informer import Informer
from elasticgpu.cluster.store import version_of
from elasticgpu.cluster.workqueue import WorkQueue
from elasticgpu.controllers import asking, binder, inventory, pods, waking
from elasticgpu.controllers.asking import Asking
from elasticgpu.controllers.controller import ControllerConfig, control
from elasticgpu.controllers.world import SELECTED
from elasticgpu.provisioner import Provisioner
from elasticgpu.rules import answers, waiting

from .faults import FaultyClient
from .kinds import BY_KIND, BY_WORD
from .record import Known, Record

WORKERS = 4
"""Keys that each loop has in work at once: enough to get into each other's way, quick to start."""


@dataclass
class Parts:
    """What a process is made of, as far as a test has to look into it."""

    record: Record
    queues: list[WorkQueue[Any]] = field(default_factory=list)
    informers: list[Informer[Any]] = field(default_factory=list)
    calls: list[Asking] = field(default_factory=list)


_PARTS: ContextVar[Parts | None] = ContextVar("parts", default=None)


def hasten(patch: pytest.MonkeyPatch) -> None:
    """Shorten what the controllers gather and wait for; register queues and informers."""
    patch.setattr(inventory, "GATHER", 0.1)
    patch.setattr(waking, "WAKE_AFTER", 0.01)
    patch.setattr(asking, "BASE", 0.02)
    patch.setattr(binder, "LATER", 0.02)
    patch.setattr(answers, "SOONEST", 0.02)
    # What a pod hears while it waits depends on when it is looked at: nothing, here.
    patch.setattr(pods, "PASSING", 600.0)
    patch.setattr(waiting, "passes", lambda reason: True)
    _registering(patch, WorkQueue, "queues")
    _registering(patch, Informer, "informers")
    _registering(patch, Asking, "calls")


def _registering(patch: pytest.MonkeyPatch, made: type[Any], where: str) -> None:
    original = made.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if parts := _PARTS.get():
            getattr(parts, where).append(self)

    patch.setattr(made, "__init__", init)


class Complaints(logging.Handler):
    """Puts what the library logs as an error into the record of the run that caused it."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)

    def emit(self, record: logging.LogRecord) -> None:
        """Note it."""
        if parts := _PARTS.get():
            parts.record.errors.append(self.format(record))


class Process:
    """One life of the controllers."""

    def __init__(self, client: FaultyClient, parts: Parts, task: asyncio.Task[None]) -> None:
        self.client = client
        self._parts = parts
        self._task = task

    @classmethod
    async def start(
        cls, client: FaultyClient, record: Record, plugins: Mapping[str, Provisioner]
    ) -> Process:
        """Start the controllers, and wait until their caches are filled."""
        parts, ready = Parts(record), asyncio.Event()

        async def live() -> None:
            _PARTS.set(parts)
            config = ControllerConfig(identity="test", workers=WORKERS)
            await control(client, config, plugins, ready)

        process = cls(client, parts, asyncio.create_task(live()))
        filled = asyncio.create_task(ready.wait())
        await asyncio.wait((filled, process._task), return_when=asyncio.FIRST_COMPLETED)
        filled.cancel()
        return process

    async def kill(self) -> None:
        """End it at once: from now on nothing of it reaches the API server."""
        self.client.dead = True
        self._task.cancel()
        await asyncio.wait((self._task,))
        await self.client.close()
        gc.unfreeze()  # each start exempts what it loaded from collection, and here are many

    async def list_anew(self, word: str) -> None:
        """Have the caches of this kind take in a complete list once more."""
        for informer in self._parts.informers:
            if informer.kind.resource.kind == BY_WORD[word].kind:
                await informer._list()

    def check(self) -> None:
        """Raise what ended it, if it has ended."""
        if self._task.done():
            self._task.result()
            raise AssertionError("the controllers ended by themselves")

    def busy(self, within: float) -> bool:
        """Whether something is queued, in work, or due within so many seconds, or a provisioner
        has not answered yet."""
        called = any(asking.calling for asking in self._parts.calls)
        return called or any(queue._busy(within) for queue in self._parts.queues)

    def behind(self, but: frozenset[str] = frozenset()) -> bool:
        """Whether a cache, but those of these kinds, lacks what is known to have been written."""
        known = self._parts.record.known
        for informer in self._parts.informers:
            kind = BY_KIND.get(informer.kind.resource.kind)
            if kind is None or kind.word in but:
                continue
            cached = {obj.name: obj for obj in informer.values()}
            for (word, name), now in known.items():
                if kind.word != word or not _selects(informer, now):
                    continue
                obj = cached.get(name)
                if now.version < 0 and obj is not None and obj.uid == now.uid:
                    return True
                if now.version >= 0 and (obj is None or version_of(obj) < now.version):
                    return True
        return False


def _selects(informer: Informer[Any], obj: Known) -> bool:
    """Whether the object should be in this cache; those that select by fields are not looked at."""
    if "fieldSelector" in informer._selectors:
        return False
    return "labelSelector" not in informer._selectors or labels_match(SELECTED, obj.labels)
