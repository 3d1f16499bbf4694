"""A process that can be killed at any request it makes and at any await, and its way to the API
server, which can be cut, and whose watches can be slow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import aclosing
from typing import Any

from elasticgpu.errors import Unavailable
from elasticgpu.testing.apiserver import ApiServer, DirectClient
from elasticgpu.testing.apiserver.users import User

from .loop import process

Json = dict[str, Any]
ROUNDS = 20
"""So often a killed process's tasks are cancelled; one that still waits then, waits for ever."""
Main = Callable[[DirectClient], Coroutine[Any, Any, None]]


class Line(DirectClient):
    """The client of one life of a process; nothing it asks for is done after that life."""

    def __init__(self, owner: Process, server: ApiServer, authorization: str) -> None:
        super().__init__(server, authorization=authorization)
        self._owner = owner

    async def stream(
        self, path: str, *, params: Mapping[str, str] | None = None, seconds: int = 300
    ) -> AsyncGenerator[tuple[str, Json], None]:
        """As any client's; but what comes may come late."""
        events = super().stream(path, params=params, seconds=seconds)
        async with aclosing(events):
            async for event in events:
                await self._owner.late(path)
                yield event

    async def _serve(self, method: str, path: str, *rest: Any) -> Any:
        owner = self._owner
        if owner.line is not self:
            await asyncio.Event().wait()
        if owner.cut:
            raise Unavailable(0, "NoAnswer", f"{method} {path}: the line is cut")
        if owner.fuse is not None and method != "GET":
            owner.fuse -= 1
        last = owner.fuse is not None and owner.fuse <= 0
        if last and not owner.after:
            await owner.die()
        answer = await super()._serve(method, path, *rest)
        if last:
            await owner.die()
        return answer


class Process:
    """`main` runs from `start` to `kill`; every life has a client of its own."""

    def __init__(self, name: str, server: ApiServer, user: User, main: Main) -> None:
        self.name, self.server, self.main = name, server, main
        self.token = server.users.issue(user)
        self.line: Line | None = None
        self.cut = False
        self.off = False
        """Whether there is nothing for it to run on."""
        self.fuse: int | None = None
        """Dies at this write of its own, counted from here."""
        self.after = False
        """Whether the write at which it dies is done."""
        self.again: float | None = None
        """Seconds until it is started after it died by its fuse."""
        self.slow: dict[str, float] = {}
        """Until when watches of these kinds are held up."""
        self.ended: list[BaseException] = []
        """What `main` raised: nothing, if all is well."""
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.line is not None

    def start(self) -> None:
        """Begin a life, unless it lives or cannot."""
        if self.line is not None or self.off:
            return
        self._tasks = set()
        self.line = Line(self, self.server, f"Bearer {self.token}")
        self.fuse = None
        mark = process.set(self._tasks)
        try:
            asyncio.get_running_loop().create_task(self._live(self.line))
        finally:
            process.reset(mark)

    async def _live(self, line: Line) -> None:
        try:
            await self.main(line)
        except BaseExceptionGroup as error:
            if self.line is line:
                self.ended.append(error)
        except Exception as error:
            if self.line is line:
                self.ended.append(error)

    async def die(self) -> None:
        """Be killed here, and start again if that is wanted."""
        loop = asyncio.get_running_loop()
        if self.again is not None:
            loop.call_later(self.again, self.start)
        self.kill()
        await asyncio.Event().wait()

    def kill(self) -> None:
        """End this life at once: no request is done any more, no task goes on."""
        self.line, self.fuse = None, None
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            asyncio.get_running_loop().call_soon(self._bury, self._tasks, ROUNDS)

    def _bury(self, tasks: set[asyncio.Task[Any]], rounds: int) -> None:
        """What still waits while it is cancelled, is cancelled again."""
        for task in list(tasks):
            task.cancel()
        if tasks and rounds:
            asyncio.get_running_loop().call_soon(self._bury, tasks, rounds - 1)

    async def late(self, path: str) -> None:
        """Wait as long as watches of this path are held up."""
        loop = asyncio.get_running_loop()
        for part, until in list(self.slow.items()):
            if path.endswith(part) and until > loop.time():
                await asyncio.sleep(until - loop.time())

    async def call(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Somebody else calls this process: the work is its own, and dies with it. Raises
        Unavailable if it does."""
        if self.line is None:
            work.close()
            raise Unavailable(0, "NoAnswer", f"{self.name} does not run")
        mark = process.set(self._tasks)
        try:
            task = asyncio.get_running_loop().create_task(work)
        finally:
            process.reset(mark)
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
        if task.cancelled():
            raise Unavailable(0, "NoAnswer", f"{self.name} died meanwhile")
        return task.result()
