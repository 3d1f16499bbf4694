"""What is known of a claim, and what may be done about it, as values.

`binding.py` decides about one claim, `company.py` about several; the binder acts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.vocabulary import Demand

from .fitting import Candidate
from .fleet import Fleet, NodeView, Ranking
from .ledger import Slice
from .marks import Refusal
from .placement import Placer


@dataclass(frozen=True, slots=True)
class ClaimView:
    """All that decides about one claim, read at one moment.

    `class_name` is the class in effect: the one it names, else the default; None if there is
    neither. `named` is the device it points at, `reserved` those that point at it, `available`
    tells the free ones of its class, the best fit of a demand first, `released` those of any class
    whose claim is gone; `creating` is one whose create was sent and not answered. Devices and nodes
    are looked up only as far as the decision goes. `misfit`: its class's parameters are refused by
    the provisioner, in these words, and there is no `placer`. `in_progress`: its provisioner is
    making one, which the provisioning loop sees to; `refusal` is the last final answer of a
    provisioner. In `company`, others decide with it where it goes: see `rules/company.py`. `pool`
    are the cards outside the cluster that its devices are cut from, instead of those of `nodes`.
    """

    claim: ElasticGPUClaim
    class_name: str | None = None
    gpu_class: ElasticGPUClass | None = None
    classes: tuple[str, ...] = ()
    named: ElasticGPU | None = None
    reserved: tuple[ElasticGPU, ...] = ()
    available: Callable[[Demand], Iterable[Candidate]] = lambda want: ()
    released: Callable[[], Iterable[Candidate]] = tuple
    placer: Placer | None = None
    misfit: str = ""
    provisioners: tuple[str, ...] = ()
    nodes: Fleet = field(default_factory=Ranking)
    pool: NodeView | None = None
    creating: ElasticGPU | None = None
    in_progress: bool = False
    refusal: Refusal | None = None
    company: bool = False

    @property
    def fleet(self) -> Fleet:
        """Where its devices are cut."""
        return self.nodes if self.pool is None else Ranking((self.pool,))


@dataclass(frozen=True, slots=True)
class Settled:
    """Nothing to do."""


@dataclass(frozen=True, slots=True)
class Bind:
    """Carry out, or go on with, the four writes with this device."""

    device: ElasticGPU


@dataclass(frozen=True, slots=True)
class Provision:
    """Have a device made at this place, then bind it."""

    gpu_class: ElasticGPUClass
    want: Demand
    node: str
    place: Slice


@dataclass(frozen=True, slots=True)
class Create:
    """Send this device's create again: the first answer was lost, it may or may not exist."""

    device: ElasticGPU


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can serve the claim now.

    `event` is the kind of event that says so as well: a Warning if it is somebody's fault; None
    where the person who wrote the claim knows what it waits for.
    """

    reason: str
    message: str
    event: Literal["Warning", "Normal"] | None = "Warning"


@dataclass(frozen=True, slots=True)
class Unbind:
    """Its device is given up and no pod has it: the claim waits again, without a name."""

    device: ElasticGPU


@dataclass(frozen=True, slots=True)
class Lost:
    """The claim was bound and its device is gone or another's."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Contradiction:
    """It says that the controller chose its device, which is another's: nothing is written."""

    message: str


@dataclass(frozen=True, slots=True)
class Maker:
    """The class by which a device is made for a claim, and who cuts it."""

    gpu_class: ElasticGPUClass
    placer: Placer


@dataclass(frozen=True, slots=True)
class Seek:
    """It needs a device, and its company decides where. Without `maker` none is made, for that
    reason."""

    want: Demand
    maker: Maker | Wait


Decision = Settled | Bind | Provision | Create | Wait | Unbind | Lost | Contradiction
