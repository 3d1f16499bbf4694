"""Other people's clients behind one face: the objects of one kind, in the test's namespace."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import kr8s
import kubernetes
import kubernetes_asyncio
import lightkube
from kr8s.asyncio.objects import APIObject, new_class
from lightkube.codecs import from_dict
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.core_v1 import ConfigMap
from lightkube.types import PatchType

from .api import PATCHES, PATIENCE, Object

Changes = AsyncGenerator[tuple[str, Object], None]
Errors = tuple[type[Exception], ...]


class Kind(NamedTuple):
    """A kind that is asked for; no group: it is a ConfigMap."""

    group: str
    version: str
    kind: str
    plural: str


class Client(ABC):
    """The objects of one kind; `refusals` are what the client raises if the server says no."""

    refusals: ClassVar[Errors]

    def __init__(self, of: Any, kind: Kind, namespace: str) -> None:
        self.of = of
        self.kind = kind
        self.namespace = namespace

    @classmethod
    @abstractmethod
    def connected(
        cls, config: Path, kind: Kind, namespace: str
    ) -> AbstractAsyncContextManager[Client]:
        """The client as that kubeconfig says, to be used with `async with`."""

    @abstractmethod
    async def create(self, body: Object) -> Object:
        """The object as it was made."""

    @abstractmethod
    async def get(self, name: str) -> Object:
        """One object."""

    @abstractmethod
    async def labelled(self, label: str, value: str) -> list[str]:
        """The names of those that carry the label."""

    @abstractmethod
    async def patch(self, name: str, change: Object) -> Object:
        """Merge the change into it."""

    @abstractmethod
    async def delete(self, name: str) -> None:
        """Delete it."""

    @abstractmethod
    def changes(self, since: str) -> Changes:
        """What a watch tells."""

    @abstractmethod
    def reason(self, refusal: Any) -> str:
        """The reason the server gave, as the client passes it on."""


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


class Kr8s(Client):
    """kr8s, which knows every kind by its name; what is missing has an error of its own."""

    refusals = (kr8s.ServerError, kr8s.NotFoundError)

    @classmethod
    @asynccontextmanager
    async def connected(cls, config: Path, kind: Kind, namespace: str) -> AsyncIterator[Client]:
        api = await kr8s.asyncio.api(kubeconfig=str(config), namespace=namespace)
        try:
            yield cls(api, kind, namespace)
        finally:  # it offers no way to close its connections
            if api._session:
                await api._session.aclose()

    async def create(self, body: Object) -> Object:
        made = self._object(body)
        await made.create()
        return made.to_dict()

    async def get(self, name: str) -> Object:
        found = self._named(name)
        await found.refresh()
        return found.to_dict()

    async def labelled(self, label: str, value: str) -> list[str]:
        found = self.of.get(self._class(), namespace=self.namespace, label_selector={label: value})
        return [one.name async for one in found]

    async def patch(self, name: str, change: Object) -> Object:
        found = self._named(name)
        await found.patch(change)
        return found.to_dict()

    async def delete(self, name: str) -> None:
        await self._named(name).delete()

    async def changes(self, since: str) -> Changes:
        events = self.of.watch(self._class(), namespace=self.namespace, since=since)
        async for event, found in events:
            yield event, found.to_dict()

    def reason(self, refusal: Any) -> str:
        missing = isinstance(refusal, kr8s.NotFoundError)
        return "NotFound" if missing else str(refusal.status["reason"])

    def _class(self) -> type[APIObject]:
        group, version, kind, plural = self.kind
        if not group:
            return kr8s.asyncio.objects.ConfigMap
        return new_class(kind, f"{group}/{version}", asyncio=True, plural=plural)

    def _named(self, name: str) -> APIObject:
        return self._object({"metadata": {"name": name}})

    def _object(self, body: Object) -> APIObject:
        return self._class()(body, namespace=self.namespace, api=self.of)


class Lightkube(Client):
    """lightkube: typed for ConfigMaps, a class made up for custom objects."""

    refusals = (lightkube.ApiError,)

    @classmethod
    @asynccontextmanager
    async def connected(cls, config: Path, kind: Kind, namespace: str) -> AsyncIterator[Client]:
        found = lightkube.KubeConfig.from_file(config)
        async with lightkube.AsyncClient(found, namespace=namespace) as client:
            yield cls(client, kind, namespace)

    async def create(self, body: Object) -> Object:
        self._class()  # from_dict finds only what was made known
        return _plain(await self.of.create(from_dict(body)))

    async def get(self, name: str) -> Object:
        return _plain(await self.of.get(self._class(), name))

    async def labelled(self, label: str, value: str) -> list[str]:
        found = self.of.list(self._class(), labels={label: value})
        return [one.metadata.name async for one in found]

    async def patch(self, name: str, change: Object) -> Object:
        merge = PatchType.MERGE
        return _plain(await self.of.patch(self._class(), name, change, patch_type=merge))

    async def delete(self, name: str) -> None:
        await self.of.delete(self._class(), name)

    async def changes(self, since: str) -> Changes:
        async for event, found in self.of.watch(self._class(), resource_version=since):
            yield event, _plain(found)

    def reason(self, refusal: Any) -> str:
        return str(refusal.status.reason)

    def _class(self) -> Any:
        return create_namespaced_resource(*self.kind) if self.kind.group else ConfigMap


def _plain(found: Any) -> Object:
    return dict(found.to_dict())
