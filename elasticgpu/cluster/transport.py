"""The one place where HTTP happens: every request in a claim's life leaves and returns here.

Our own, over aiohttp: a third of the cost of the generated clients, whose watch and whose raw
mode lose errors. Foreign errors end at this door; callers see only `elasticgpu.errors`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any, Self

import aiohttp
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from yarl import URL

from elasticgpu.errors import ApiError, Throttled, Unavailable

from .access import Access
from .backoff import jittered
from .status import Json, raise_for

log = logging.getLogger(__name__)

TIMEOUT = 15.0
"""Seconds one request may take, answer included."""
ATTEMPTS = 5
PATIENCE = 10.0
"""A Retry-After above this many seconds is the caller's to wait, not ours."""

IDLE = 60.0
"""Seconds an idle connection is kept: a burst finds those of the last one, without handshakes. The
server closes them after 90."""

Params = Mapping[str, str]
_Request = tuple[str, str, Params | None, Any, str]
FOREIGN = (aiohttp.ClientError, TimeoutError, OSError)
"""What aiohttp and the system raise for an answer that does not come."""

loads: Callable[[bytes], Any]
dumps: Callable[[Any], bytes]
try:
    import orjson
except ImportError:  # the extra `fast` is not installed
    loads = json.loads

    def dumps(body: Any) -> bytes:
        """Compact JSON."""
        return json.dumps(body, separators=(",", ":")).encode()
else:
    loads, dumps = orjson.loads, orjson.dumps


