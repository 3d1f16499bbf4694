"""A bare client: it makes the load, is the ceiling, and sees when everything is bound."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from typing import TypeVar

import aiohttp
import orjson

from tests.cluster.cluster import Cluster

from .objects import Json

T = TypeVar("T")
LANES = 64
"""Requests in flight."""
PATIENCE = 300.0
"""Seconds after which a round that does not end has failed."""


class Load:
    """Requests as an admin, with as little around them as a client in Python can have."""

    def __init__(self, cluster: Cluster) -> None:
        tls = ssl.create_default_context(cafile=str(cluster.ca_file))
        self._server = cluster.server
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=tls),
            headers={"Authorization": f"Bearer {cluster.token}", "Accept": "application/json"},
            read_bufsize=2**20,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def send(self, method: str, path: str, body: Json | None = None) -> Json:
        """One request; its answer. Raises RuntimeError if that is no success."""
        data = None if body is None else orjson.dumps(body)
        headers = {"Content-Type": "application/json"}
        url = self._server + path
        async with self._session.request(method, url, data=data, headers=headers) as answer:
            text = await answer.read()
            if answer.status >= 300:
                raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]!r}")
            found: Json = orjson.loads(text)
            return found

    async def create(self, path: str, objects: Iterable[Json]) -> list[Json]:
        """Create all of these."""
        return await self.each(objects, lambda obj: self.send("POST", path, obj))

    async def each(self, items: Iterable[T], work: Callable[[T], Awaitable[Json]]) -> list[Json]:
        """Do it for each, so many at a time."""
        left, done = iter(list(items)), []

        async def lane() -> None:
            for item in left:
                done.append(await work(item))

        async with asyncio.TaskGroup() as group:
            for _ in range(LANES):
                group.create_task(lane())
        return done

    @asynccontextmanager
    async def seeing(
        self, path: str, wanted: Callable[[Json], bool], count: int
    ) -> AsyncIterator[asyncio.Task[float]]:
        """Watches a collection; awaiting what this gives waits for the moment (`monotonic`) at
        which so many of its objects were as wanted."""
        opened = asyncio.Event()
        task = asyncio.create_task(self._see(path, wanted, count, opened))
        try:
            async with asyncio.timeout(PATIENCE):
                await opened.wait()
                yield task
        finally:
            task.cancel()

    async def _see(
        self, path: str, wanted: Callable[[Json], bool], count: int, opened: asyncio.Event
    ) -> float:
        seen: set[str] = set()
        while True:  # the server may end a watch at any time, and refuse a new one
            async with aclosing(self._events(path, opened)) as objects:
                async for obj in objects:
                    if wanted(obj):
                        seen.add(obj["metadata"]["name"])
                    if len(seen) >= count:
                        return time.monotonic()
            await asyncio.sleep(0.2)

    async def _events(self, path: str, opened: asyncio.Event) -> AsyncGenerator[Json, None]:
        """The objects of one watch, those that are there first; until it ends or fails."""
        joint = "&" if "?" in path else "?"
        async with self._session.get(f"{self._server}{path}{joint}watch=true") as answer:
            if answer.status != 200:
                return
            opened.set()
            rest = b""
            async for chunk in answer.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    event = orjson.loads(line)
                    if event["type"] == "ERROR":
                        return
                    yield event["object"]


def in_phase(*phases: str) -> Callable[[Json], bool]:
    """Whether an object is in one of these phases."""
    return lambda obj: (obj.get("status") or {}).get("phase") in phases
