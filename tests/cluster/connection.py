"""Kept-alive HTTPS connections to the API server, shared by the threads of a test run."""

import http.client
import json
import queue
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

_DROPPED = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError)


class ApiError(Exception):
    """The API server's answer when it is not a success."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


class Connections:
    """A pool: a request takes an idle connection or opens one, so never two threads share one.

    A request on a kept connection that the server had dropped is sent once more. After a crash of
    the server a POST may therefore find its object already created.
    """

    def __init__(self, server: str, ca_file: Path, headers: Mapping[str, str]) -> None:
        self._server = urlsplit(server)
        self._headers = dict(headers)
        self._tls = ssl.create_default_context(cafile=str(ca_file))
        self._idle: queue.LifoQueue[http.client.HTTPSConnection] = queue.LifoQueue()

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        timeout: float = 30,
    ) -> bytes:
        """The answer's body; `ApiError` when the status is not a success."""
        while True:
            connection, kept = self._take(timeout)
            try:
                connection.request(method, path, body, self._headers | dict(headers or {}))
                answer = connection.getresponse()
                data = answer.read()
            except BaseException as error:
                connection.close()
                if kept and isinstance(error, _DROPPED):
                    self.close()  # the other idle ones were dropped with it
                    continue
                raise
            self._idle.put(connection)
            if answer.status >= 400:
                raise _error(answer.status, data)
            return data

    def lines(self, path: str, *, timeout: float) -> Iterator[bytes]:
        """The lines of an answer that goes on, on a connection of its own."""
        connection = self._open(timeout)
        try:
            connection.request("GET", path, headers=self._headers)
            with connection.getresponse() as answer:
                if answer.status >= 400:
                    raise _error(answer.status, answer.read())
                while line := answer.readline():
                    yield line
        finally:
            connection.close()

    def close(self) -> None:
        """Close the idle connections."""
        while True:
            try:
                self._idle.get_nowait().close()
            except queue.Empty:
                return

    def _take(self, timeout: float) -> tuple[http.client.HTTPSConnection, bool]:
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            return self._open(timeout), False
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        return connection, connection.sock is not None

    def _open(self, timeout: float) -> http.client.HTTPSConnection:
        host, port = self._server.hostname or "", self._server.port
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=self._tls)


def _error(status: int, body: bytes) -> ApiError:
    try:
        answer = json.loads(body)
        return ApiError(status, answer.get("reason", ""), answer.get("message", ""))
    except (ValueError, AttributeError):
        return ApiError(status, "", body.decode(errors="replace")[:500])