class Transport:
    """Connections to one API server. Made inside a running event loop; close it when done."""

    def __init__(
        self, access: Access, *, user_agent: str = "elasticgpu", timeout: float = TIMEOUT
    ) -> None:
        self._access = access
        self._limit = aiohttp.ClientTimeout(total=timeout)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0,
                ssl=access.tls or True,
                socket_factory=_keepalive_socket,
                keepalive_timeout=IDLE,
            ),
            headers={"Accept": "application/json", "User-Agent": user_agent},
            read_bufsize=2**21,  # a page of a list in one or two reads
        )
        self._refresh = (
            asyncio.create_task(access.keep_fresh(), name="credentials") if access.reload else None
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._access.server})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. Requests under way fail with Unavailable."""
        if self._refresh:
            self._refresh.cancel()
        await self._session.close()

    async def raw(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: Any = None,
        content_type: str = "application/json",
        attempts: int = ATTEMPTS,
    ) -> Json:
        """One request, tried again as far as that is safe; the answer's JSON.

        A GET is repeated on Throttled and Unavailable; a write on Throttled only, which the server
        says *before* it executes: after Unavailable a write may have been done, so the caller reads
        and decides. `attempts=1` repeats nothing. Raises ApiError of the fitting class.

        (aiohttp itself repeats a PUT or DELETE once when the connection it had kept breaks. Ours
        are compare-and-swaps, so a second execution is a Conflict, or NotFound of a delete.)
        """
        request = (method, path, params, body, content_type)
        try:
            return await self._once(*request)
        except (Throttled, Unavailable) as error:
            if attempts == 1 or not _repeatable(method, error):
                raise
            return await self._again(error, attempts, request)

    async def _again(self, error: ApiError, attempts: int, request: _Request) -> Json:
        """The attempts after the first. tenacity comes in only here: asking it costs nearly as
        much as a request."""
        failed: ApiError | None = error

        async def attempt() -> Json:
            nonlocal failed
            if failed is not None:
                first, failed = failed, None
                raise first
            return await self._once(*request)

        tries = AsyncRetrying(
            retry=retry_if_exception(lambda error: _repeatable(request[0], error)),
            wait=_wait,
            stop=stop_after_attempt(attempts),
            reraise=True,
        )
        return await tries(attempt)

    async def _once(
        self, method: str, path: str, params: Params | None, body: Any, content_type: str
    ) -> Json:
        data = None if body is None else dumps(body)
        headers = {} if data is None else {"Content-Type": content_type}
        try:
            response = await self._open(method, path, params, data, headers, self._limit)
            async with response:
                return _object(await response.read())
        except FOREIGN as error:
            raise _unavailable(method, path, error) from error

    async def stream(
        self, path: str, *, params: Params | None = None, seconds: int = 300
    ) -> AsyncGenerator[tuple[str, Json], None]:
        """(type, object) of each event of one watch request, bookmarks too, until its end.

        The server is asked to end it after `seconds`. An ERROR event is raised as what it means:
        Expired for a resourceVersion that is too old. A connection that breaks raises Unavailable
        with status 0. Close the iterator when you leave it early (`contextlib.aclosing`).
        """
        where = {**(params or {}), "watch": "true", "timeoutSeconds": str(seconds)}
        # Reading may last longer than the server's own limit, so only a dead peer meets ours.
        patience = aiohttp.ClientTimeout(
            total=None, connect=self._limit.total, sock_read=seconds + (self._limit.total or 0)
        )
        try:
            response = await self._open("GET", path, where, None, {}, patience)
            async with response:
                async for line in _lines(response.content):
                    event = _object(line)
                    if event.get("type") == "ERROR":
                        status = event.get("object") or {}
                        raise_for(status.get("code") or 500, status)
                    yield event.get("type", ""), event.get("object") or {}
        except FOREIGN as error:
            raise _unavailable("GET", path, error) from error

    async def _open(
        self,
        method: str,
        path: str,
        params: Params | None,
        data: bytes | None,
        headers: Mapping[str, str],
        timeout: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        """The response to one request, its body not yet read, if it is success."""
        url = URL(self._access.server + path, encoded=True)
        if params:
            url = url.with_query(params)
        response = await self._ask(method, url, data, headers, timeout)
        log.debug("%s %s %d", method, path, response.status)
        if response.ok:
            return response
        async with response:
            raise_for(
                response.status,
                _status(await response.read()),
                retry_after=_seconds(response.headers.get("Retry-After")),
            )

    async def _ask(
        self,
        method: str,
        url: URL,
        data: bytes | None,
        headers: Mapping[str, str],
        timeout: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        while True:
            used = self._access.authorization
            response = await self._session.request(
                method,
                url,
                data=data,
                headers={**headers, "Authorization": used} if used else headers,
                timeout=timeout,
                proxy=self._access.proxy,
                server_hostname=self._access.server_name,
                allow_redirects=False,  # the API server has none; credentials follow nobody
            )
            # 401 comes before anything is done, so even a write may be repeated.
            if response.status != 401 or not await self._access.renew(used):
                return response
            response.release()


def _repeatable(method: str, error: BaseException) -> bool:
    kinds = (Throttled, Unavailable) if method == "GET" else (Throttled,)
    return isinstance(error, kinds) and (error.retry_after or 0.0) <= PATIENCE


def _unavailable(method: str, path: str, error: BaseException) -> Unavailable:
    text = f"{method} {path}: {type(error).__name__} {error}".rstrip()
    return Unavailable(0, "NoAnswer", text)


def _object(data: bytes) -> Json:
    try:
        body = loads(data)
    except ValueError as error:
        raise Unavailable(0, "NotJSON", f"the answer is no JSON: {data[:80]!r}") from error
    if not isinstance(body, dict):
        raise Unavailable(0, "NotJSON", f"the answer is no JSON object: {data[:80]!r}")
    return body


def _status(data: bytes) -> Json:
    """The Status object, or one made of what a proxy in between wrote instead."""
    try:
        return _object(data)
    except Unavailable:
        return {"message": data[:200].decode(errors="replace")}


def _seconds(header: str | None) -> float | None:
    try:
        return max(0.0, float(header)) if header else None
    except ValueError:  # a date: the API server writes none
        return None


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, ApiError) else None
    return (asked or 0.0) + jittered(state.attempt_number, base=0.1, cap=5.0)


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    # aiohttp's own line reader refuses lines above its buffer; an event may be several MiB.
    # A rest without its newline is a cut event: the next watch brings it again.
    rest = b""
    async for chunk in content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line:
                yield line


def _keepalive_socket(info: aiohttp.AddrInfoType) -> socket.socket:
    """A socket that notices within 35 s that its peer has vanished without a word."""
    family, kind, protocol, _, _ = info
    sock = socket.socket(family, kind, protocol)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return sock
