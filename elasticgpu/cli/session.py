"""One question to a cluster: connect, ask, say in words what went wrong, leave with a code."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeVar
from urllib.parse import quote

import click

from elasticgpu.api.meta import Key, KubeObject
from elasticgpu.cluster import access
from elasticgpu.cluster.client import Client
from elasticgpu.cluster.clock import timestamp
from elasticgpu.errors import (
    ApiError,
    ElasticGPUError,
    Forbidden,
    NotFound,
    Refused,
    Unavailable,
)

from .options import Target

Json = dict[str, Any]
T = TypeVar("T", bound=KubeObject)
NO_SUCH_PATH = "HTTP404"
"""Reason of the server's answer where not the object but its kind is unknown."""


class Hasty(Client):
    """A client for somebody who waits: what does not answer is asked once more, not five times."""

    async def raw(self, *args: Any, attempts: int = 2, **more: Any) -> Json:
        """One request; see `Transport.raw`."""
        return await super().raw(*args, attempts=attempts, **more)


@dataclass(frozen=True, slots=True)
class Session:
    """A connection, the namespace asked about (empty: all of them), and the time it began."""

    client: Client
    server: str
    namespace: str
    now: str

    async def one(self, kind: type[T], key: Key) -> T:
        """The object. Raises Refused with near names if it is not there."""
        async with self._naming(kind, key):
            return await self.client.get(kind, key)

    async def one_raw(self, kind: type[KubeObject], key: Key) -> Json:
        """The object as the server has it, fields that no model knows included."""
        namespace, name = (quote(part, safe=":") for part in key)
        async with self._naming(kind, key):
            return await self.client.raw("GET", kind.resource.path(namespace, name))

    async def many(
        self, kind: type[T], namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> list[T]:
        """All objects of the kind, by namespace and name; read page by page."""
        pages = self.client.list(
            kind, namespace=namespace, label_selector=labels, field_selector=fields
        )
        found = [obj async for obj in pages]
        return sorted(found, key=lambda obj: obj.key)

    async def many_raw(self, kind: type[KubeObject], namespace: str = "") -> list[Json]:
        """The same as the server has them."""
        pages = self.client.pages(kind, namespace=namespace)
        items = [item async for body in pages for item in body["items"]]
        return sorted(items, key=lambda item: (_meta(item, "namespace"), _meta(item, "name")))

    @asynccontextmanager
    async def _naming(self, kind: type[KubeObject], key: Key) -> AsyncIterator[None]:
        try:
            yield
        except NotFound as error:
            if error.reason == NO_SUCH_PATH:
                raise
            raise Refused(await self.missing(kind, key)) from None

    async def missing(self, kind: type[KubeObject], key: Key) -> str:
        """That there is no such object, and what there is instead."""
        namespace, name = key
        said = f"there is no {kind.__name__} {name}"
        said += f" in namespace {namespace}" if namespace else ""
        items = await self._neighbours(kind, namespace)
        here = [_meta(i, "name") for i in items if _meta(i, "namespace") == namespace]
        if near := get_close_matches(name, here, n=3):
            return f"{said}; is it {' or '.join(near)}?"
        if elsewhere := [_meta(i, "namespace") for i in items if _meta(i, "name") == name]:
            return f"{said}; there is one in namespace {' and in '.join(elsewhere)}"
        more = f" and {len(here) - 5} more" if len(here) > 5 else ""
        return f"{said}; there are {', '.join(here[:5])}{more}" if here else said

    async def _neighbours(self, kind: type[KubeObject], namespace: str) -> list[Json]:
        for where in ("", namespace):
            with suppress(ApiError):  # who may not list everything may list his own
                return await self.many_raw(kind, where)
        return []


def _meta(item: Json, field: str) -> str:
    return str(item["metadata"].get(field, ""))


def run(target: Target, work: Callable[[Session], Awaitable[bool]]) -> None:
    """Put one question; exit code 1 if `work` answers False or fails, with a sentence on stderr."""
    logging.basicConfig(level=logging.WARNING, format="elasticgpu: %(message)s", stream=sys.stderr)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # its races when Ctrl-C comes
    done = asyncio.run(_answered(target, work))
    click.get_current_context().exit(0 if done else 1)


async def _answered(target: Target, work: Callable[[Session], Awaitable[bool]]) -> bool:
    server = "the API server"
    try:
        found = await access.find(target.kubeconfig, target.context)
        server = found.server
        async with Hasty(found, timeout=target.timeout) as client:
            own = target.namespace or found.namespace or "default"
            here = "" if target.everywhere else own
            return await work(Session(client, server, here, timestamp()))
    except ElasticGPUError as error:
        raise click.ClickException(sentence(error, server)) from error


def sentence(error: ElasticGPUError, server: str) -> str:
    """What is wrong, where, and what to do."""
    match error:
        case Unavailable(status=0):
            return (
                f"{server} does not answer ({error.message}): is the cluster up, and is this the "
                "right --context?"
            )
        case NotFound(reason="HTTP404"):
            return (
                f"{server} does not know elasticgpu's kinds: install the chart, or the kinds alone "
                "with `elasticgpu crds | kubectl apply --server-side -f -`"
            )
        case Forbidden(status=401):
            return f"{server} does not accept these credentials: log in again, or pick a --context"
        case Forbidden():
            return (
                f"{error.message}. README, “Who may read and write”, names the role that is needed"
            )
        case _:
            return str(error)
