"""The page a plugin author reads: what a provisioner is, gets and answers.

A provisioner cuts devices of one kind from cards. `place` says which part of which card (pure;
the controller calls it while it decides), `prepare` makes that part visible to a container (on
the node). A plugin that has nothing outside the cluster is done with these two:

    class Half(Provisioner):
        name = "example.com/half"

        def place(self, want, node):
            for card in node.cards:
                if card.core_free >= 50:
                    return Slice((CardSlice(gpu=card.name, core=50, memory=0),))
            return None

        async def prepare(self, device, host):
            (part,) = device.spec.source.devices
            uuid = host.card(part.gpu).status.uuid
            return ContainerEdits(env=[f"{host.variable('UUID')}={uuid}"])

One that has to ask somebody else overrides `provision` and `release` as well:

        async def provision(self, request):
            handle = await self.backend.create(request.name, request.place)
            return request.device(handle=handle)

        async def release(self, device):
            await self.backend.delete(device.spec.source.handle or device.name)

Publish the class under the entry-point group `elasticgpu.provisioners`, with the name that
classes write as `provisioner:`.

**What the two may answer.** Beside success they raise one of

    Retry(reason, after)    not now, and nothing is under way. Asked again, the same request, later
                            each time, never sooner than after `after` seconds.
    Working(reason, after)  it goes on in the background. Asked again, the same request, after
                            `after` seconds, until there is another answer: *even if the claim is
                            deleted* meanwhile.
    Refused(reason)         final for the claim as it stands, and nothing is under way. Said once;
                            asked again when the claim or its class changes, and every ten minutes.
    Reschedule(reason)      the node cannot, and nothing is under way there. It is remembered for
                            the claim, and another node is chosen. Only `provision`.
    NotOurs()               somebody else serves it: nothing is made, said or tried again.

Any other exception, and a call that takes longer than `timeout`, says nothing: what was under way
may still be. It is asked again, later each time, *even if the claim is deleted*, and its room on
the cards stays taken. So translate what you know into one of the five, and let the rest fly.

**What is promised.** Before the first call the request is written down on the claim, and the claim
kept from going: a crash at any moment leads to the same request again, under the same
`request.name`, which is your key: made already, answer the same. The answer is compared with the
request before it is stored; of one that is not what was asked for, or that the API server refuses,
`release` is called. `release` comes when no claim has the device any more and its reclaim policy is
Delete, with the device looked up a moment before; called again, or for what never was, it succeeds.
While it fails the device is Failed and says why.

**Where it runs.** `provision` and `release` run on an event loop of the plugin's own, in a thread
of its own, at most `concurrency` calls at once: one that hangs or blocks harms this plugin's claims
only. `place` is called in line with the decisions of all claims, and nothing can stop it: it must
be quick.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import CardSlice, DeviceSource, ElasticGPU, ElasticGPUSpec
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import ObjectMeta, ObjectReference
from elasticgpu.api.names import (
    BOUND_BY_CONTROLLER,
    DEVICE_PROTECTION,
    PROVISIONED_BY,
    device_name,
)
from elasticgpu.api.quantity import format_bytes
from elasticgpu.api.vocabulary import CORE, MEMORY, Demand
from elasticgpu.errors import NotOurs, Refused, Reschedule, Retry, Working
from elasticgpu.host import (
    ComputeInstance,
    ComputeMode,
    ContainerEdits,
    DeviceNode,
    Files,
    Finished,
    GpuInstance,
    Host,
    Mount,
    Nvml,
)
from elasticgpu.rules.cutting import Grain, instance, shares, whole_cards
from elasticgpu.rules.fleet import CardView, Held, NodeView
from elasticgpu.rules.ledger import Slice

__all__ = [
    "CardSlice",
    "CardView",
    "ComputeInstance",
    "ComputeMode",
    "ContainerEdits",
    "Demand",
    "DeviceNode",
    "ElasticGPU",
    "Files",
    "Finished",
    "GpuInstance",
    "Grain",
    "Held",
    "Host",
    "Mount",
    "NodeView",
    "NotOurs",
    "Nvml",
    "Parameters",
    "Provisioner",
    "Refused",
    "Request",
    "Reschedule",
    "Retry",
    "Slice",
    "Working",
    "discover",
    "instance",
    "shares",
    "whole_cards",
]

ENTRY_POINTS = "elasticgpu.provisioners"


@dataclass(frozen=True, slots=True)
class Request:
    """One device to be made: for whom, by which class, and where placement put it.

    Asked again, all of it is the same, but for what somebody changed of the claim meanwhile.
    """

    claim: ElasticGPUClaim
    gpu_class: ElasticGPUClass
    want: Demand
    node: str
    place: Slice

    @property
    def name(self) -> str:
        """The device's name, from the claim's uid: a second try meets the first one."""
        return device_name(self.claim.uid)

    def device(
        self, *, handle: str = "", attributes: Mapping[str, str] | None = None
    ) -> ElasticGPU:
        """The ElasticGPU that is asked for, with your own key (`request.name` if you have none)
        and what else you need to remember. Both are fixed once it is stored."""
        return build(self.gpu_class.spec.provisioner, self, handle, attributes or {})


class Parameters(BaseModel):
    """What a class may tell its provisioner: subclass it. Values are written as strings.

    Names are camelCase in the manifest; a name that is not there is an error.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )


