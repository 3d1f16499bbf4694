"""A scripted HTTP server: it answers what the test says, in that order, and keeps what was asked.

It knows nothing of Kubernetes. `on(method, path, *answers)` queues answers; WATCH is a GET with
`watch=true`. A request for which nothing is queued is answered 501 and fails the test.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web
from aiohttp.test_utils import TestServer

Json = dict[str, Any]


@dataclass
class Answer:
    """One complete response; `body` is JSON, or bytes as they are."""

    body: Any = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    async def play(self, request: web.Request) -> web.StreamResponse:
        data = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        return web.Response(body=data, status=self.status, headers=self.headers)


class Silence:
    """No answer, ever."""

    async def play(self, request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError


class Hangup:
    """The connection is closed without an answer: the request may have been done."""

    async def play(self, request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.close()
        return web.Response()


class Stream:
    """A watch: events are sent as the test says, before and while it is open."""

    def __init__(self, *events: Json | bytes) -> None:
        self._queue: asyncio.Queue[Json | bytes | str] = asyncio.Queue()
        self.opened = asyncio.Event()
        self.send(*events)

    def send(self, *events: Json | bytes) -> Self:
        """Send these events; bytes go out as they are, without a newline."""
        for event in events:
            self._queue.put_nowait(event)
        return self

    def end(self) -> Self:
        """End the response properly."""
        self._queue.put_nowait("end")
        return self

    def break_off(self) -> Self:
        """Cut the connection in the middle."""
        self._queue.put_nowait("break")
        return self

    async def play(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        self.opened.set()
        while True:
            match await self._queue.get():
                case "end":
                    return response
                case "break":
                    assert request.transport is not None
                    request.transport.abort()
                    return response
                case bytes() as data:
                    await response.write(data)
                case event:
                    await response.write(json.dumps(event).encode() + b"\n")


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


class FakeServer:
    """The script, and the record of what was asked."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.surprises: list[str] = []
        self._script: dict[tuple[str, str], deque[Any]] = defaultdict(deque)
        self._arrived = asyncio.Condition()
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._server = TestServer(app, host="127.0.0.1")

    async def start(self) -> None:
        await self._server.start_server(shutdown_timeout=0)

    async def stop(self) -> None:
        await self._server.close()

    @property
    def url(self) -> str:
        return str(self._server.make_url("")).rstrip("/")

    def on(self, method: str, path: str, *answers: Answer | Silence | Hangup | Stream) -> None:
        """Queue answers to this request."""
        self._script[method, path].extend(answers)

    def asked_for(self, method: str, path: str) -> list[Asked]:
        """The requests of this kind so far."""
        return [a for a in self.asked if (a.method, a.path) == (method, path)]

    async def until_asked(self, method: str, path: str, times: int = 1) -> Asked:
        """Wait until this was asked so often; the last of them."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.asked_for(method, path)) >= times)
        return self.asked_for(method, path)[times - 1]

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        method = "WATCH" if request.query.get("watch") == "true" else request.method
        data = await request.read()
        body = json.loads(data) if data else None
        async with self._arrived:
            self.asked.append(
                Asked(method, request.path, dict(request.query), dict(request.headers), body)
            )
            self._arrived.notify_all()
        script = self._script[method, request.path]
        if not script:
            self.surprises.append(f"{method} {request.path_qs}")
            return web.Response(status=501, text="nothing is scripted for this")
        answer: web.StreamResponse = await script.popleft().play(request)
        return answer


def status(code: int, reason: str = "", message: str = "said no", **details: Any) -> Answer:
    """A `Status` object as the API server answers it."""
    body = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return Answer({**body, "details": details} if details else body, code)


def error_event(code: int, reason: str, message: str = "said no") -> Json:
    """An in-stream error."""
    return {"type": "ERROR", "object": status(code, reason, message).body}
