"""One way to ask either server: plain HTTP, every answer as it came."""

from __future__ import annotations

import asyncio
import io
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import aiohttp

Object = dict[str, Any]

PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
PATIENCE = 30.0


class Reply(NamedTuple):
    """An answer: its status, its JSON, its warnings."""

    code: int
    body: Object
    warnings: list[str]

    @property
    def reason(self) -> str:
        """The reason of a `Status`."""
        return str(self.body.get("reason", ""))

    @property
    def message(self) -> str:
        """What a `Status` says to people."""
        return str(self.body.get("message", ""))

    @property
    def meta(self) -> Object:
        """The object's metadata."""
        return dict(self.body["metadata"])

    @property
    def version(self) -> str:
        """The object's, or the list's, resourceVersion."""
        return str(self.body["metadata"]["resourceVersion"])

    @property
    def names(self) -> list[str]:
        """The names of a list's items."""
        return [item["metadata"]["name"] for item in self.body["items"]]

    def made(self) -> Object:
        """The object, if it was made or written."""
        assert self.code in (200, 201), self.body
        return self.body


class Api:
    """A server, and who asks: an admin, in a namespace of the test's own."""

    def __init__(self, url: str, session: aiohttp.ClientSession, namespace: str) -> None:
        self.url = url
        self.namespace = namespace
        self._session = session

    def path(self, plural: str, name: str = "", sub: str = "") -> str:
        """Of a collection or object: `configmaps` in the test's namespace, or any full path."""
        root = plural if plural.startswith("/") else _root(plural, self.namespace)
        return "/".join(part for part in (root, name, sub) if part)

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content: str = "application/json",
        accept: str = "application/json",
        **query: str,
    ) -> Reply:
        """One request."""
        raw = body is None or isinstance(body, (bytes, io.BytesIO))
        data = body if raw else json.dumps(body)
        headers = {"Accept": accept} | ({} if data is None else {"Content-Type": content})
        async with self._session.request(
            method, self.url + path, data=data, headers=headers, params=query
        ) as response:
            text = await response.text()
            found = json.loads(text) if text.startswith("{") else {"message": text}
            return Reply(response.status, found, response.headers.getall("Warning", []))

    async def get(self, path: str, **query: str) -> Reply:
        """GET."""
        return await self.ask("GET", path, **query)

    async def create(self, path: str, body: Object, **query: str) -> Reply:
        """POST."""
        return await self.ask("POST", path, body, **query)

    async def replace(self, path: str, body: Object, **query: str) -> Reply:
        """PUT."""
        return await self.ask("PUT", path, body, **query)

    async def patch(self, path: str, body: Any, kind: str = "merge", **query: str) -> Reply:
        """PATCH."""
        return await self.ask("PATCH", path, body, content=PATCHES[kind], **query)

    async def delete(self, path: str, body: Object | None = None, **query: str) -> Reply:
        """DELETE."""
        return await self.ask("DELETE", path, body, **query)

    async def gone(self, path: str) -> None:
        """Wait until nothing is there."""
        async with asyncio.timeout(PATIENCE):
            while (await self.get(path)).code != 404:
                await asyncio.sleep(0.01)

    async def comes(self, path: str) -> None:
        """Wait until something is there."""
        async with asyncio.timeout(PATIENCE):
            while (await self.get(path)).code != 200:
                await asyncio.sleep(0.01)

    @asynccontextmanager
    async def watch(
        self, path: str, *, accept: str = "application/json", **query: str
    ) -> AsyncIterator[Events]:
        """A watch, which has begun when this is entered."""
        query = {"watch": "true", "timeoutSeconds": "60"} | query
        headers = {"Accept": accept}
        async with self._session.get(self.url + path, params=query, headers=headers) as response:
            try:
                yield Events(response)
            finally:  # at once: a goodbye over TLS would outlast the test
                if response.connection and response.connection.transport:
                    response.connection.transport.abort()


class Events:
    """The events of a watch, one after the other."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.code = response.status
        self._content = response.content

    async def next(self) -> tuple[str, Object]:
        """The next one: type and object. Raises EOFError at the end."""
        async with asyncio.timeout(PATIENCE):
            line = await self._content.readline()
        if not line:
            raise EOFError
        event = json.loads(line)
        return event["type"], event["object"]

    async def some(self, count: int) -> list[tuple[str, str]]:
        """Type and name of the next ones."""
        found = [await self.next() for _ in range(count)]
        return [(kind, body["metadata"]["name"]) for kind, body in found]

    async def rest(self) -> list[tuple[str, Object]]:
        """All until the end."""
        found = []
        try:
            while True:
                found.append(await self.next())
        except EOFError:
            return found


@asynccontextmanager
async def session(
    token: str = "", tls: ssl.SSLContext | None = None
) -> AsyncIterator[aiohttp.ClientSession]:
    """Connections for one test."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    connector = aiohttp.TCPConnector(ssl=tls or True, limit=0)
    async with aiohttp.ClientSession(
        headers=headers, connector=connector, read_bufsize=2**20
    ) as found:
        yield found


GROUPS = {
    "configmaps": "api/v1",
    "secrets": "api/v1",
    "pods": "api/v1",
    "serviceaccounts": "api/v1",
    "events": "api/v1",
    "leases": "apis/coordination.k8s.io/v1",
    "resourceclaims": "apis/resource.k8s.io/v1",
    "resourceclaimtemplates": "apis/resource.k8s.io/v1",
    "widgets": "apis/conformance.example.com/v1",
    "elasticgpuclaims": "apis/elasticgpu.io/v1alpha1",
    "elasticgpuclaimtemplates": "apis/elasticgpu.io/v1alpha1",
}
CLUSTER = {
    "namespaces": "api/v1",
    "nodes": "api/v1",
    "gadgets": "apis/conformance.example.com/v1",
    "gpus": "apis/elasticgpu.io/v1alpha1",
    "elasticgpus": "apis/elasticgpu.io/v1alpha1",
    "elasticgpuclasses": "apis/elasticgpu.io/v1alpha1",
    "customresourcedefinitions": "apis/apiextensions.k8s.io/v1",
    "deviceclasses": "apis/resource.k8s.io/v1",
    "priorityclasses": "apis/scheduling.k8s.io/v1",
}


def _root(plural: str, namespace: str) -> str:
    if plural in CLUSTER:
        return f"/{CLUSTER[plural]}/{plural}"
    return f"/{GROUPS[plural]}/namespaces/{namespace}/{plural}"
