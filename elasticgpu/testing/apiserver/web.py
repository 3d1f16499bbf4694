"""The server over HTTP, for kubectl and every other client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from .refusal import Refusal
from .requests import Answer, Request, Stream
from .server import ApiServer

_LARGEST = 3 << 20
"""Bytes of a body, as the API server has it."""
_TOO_LARGE = Refusal(413, "RequestEntityTooLarge", f"Request entity too large: limit is {_LARGEST}")


@asynccontextmanager
async def serving(
    server: ApiServer, *, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[str]:
    """Serve on that address while inside; the URL. Port 0: any that is free."""
    handler = web.Server(_Handler(server), request_factory=_request)
    site_runner = web.ServerRunner(handler, shutdown_timeout=1.0)
    await site_runner.setup()
    site = web.TCPSite(site_runner, host, port)
    await site.start()
    try:
        yield f"http://{host}:{site_runner.addresses[0][1]}"
    finally:
        server.disconnect()
        await site_runner.cleanup()


def _request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=_LARGEST)


class _Handler:
    def __init__(self, server: ApiServer) -> None:
        self._server = server

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            body = await request.read() if request.body_exists else b""
        except web.HTTPRequestEntityTooLarge:
            return _whole(Answer.refusing(_TOO_LARGE))
        asked = Request(
            request.method,
            request.path,
            dict(request.query),
            body,
            request.headers.get("Content-Type", "application/json"),
            request.headers.get("Accept", ""),
            request.headers.get("Authorization", ""),
            request.headers.get("User-Agent", ""),
        )
        try:
            answer = await self._server.serve(asked)
            if isinstance(answer, Stream):
                return await _streamed(request, answer)
        except ConnectionResetError:  # a fault, or the client has gone: there is no answer
            if request.transport:
                request.transport.abort()
            return web.Response()
        return _whole(answer)


def _whole(answer: Answer) -> web.Response:
    headers = [("Content-Type", answer.content_type)]
    for text in answer.warnings:
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        headers.append(("Warning", f'299 - "{quoted}"'))
    return web.Response(status=answer.status, body=answer.body, headers=headers)


async def _streamed(request: web.BaseRequest, stream: Stream) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    async for chunk in stream.lines:
        await response.write(chunk)
    await response.write_eof()
    return response
