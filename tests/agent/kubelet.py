"""The kubelet's side of the two sockets, in the order of node-contracts: watch, GetInfo, connect,
notify; then Prepare and Unprepare by the first version both sides know."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc.aio

from elasticgpu._proto import (
    dra_v1_pb2,
    dra_v1_pb2_grpc,
    dra_v1beta1_pb2,
    dra_v1beta1_pb2_grpc,
    pluginregistration_v1_pb2,
    pluginregistration_v1_pb2_grpc,
)
from tests.agent.world import Use

SERVICES = {
    "v1.DRAPlugin": (dra_v1_pb2, dra_v1_pb2_grpc),
    "v1beta1.DRAPlugin": (dra_v1beta1_pb2, dra_v1beta1_pb2_grpc),
}


class FakeKubelet:
    """A kubelet that knows these versions, newest last asked."""

    def __init__(self, root: Path, knows: tuple[str, ...] = ("v1.DRAPlugin",)) -> None:
        self.root = root
        self.knows = knows
        self.info: Any = None

    @asynccontextmanager
    async def registered(self, said: str = "") -> AsyncIterator[FakeKubelet]:
        """Find the plugin in `plugins_registry`, register it, stay connected."""
        (door,) = (self.root / "plugins_registry").glob("*.sock")
        async with grpc.aio.insecure_channel(f"unix:{door}") as channel:
            stub = pluginregistration_v1_pb2_grpc.RegistrationStub(channel)  # type: ignore[no-untyped-call]
            self.info = await stub.GetInfo(pluginregistration_v1_pb2.InfoRequest(), timeout=1)
            version = next(v for v in self.info.supported_versions if v in self.knows)
            self._pb, rpc = SERVICES[version]
            status = pluginregistration_v1_pb2.RegistrationStatus(
                plugin_registered=not said, error=said
            )
            async with grpc.aio.insecure_channel(f"unix:{self.info.endpoint}") as plugin:
                self._stub = rpc.DRAPluginStub(plugin)
                await stub.NotifyRegistrationStatus(status, timeout=5)
                yield self

    async def prepare(self, *uses: Use) -> Any:
        """Answers by ResourceClaim uid."""
        request = self._pb.NodePrepareResourcesRequest(claims=self._claims(uses))
        return (await self._stub.NodePrepareResources(request, timeout=45)).claims

    async def unprepare(self, *uses: Use) -> Any:
        """Answers by ResourceClaim uid."""
        request = self._pb.NodeUnprepareResourcesRequest(claims=self._claims(uses))
        return (await self._stub.NodeUnprepareResources(request, timeout=45)).claims

    def _claims(self, uses: tuple[Use, ...]) -> list[Any]:
        return [
            self._pb.Claim(namespace=namespace, name=name, uid=use.uid)
            for use in uses
            for namespace, name in [use.resource_claim.key]
        ]
