"""The kubelet's door: dynamic resource allocation, plugin API v1 and v1beta1.

Two sockets under the kubelet's directory. The kubelet watches `plugins_registry`: when ours appears
there it asks `GetInfo`, connects to the endpoint named in the answer and says how that went. It
takes the first of our versions it knows. From then on it calls `NodePrepareResources` before a pod
gets its sandbox and `NodeUnprepareResources` after the pod's last container. A kubelet that starts
anew reads the directory again; it deletes nothing there, so a live socket needs no attention, and
one that a killed agent left is replaced, which the kubelet takes for a new registration.

Protocols: k8s.io/kubelet pkg/apis/dra/{v1,v1beta1} and pluginregistration/v1.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from elasticgpu._proto import (
    dra_v1_pb2,
    dra_v1_pb2_grpc,
    dra_v1beta1_pb2,
    dra_v1beta1_pb2_grpc,
    pluginregistration_v1_pb2,
    pluginregistration_v1_pb2_grpc,
)
from elasticgpu.api.names import DRIVER
from elasticgpu.errors import ElasticGPUError, Refused

from .prepare import PreparedDevice, Preparer

log = logging.getLogger(__name__)

VERSIONS = ("v1.DRAPlugin", "v1beta1.DRAPlugin")
"""As the kubelet calls the services, newest first."""
LONGEST_PATH = 107
"""Bytes of a unix socket's path on Linux."""
GRACE = 5.0
"""Seconds that calls under way get when the agent stops."""


class DRAPlugin:
    """Both methods of either version: `pb` is the version's message module."""

    def __init__(self, preparer: Preparer, pb: Any) -> None:
        self._preparer = preparer
        self._pb = pb

    async def NodePrepareResources(self, request: Any, context: object) -> Any:  # noqa: N802
        """Prepare every ResourceClaim of the call, all at once; each has its own answer."""
        answers = await _each(request.claims, self._prepare)
        return self._pb.NodePrepareResourcesResponse(claims=answers)

    async def NodeUnprepareResources(self, request: Any, context: object) -> Any:  # noqa: N802
        """Undo every ResourceClaim of the call, all at once; each has its own answer."""
        answers = await _each(request.claims, self._unprepare)
        return self._pb.NodeUnprepareResourcesResponse(claims=answers)

    async def _prepare(self, claim: Any) -> Any:
        try:
            devices = await self._preparer.prepare((claim.namespace, claim.name), claim.uid)
        except Exception as error:
            return self._pb.NodePrepareResourceResponse(error=_say("prepare", claim, error))
        log.info("prepared %s/%s: %s", claim.namespace, claim.name, devices[0].device)
        return self._pb.NodePrepareResourceResponse(devices=map(self._device, devices))

    async def _unprepare(self, claim: Any) -> Any:
        try:
            await self._preparer.unprepare(claim.uid)
        except Exception as error:
            return self._pb.NodeUnprepareResourceResponse(error=_say("unprepare", claim, error))
        log.info("unprepared %s/%s", claim.namespace, claim.name)
        return self._pb.NodeUnprepareResourceResponse()

    def _device(self, device: PreparedDevice) -> Any:
        return self._pb.Device(
            request_names=[device.request],
            pool_name=device.pool,
            device_name=device.device,
            cdi_device_ids=[device.cdi_id],
        )


async def _each(claims: Iterable[Any], call: Callable[[Any], Awaitable[Any]]) -> dict[str, Any]:
    asked = list(claims)
    answers = await asyncio.gather(*(call(claim) for claim in asked))
    return {claim.uid: answer for claim, answer in zip(asked, answers, strict=True)}


def _say(what: str, claim: Any, error: Exception) -> str:
    """The sentence for the kubelet, which puts it into an event on the pod."""
    if isinstance(error, ElasticGPUError):
        log.warning("%s %s/%s: %s", what, claim.namespace, claim.name, error)
        return str(error)
    log.error("%s %s/%s", what, claim.namespace, claim.name, exc_info=error)
    return f"the elasticgpu agent failed: {type(error).__name__}: {error}; its log says more"


class Registration:
    """How the kubelet gets to know us. `registered` is set while it says that it does."""

    def __init__(self, endpoint: Path) -> None:
        self._endpoint = endpoint
        self.registered = asyncio.Event()

    async def GetInfo(self, request: object, context: object) -> Any:  # noqa: N802
        """Who we are, and where we serve."""
        return pluginregistration_v1_pb2.PluginInfo(
            type="DRAPlugin",
            name=DRIVER,
            endpoint=str(self._endpoint),
            supported_versions=VERSIONS,
        )

    async def NotifyRegistrationStatus(self, request: Any, context: object) -> Any:  # noqa: N802
        """What the kubelet made of it."""
        if request.plugin_registered:
            log.info("the kubelet has registered %s", DRIVER)
            self.registered.set()
        else:
            log.error("the kubelet does not register %s: %s", DRIVER, request.error)
            self.registered.clear()
        return pluginregistration_v1_pb2.RegistrationStatusResponse()


@asynccontextmanager
async def serving(kubelet_dir: Path, preparer: Preparer) -> AsyncIterator[Registration]:
    """Serve, then register; leave in the opposite order. The sockets are there meanwhile."""
    endpoint, door = sockets(kubelet_dir)
    plugin, registrar = grpc.aio.server(), grpc.aio.server()
    v1, v1beta1 = DRAPlugin(preparer, dra_v1_pb2), DRAPlugin(preparer, dra_v1beta1_pb2)
    registration = Registration(endpoint)
    dra_v1_pb2_grpc.add_DRAPluginServicer_to_server(  # type: ignore[no-untyped-call]
        v1, plugin
    )
    dra_v1beta1_pb2_grpc.add_DRAPluginServicer_to_server(  # type: ignore[no-untyped-call]
        v1beta1, plugin
    )
    pluginregistration_v1_pb2_grpc.add_RegistrationServicer_to_server(  # type: ignore[no-untyped-call]
        registration, registrar
    )
    async with _listening(plugin, endpoint), _listening(registrar, door):
        yield registration


def sockets(kubelet_dir: Path) -> tuple[Path, Path]:
    """Where we serve and where we register, their folders made."""
    root = kubelet_dir.absolute()
    endpoint = root / "plugins" / DRIVER / "dra.sock"
    door = root / "plugins_registry" / f"{DRIVER}-reg.sock"
    for path in (endpoint, door):
        path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
    endpoint.parent.chmod(0o750)
    return endpoint, door


@asynccontextmanager
async def _listening(server: grpc.aio.Server, path: Path) -> AsyncIterator[None]:
    _bind(server, path)
    await server.start()
    try:
        yield
    finally:
        # First the file, so that the kubelet forgets us before it meets a closed door.
        await asyncio.to_thread(path.unlink, missing_ok=True)
        await server.stop(GRACE)


def _bind(server: grpc.aio.Server, path: Path) -> None:
    if len(bytes(path)) > LONGEST_PATH:
        raise Refused(f"{path} is too long for a socket ({LONGEST_PATH} bytes): shorten the path")
    path.unlink(missing_ok=True)
    server.add_insecure_port(f"unix:{path}")
    path.chmod(0o600)
