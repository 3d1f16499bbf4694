"""The page a plugin author reads: what a provisioner is, gets and answers.

A provisioner cuts devices of one kind from cards. `place` says which part of which card (pure;
the controller calls it while it decides), `prepare` makes that part visible to a container (on
the node), `unprepare` undoes it. A plugin that has nothing outside the cluster is done with these:

    from elasticgpu.provisioner import (
        ContainerEdits, Parameters, Provisioner, Refused, shares,
    )

    class HalfParameters(Parameters):
        most_core: int = 50

    class Half(Provisioner):
        name = "example.com/half"
        parameters: HalfParameters = HalfParameters()

        def place(self, want, node):
            if want.gpus or want.mig or want.unsized:
                raise Refused("shares only: ask for core, memory or TFLOPS, no whole cards or MIG")
            if want.core > self.parameters.most_core:
                raise Refused(f"ask for at most {self.parameters.most_core}% core")
            return shares(want, node)

        async def prepare(self, device, host):
            parts = device.spec.source.devices
            rows = [f"{host.card(part.gpu).status.uuid} {part.core}" for part in parts]
            host.files.write(host.run_dir / device.name, "\\n".join(rows).encode())
            return ContainerEdits(
                env=[f"{host.variable('CARDS')}={len(parts)}"],
                device_nodes=host.nodes(*(part.gpu for part in parts)),
            )

        async def unprepare(self, device, host):
            host.files.remove(host.run_dir / device.name)

Publish the class under the entry-point group `elasticgpu.provisioners`, with the name that classes
write as `provisioner:`. `elasticgpu new-provisioner NAME` writes such a package with its tests: a
subclass of `elasticgpu.testing.ProvisionerContract`, which tries all that this page asks for.

**Cutting.** `place` gets the demand and a node, whose `cards` come best first; each has `core_free`
(percent), `memory_free` (bytes), what is `held` of it and by whom, and its GPU object as `gpu`.
`shares` and `whole_cards` are what most need; by hand an answer is
`Slice((CardSlice(gpu=card.name, core=50, memory=card.gpu.memory // 2),))`, never smaller than what
is asked: `want.memory_of(card.gpu.memory)` says how many bytes that is. No room now is None; what
is never served, whatever is free, is Refused in a sentence for the person who asked. A part that
no other device may have, such as a MIG instance, stands in the answer: it comes back as `held` and
as `device.spec.source`.

**Parameters.** Values come from the class as strings, names in camelCase (`mostCore`), read by the
plugin's own pydantic model; what it refuses is a condition on the class. `self.parameters` is
always that of the class, and for a device that of the class when it was made, on the node too.

**On the node.** `prepare` and `unprepare` touch it only through `host`: cards and device files,
`files`, `nvml`, programs by `run`, and two directories of the plugin's own, of which a reboot
empties `run_dir` and keeps `state_dir`: see `elasticgpu.host`. Either call may be cut off anywhere,
by a crash or after 30 seconds; then `prepare` is asked again, or `unprepare` undoes what there is.
Keep nothing in memory: a process that has just started must be able to go on. One device may serve
several pods: `prepare` is asked for each, `unprepare` once, after the last.

**Outside the cluster.** One that has to ask somebody else overrides `provision` and `release`:

        async def provision(self, request):
            handle = await self.backend.create(request.name, request.place)
            return request.device(handle=handle)

        async def release(self, device):
            await self.backend.delete(device.spec.source.handle or device.name)

One whose cards are not on nodes of the cluster names them in `pool`, by the class's parameters:
then `place` gets those, and the pod may run anywhere.

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
from collections.abc import Mapping, Sequence
from copy import copy
from importlib.metadata import entry_points
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from elasticgpu.api.elasticgpu import CardSlice, ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.api.vocabulary import Demand
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
from elasticgpu.rules.requests import Request, build

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
        """This provisioner with the parameters that a class has written.

        Raises Refused with the name of each field that is wrong or missing, and why.
        """
        try:
            parameters = type(self.parameters).model_validate(dict(written))
        except ValidationError as error:
            fields = type(self.parameters).model_fields.items()
            known = ", ".join(field.alias or name for name, field in fields) or "none"
            raise Refused(f"parameters of {self.name}: {_faults(error, known)}") from error
        if parameters == self.parameters:
            return self
        other = copy(self)
        other.parameters = parameters
        return other

    def of(self, device: ElasticGPU) -> Self:
        """This provisioner with the parameters that the device was made with, if any.

        An admin's need not have those that only placement asks for. Raises Refused as `tuned`.
        """
        written = device.spec.source.parameters
        return self.tuned(written) if written else self

    @abstractmethod
    def place(self, want: Demand, node: NodeView) -> Slice | None:
        """Which parts of which cards serve `want` on this node; None if it has no room.

        Pure and quick: no I/O, the same answer for the same arguments. The node's cards come
        filtered (healthy, allowed, of this mode) and best first.
        """

    def pool(self) -> Sequence[GPU] | None:
        """The cards of hosts outside the cluster that the class's parameters name; None: it cuts
        the cards of the cluster's nodes.

        They are counted like all others, by name, whichever classes name them. `place` then gets
        them as a node without a name, and its devices are on no node: any one prepares them.
        """
        return None

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


def _faults(error: ValidationError, known: str) -> str:
    return "; ".join(
        f"{'.'.join(str(part) for part in fault['loc'])}: {_said(fault, known)}"
        for fault in error.errors(include_url=False, include_input=False)
    )


def _said(fault: ErrorDetails, known: str) -> str:
    if fault["type"] == "extra_forbidden":
        return f"is no parameter of it; there are {known}"
    return fault["msg"].removeprefix("Value error, ")


def overrides(plugin: Provisioner, method: str) -> bool:
    """Whether the plugin has a `provision` or `release` of its own; the default asks nobody."""
    return getattr(type(plugin), method) is not getattr(Provisioner, method)


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
