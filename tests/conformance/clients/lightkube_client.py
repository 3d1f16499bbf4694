"""lightkube: a class for every kind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import lightkube
from lightkube.codecs import from_dict
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.core_v1 import ConfigMap
from lightkube.types import PatchType

from tests.conformance.api import Object

from .client import Changes, Client, Kind


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
