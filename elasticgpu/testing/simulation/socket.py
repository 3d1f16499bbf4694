"""The kubelet's end of the sockets of dynamic resource allocation: it finds the driver in its
directory, registers it, and has devices prepared and undone, as kubelet's plugin manager does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc.aio

from elasticgpu._proto import (
    dra_v1_pb2,
    dra_v1_pb2_grpc,
    pluginregistration_v1_pb2,
    pluginregistration_v1_pb2_grpc,
)
from elasticgpu.api.core import ResourceClaim
from elasticgpu.errors import Retry

VERSION = "v1.DRAPlugin"
TIMEOUT = 45.0
"""Seconds for one call, as the kubelet has it."""


class Driver:
    """The registered driver of a node."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = dra_v1_pb2_grpc.DRAPluginStub(channel)  # type: ignore[no-untyped-call]

    async def prepare(self, claims: Iterable[ResourceClaim]) -> dict[str, list[str]]:
        """CDI device ids by ResourceClaim uid. Raises Retry with what the driver says."""
        asked = dra_v1_pb2.NodePrepareResourcesRequest(claims=map(_named, claims))
        answers = (await self._stub.NodePrepareResources(asked, timeout=TIMEOUT)).claims
        _check(answers)
        return {
            uid: [name for device in answer.devices for name in device.cdi_device_ids]
            for uid, answer in answers.items()
        }

    async def unprepare(self, claims: Iterable[ResourceClaim]) -> None:
        """Have it undone. Raises Retry with what the driver says."""
        asked = dra_v1_pb2.NodeUnprepareResourcesRequest(claims=map(_named, claims))
        _check((await self._stub.NodeUnprepareResources(asked, timeout=TIMEOUT)).claims)


@asynccontextmanager
async def registered(root: Path) -> AsyncIterator[Driver]:
    """The driver whose socket is in `root/plugins_registry`, while inside."""
    (door,) = await asyncio.to_thread(list, (root / "plugins_registry").glob("*.sock"))
    async with grpc.aio.insecure_channel(f"unix:{door}") as channel:
        stub = pluginregistration_v1_pb2_grpc.RegistrationStub(channel)  # type: ignore[no-untyped-call]
        info = await stub.GetInfo(pluginregistration_v1_pb2.InfoRequest(), timeout=5)
        fits = VERSION in info.supported_versions
        status = pluginregistration_v1_pb2.RegistrationStatus(
            plugin_registered=fits, error="" if fits else f"{VERSION} is not supported"
        )
        async with grpc.aio.insecure_channel(f"unix:{info.endpoint}") as plugin:
            await stub.NotifyRegistrationStatus(status, timeout=5)
            yield Driver(plugin)


def _named(claim: ResourceClaim) -> Any:
    return dra_v1_pb2.Claim(namespace=claim.namespace, name=claim.name, uid=claim.uid)


def _check(answers: Any) -> None:
    for answer in answers.values():
        if answer.error:
            raise Retry(answer.error, after=1.0)
