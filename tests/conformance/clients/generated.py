"""The two clients that are generated from Kubernetes' own description of its API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import kubernetes
import kubernetes_asyncio

from tests.conformance.api import PATCHES, PATIENCE, Object

from .client import Changes, Client, Errors, Kind


class Asyncio(Client):
    """kubernetes-asyncio: typed for ConfigMaps, plain for custom objects."""

    refusals: ClassVar[Errors] = (kubernetes_asyncio.client.ApiException,)
    library: ClassVar[Any] = kubernetes_asyncio

    @classmethod
    @asynccontextmanager
    async def connected(cls, config: Path, kind: Kind, namespace: str) -> AsyncIterator[Client]:
        await kubernetes_asyncio.config.load_kube_config(str(config))
        async with kubernetes_asyncio.client.ApiClient() as connections:
            yield cls(connections, kind, namespace)

    async def create(self, body: Object) -> Object:
        made: Object = await self._ask("create", body=body)
        return made

    async def get(self, name: str) -> Object:
        found: Object = await self._ask("get" if self.kind.group else "read", name=name)
        return found

    async def labelled(self, label: str, value: str) -> list[str]:
        found = await self._ask("list", label_selector=f"{label}={value}")
        return [item["metadata"]["name"] for item in found["items"]]

    async def patch(self, name: str, change: Object) -> Object:
        merge = PATCHES["merge"]
        done: Object = await self._ask("patch", name=name, body=change, _content_type=merge)
        return done

    async def delete(self, name: str) -> None:
        await self._ask("delete", name=name)

    async def changes(self, since: str) -> Changes:
        async with kubernetes_asyncio.watch.Watch() as watch:
            async for event in watch.stream(self._method("list"), **self._window(since)):
                yield event["type"], event["raw_object"]

    def reason(self, refusal: Any) -> str:
        return str(json.loads(refusal.body)["reason"])

    async def _ask(self, verb: str, **words: Any) -> Any:
        answer = await self._method(verb)(**self._place(), **words)
        return self.of.sanitize_for_serialization(answer)

    def _method(self, verb: str) -> Any:
        client = self.library.client
        api = client.CustomObjectsApi if self.kind.group else client.CoreV1Api
        noun = "custom_object" if self.kind.group else "config_map"
        return getattr(api(self.of), f"{verb}_namespaced_{noun}")

    def _window(self, since: str) -> dict[str, Any]:
        return {**self._place(), "resource_version": since, "timeout_seconds": int(PATIENCE)}

    def _place(self) -> dict[str, str]:
        group, version, _, plural = self.kind
        more = {"group": group, "version": version, "plural": plural} if group else {}
        return {"namespace": self.namespace, **more}


class Official(Asyncio):
    """The official client: the same names, but every call blocks."""

    refusals = (kubernetes.client.ApiException,)
    library = kubernetes

    @classmethod
    @asynccontextmanager
    async def connected(cls, config: Path, kind: Kind, namespace: str) -> AsyncIterator[Client]:
        kubernetes.config.load_kube_config(str(config))
        with kubernetes.client.ApiClient() as connections:
            try:
                yield cls(connections, kind, namespace)
            finally:  # its own end leaves them open
                connections.rest_client.pool_manager.clear()

    async def changes(self, since: str) -> Changes:
        watch = kubernetes.watch.Watch()
        stream = watch.stream(self._method("list"), **self._window(since))
        try:
            while event := await asyncio.to_thread(next, stream, None):
                yield event["type"], event["raw_object"]
        finally:
            watch.stop()
            stream.close()

    async def _ask(self, verb: str, **words: Any) -> Any:
        answer = await asyncio.to_thread(self._method(verb), **self._place(), **words)
        return self.of.sanitize_for_serialization(answer)
