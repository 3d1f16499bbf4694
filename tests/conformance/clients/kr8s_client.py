"""kr8s: objects that act by themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import kr8s
from kr8s.asyncio.objects import APIObject, new_class

from tests.conformance.api import Object

from .client import Changes, Client, Kind


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
