"""Events that people read with `kubectl describe`: the last word of a loop about an object.

Fire and forget for the caller, aggregated for the API server: the first event is sent at once,
identical ones only raise its count, at most once in ten minutes.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Literal
from uuid import uuid4

from elasticgpu.api.core import Event
from elasticgpu.api.meta import KubeObject
from elasticgpu.errors import (
    AlreadyExists,
    ApiError,
    Invalid,
    NotFound,
    Retry,
    Throttled,
    Unavailable,
)

from .client import Client
from .clock import microtime
from .workqueue import WorkQueue

log = logging.getLogger(__name__)
Same = tuple[str, str, str]
"""(uid, reason, message): what makes two events the same one."""

INTERVAL = 600.0
"""Seconds between two writes of the same event's count."""
CAPACITY = 2048
"""Events remembered: those to be sent, and those sent whose repeats are counted."""
LIMIT = 1024
"""Bytes of a note the API server accepts; of `action`, `reason` and the instance 128."""


@dataclass
class _Series:
    """One event and its repeats: `count` so far, of which the server knows `told`."""

    name: str
    namespace: str
    body: dict[str, Any]
    count: int = 0
    told: int = 0
    told_at: float = float("-inf")
    last: str = ""


class Recorder:
    """Writes events of one controller. `run` it in the background; `flush` at shutdown."""

    def __init__(self, client: Client, *, controller: str, instance: str) -> None:
        self._client = client
        self._who = {"reportingController": controller, "reportingInstance": instance[:128]}
        self._series: OrderedDict[Same, _Series] = OrderedDict()
        self._queue: WorkQueue[Same] = WorkQueue("events")
        self._writing = asyncio.Lock()
        self._dropped = 0

    def event(
        self,
        regarding: KubeObject,
        type: Literal["Normal", "Warning"],
        reason: str,
        message: str,
        action: str = "Reconcile",
    ) -> None:
        """Record an event about `regarding`. Returns at once and never raises."""
        try:
            same = (regarding.uid, reason, message)
            series = self._series.get(same) or self._new(regarding, type, reason, message, action)
            self._series[same] = series
            self._series.move_to_end(same)
            series.count, series.last = series.count + 1, microtime()
            due = series.told_at + INTERVAL - asyncio.get_running_loop().time()
            self._queue.add_after(same, due)
            self._forget_oldest()
        except Exception:  # an event is never worth a reconcile
            log.exception("event %s about %s is lost", reason, regarding.key)

    async def run(self) -> None:
        """Send what is recorded, until cancelled."""
        await self._queue.run(self._send)

    async def flush(self, timeout: float) -> None:
        """Send what is not yet sent, for at most so many seconds; the rest is given up."""
        try:
            async with asyncio.timeout(timeout):
                for same in self._unsent():
                    await self._send(same)
        except (Retry, TimeoutError) as error:
            log.warning("%d events are lost at shutdown: %r", len(self._unsent()), error)

    def _unsent(self) -> list[Same]:
        return [same for same, series in self._series.items() if not series.told]

    def _new(
        self, regarding: KubeObject, type: str, reason: str, message: str, action: str
    ) -> _Series:
        where = regarding.namespace or "default"
        body = {
            **self._who,
            "eventTime": microtime(),
            "type": type,
            "reason": reason[:128],
            "action": action[:128],
            "note": shorten(message),
            "regarding": _reference(regarding),
        }
        name = f"{regarding.name[:230].rstrip('.-')}.{uuid4().hex[:16]}"
        return _Series(name, where, body)

    def _forget_oldest(self) -> None:
        while len(self._series) > CAPACITY:
            _, series = self._series.popitem(last=False)
            if series.told == 0:
                self._dropped += 1
                if self._dropped & (self._dropped - 1) == 0:  # 1, 2, 4, 8, …: said, not repeated
                    log.warning("%d events dropped: the server does not take them", self._dropped)

    async def _send(self, same: Same) -> None:
        async with self._writing:
            series = self._series.get(same)
            if series is None or series.told == series.count:
                return
            early = series.told_at + INTERVAL - asyncio.get_running_loop().time()
            if early > 0:
                return self._queue.add_after(same, early)
            count = series.count
            try:
                await self._write(series)
            except (Unavailable, Throttled) as error:
                raise Retry(str(error), after=max(error.retry_after or 0.0, 5.0)) from error
            except ApiError as error:  # its namespace is going, or we may not: final either way
                level = logging.WARNING if isinstance(error, Invalid) else logging.DEBUG
                log.log(level, "event about %s dropped: %s", series.body["regarding"], error)
            series.told, series.told_at = count, asyncio.get_running_loop().time()

    async def _write(self, series: _Series) -> None:
        if series.told:
            try:
                bump = {"series": _counted(series)}
                await self._client.patch(Event, (series.namespace, series.name), bump)
                return
            except NotFound:  # events live an hour; this is a new one
                log.debug("event %s has expired", series.name)
        try:
            await self._client.create(_event(series))
        except AlreadyExists:
            log.debug("event %s was created by the attempt that had no answer", series.name)


def shorten(text: str, limit: int = LIMIT) -> str:
    """The text, cut to so many bytes of UTF-8 with an ellipsis at the cut."""
    data = text.encode()
    if len(data) <= limit:
        return text
    return data[: limit - 3].decode(errors="ignore") + "…"


def _reference(obj: KubeObject) -> dict[str, str]:
    meta, kind = obj.metadata, obj.resource
    whole = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
        "resourceVersion": meta.resource_version,
    }
    return {name: value for name, value in whole.items() if value}


def _counted(series: _Series) -> dict[str, Any]:
    return {"count": series.count, "lastObservedTime": series.last}


def _event(series: _Series) -> Event:
    repeats = {"series": _counted(series)} if series.count > 1 else {}
    meta = {"name": series.name, "namespace": series.namespace}
    return Event.model_validate({"metadata": meta, **series.body, **repeats})
