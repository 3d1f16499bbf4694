"""The library's own client, straight into a server of this process: no sockets, no waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from elasticgpu.cluster.client import Client
from elasticgpu.cluster.status import raise_for
from elasticgpu.cluster.transport import dumps, loads
from elasticgpu.errors import Unavailable

from .requests import Answer, Request
from .server import ApiServer

Json = dict[str, Any]


class DirectClient(Client):
    """A client as any other: its requests are answered by `server`, one turn of the loop later."""

    def __init__(self, server: ApiServer, *, authorization: str = "") -> None:
        self._server = server
        self._authorization = authorization

    def __repr__(self) -> str:
        return "DirectClient"

    async def close(self) -> None:
        """Nothing to close."""

    async def _once(
        self, method: str, path: str, params: Mapping[str, str] | None, body: Any, content_type: str
    ) -> Json:
        answer = await self._serve(method, path, params, body, content_type)
        assert isinstance(answer, Answer)  # only `stream` asks for streams
        found: Json = loads(answer.body)
        if answer.status >= 400:
            raise_for(answer.status, found)
        return found

    async def stream(
        self, path: str, *, params: Mapping[str, str] | None = None, seconds: int = 300
    ) -> AsyncGenerator[tuple[str, Json], None]:
        """(type, object) of each event of one watch, as `Transport.stream` has them."""
        where = {**(params or {}), "watch": "true", "timeoutSeconds": str(seconds)}
        answer = await self._serve("GET", path, where, None, "")
        if isinstance(answer, Answer):
            raise_for(answer.status, loads(answer.body))
        try:
            async with aclosing(answer.lines) as lines:
                async for chunk in lines:
                    for line in chunk.splitlines():
                        event = loads(line)
                        if event["type"] == "ERROR":
                            raise_for(event["object"].get("code", 500), event["object"])
                        yield event["type"], event["object"]
        except ConnectionError as error:
            raise Unavailable(0, "NoAnswer", f"GET {path}: {error}") from error

    async def _serve(
        self, method: str, path: str, params: Mapping[str, str] | None, body: Any, content: str
    ) -> Any:
        await asyncio.sleep(0)
        request = Request(
            method,
            path,
            dict(params or {}),
            b"" if body is None else dumps(body),
            content,
            authorization=self._authorization,
        )
        try:
            return await self._server.serve(request)
        except ConnectionError as error:
            raise Unavailable(0, "NoAnswer", f"{method} {path}: {error}") from error
