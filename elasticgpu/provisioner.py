"""The page a plugin author reads: what a provisioner is, gets and answers.

A provisioner cuts devices of one kind from cards. `place` says which part of which card (pure;
the controller calls it while it decides), `prepare` makes that part visible to a container (on
the node). Publish the class under the entry-point group `elasticgpu.provisioners`, with the name
that classes write as `provisioner:`.

Answers beside success: raise `Retry(after)`, `Refused(reason)`, `Reschedule` or `NotOurs`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Annotated, ClassVar, Protocol

from pydantic import Field

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import CardSlice, DeviceSource, ElasticGPU, ElasticGPUSpec
from elasticgpu.api.gpu import GPU
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import Model, ObjectMeta, ObjectReference
from elasticgpu.api.names import BOUND_BY_CONTROLLER, DEVICE_PROTECTION, PROVISIONED_BY
from elasticgpu.api.quantity import format_bytes
from elasticgpu.api.vocabulary import CORE, MEMORY, Demand
from elasticgpu.errors import NotOurs, Refused, Reschedule, Retry
from elasticgpu.rules.fleet import CardView, NodeView
from elasticgpu.rules.ledger import Slice

__all__ = [
    "CardSlice",
    "CardView",
    "ContainerEdits",
    "Demand",
    "DeviceNode",
    "ElasticGPU",
    "Host",
    "Mount",
    "NodeView",
    "NotOurs",
    "Provisioner",
    "Refused",
    "Request",
    "Reschedule",
    "Retry",
    "Slice",
    "discover",
]

ENTRY_POINTS = "elasticgpu.provisioners"


class DeviceNode(Model):
    """A device file of the container (CDI `deviceNodes`)."""

    path: str
    host_path: str | None = None
    type: str | None = None
    major: int | None = None
    minor: int | None = None
    permissions: str | None = None


class Mount(Model):
    """A mount of the container (CDI `mounts`)."""

    host_path: str
    container_path: str
    type: str | None = None
    options: list[str] = []


class ContainerEdits(Model):
    """What the container gets: CDI container edits (CNCF Container Device Interface 0.5)."""

    env: Annotated[list[str], Field(description="NAME=value; wins over the pod's own.")] = []
    device_nodes: list[DeviceNode] = []
    mounts: list[Mount] = []


class Host(Protocol):
    """A plugin's only way to touch the node: real, fake or simulated."""

    @property
    def node_name(self) -> str:
        """The node's name."""

    def card(self, gpu: str) -> GPU:
        """The card of this GPU name. Raises Refused if this node does not have it."""

    def variable(self, name: str) -> str:
        """The environment variable of this preparation: `CORE` → `ELASTICGPU_0_CORE`.

        A container may have several claims, and one variable can hold but one value.
        """


@dataclass(frozen=True, slots=True)
class Request:
    """One device to be made: for whom, by which class, and where placement put it."""

    claim: ElasticGPUClaim
    gpu_class: ElasticGPUClass
    want: Demand
    node: str
    place: Slice

    @property
    def name(self) -> str:
        """The device's name, from the claim's uid: a second try meets the first one."""
        return device_name(self.claim.uid)


def device_name(claim_uid: str) -> str:
    """Name of the device provisioned for a claim."""
    return f"egpu-{claim_uid}"


class Provisioner(ABC):
    """One way of cutting devices from cards. `place` and `prepare` are required."""

    name: ClassVar[str]

    @abstractmethod
    def place(self, want: Demand, node: NodeView) -> Slice | None:
        """Which parts of which cards serve `want` on this node; None if it has no room.

        Pure and quick: no I/O, the same answer for the same arguments. The node's cards come
        filtered (healthy, allowed, of this mode) and best first.
        """

    async def provision(self, request: Request) -> ElasticGPU:
        """The device for a request, named `request.name`; called again, it answers the same."""
        return build(self.name, request)

    async def release(self, device: ElasticGPU) -> None:
        """Free what exists outside the cluster; called again, it succeeds."""

    @abstractmethod
    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        """Make the device usable on its node, and say what a container needs; idempotent."""

    async def unprepare(self, device: ElasticGPU, host: Host) -> None:
        """Undo `prepare`; called twice, or for what never was, it succeeds."""


def build(driver: str, request: Request) -> ElasticGPU:
    """The ElasticGPU object of a request: owned by the claim from its first moment."""
    claim, parts = request.claim, request.place.devices
    return ElasticGPU(
        metadata=ObjectMeta(
            name=request.name,
            annotations={PROVISIONED_BY: driver, BOUND_BY_CONTROLLER: "yes"},
            finalizers=[DEVICE_PROTECTION],
        ),
        spec=ElasticGPUSpec(
            capacity=capacity(parts),
            elastic_gpu_class_name=request.gpu_class.name,
            reclaim_policy=request.gpu_class.spec.reclaim_policy,
            claim_ref=ObjectReference(namespace=claim.namespace, name=claim.name, uid=claim.uid),
            node_name=request.node,
            source=DeviceSource(
                driver=driver,
                handle=request.name,
                devices=list(parts),
                attributes=dict(request.place.attributes),
            ),
        ),
    )


def capacity(parts: tuple[CardSlice, ...]) -> dict[str, int | str]:
    """What the parts sum up to, in canonical names."""
    core, memory = sum(p.core for p in parts), sum(p.memory_bytes for p in parts)
    whole: dict[str, int | str] = {CORE: core, MEMORY: format_bytes(memory)}
    return {name: amount for name, amount in whole.items() if amount not in (0, "0")}


def discover() -> Mapping[str, Provisioner]:
    """All installed provisioners by name, shipped and strangers' alike.

    Raises Refused if one cannot be loaded, does not carry the name it is published under, or two
    share a name: a cluster must not silently lose a backend.
    """
    found: dict[str, Provisioner] = {}
    for point in entry_points(group=ENTRY_POINTS):
        try:
            plugin = point.load()()
        except Exception as error:
            raise Refused(f"provisioner {point.name} ({point.value}) fails: {error}") from error
        if not isinstance(plugin, Provisioner) or getattr(plugin, "name", "") != point.name:
            raise Refused(f"{point.value} is published as {point.name} but is not that provisioner")
        if point.name in found:
            raise Refused(f"two provisioners are called {point.name}: uninstall one")
        found[point.name] = plugin
    return found