class Provisioner(ABC):
    """One way of cutting devices from cards. `place` and `prepare` are required."""

    name: ClassVar[str]
    """What a class's `provisioner:` says."""

    parameters: Parameters = Parameters()
    """Those of the class that is served, or of the device: declare yours, with their defaults.

        class Mine(Provisioner):
            parameters: MyParameters = MyParameters()
    """

    mig: ClassVar[bool] = False
    """Whether its devices are instances of cards in MIG mode; all others get cards that are not."""

    verified: ClassVar[bool] = False
    """Whether somebody has seen it work on hardware; until then its classes say `Verified: False`.
    """

    concurrency: ClassVar[int] = 8
    """Calls of `provision` and `release` under way at once, at most."""

    grows: ClassVar[bool] = False
    """Whether a device can get more memory while containers use it: then there is a `resize`."""

    timeout: ClassVar[float] = 60.0
    """Seconds that one call of `provision` or `release` may take; then it is cancelled."""

    def tuned(self, written: Mapping[str, str]) -> Self:
        """This provisioner with the parameters that a class or device has written.

        Raises Refused with the name of each field that is wrong, and why.
        """
        if not written and self.parameters == type(self.parameters)():
            return self
        other = copy(self)
        try:
            other.parameters = type(self.parameters).model_validate(dict(written))
        except ValidationError as error:
            raise Refused(f"parameters of {self.name}: {_faults(error)}") from error
        return other

    @abstractmethod
    def place(self, want: Demand, node: NodeView) -> Slice | None:
        """Which parts of which cards serve `want` on this node; None if it has no room.

        Pure and quick: no I/O, the same answer for the same arguments. The node's cards come
        filtered (healthy, allowed, of this mode) and best first.
        """

    async def provision(self, request: Request) -> ElasticGPU:
        """Make the device and answer `request.device(…)`; called again, it answers the same."""
        return build(self.name, request)

    async def release(self, device: ElasticGPU) -> None:
        """Free what exists outside the cluster; called again, or for nothing, it succeeds."""

    @abstractmethod
    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        """Make the device usable on its node, and say what a container needs; idempotent."""

    async def unprepare(self, device: ElasticGPU, host: Host) -> None:
        """Undo `prepare`; called twice, or for what never was, it succeeds."""

    async def resize(self, device: ElasticGPU, host: Host) -> None:
        """Let those for whom the device is prepared have as much memory as it has by now; asked
        only if `grows`, after there was room for it. Called again, it changes nothing."""
        raise Refused(f"{self.name} cannot give a device more memory while it is in use")


def _faults(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(str(part) for part in fault['loc'])}: "
        f"{fault['msg'].removeprefix('Value error, ')}"
        for fault in error.errors(include_url=False, include_input=False)
    )


def overrides(plugin: Provisioner, method: str) -> bool:
    """Whether the plugin has a `provision` or `release` of its own; the default asks nobody."""
    return getattr(type(plugin), method) is not getattr(Provisioner, method)


def build(
    driver: str, request: Request, handle: str = "", attributes: Mapping[str, str] | None = None
) -> ElasticGPU:
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
                handle=handle or request.name,
                devices=list(parts),
                parameters=dict(request.gpu_class.spec.parameters),
                attributes={**request.place.attributes, **(attributes or {})},
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
        if plugin.concurrency < 1 or plugin.timeout <= 0:
            raise Refused(f"{point.value}: concurrency and timeout must be positive")
        if point.name in found:
            raise Refused(f"two provisioners are called {point.name}: uninstall one")
        found[point.name] = plugin
    return found
