"""What a claim needs next: the PersistentVolume transaction as one pure decision.

A `Bind` is the four writes of `rules/transaction.py`. Nothing is ever rolled back: whatever write
was the last before a crash, the next decision is the same `Bind` and goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpuclass import ElasticGPUClass, Placement
from elasticgpu.api.meta import Condition, merge_condition
from elasticgpu.api.names import BIND_COMPLETED, BOUND_BY_CONTROLLER, PROVISIONED_BY
from elasticgpu.api.vocabulary import Demand, demand
from elasticgpu.errors import Refused

from . import placement, recycling
from .answers import EFFECTS
from .fitting import Candidate, too_small, unsuitable
from .fleet import Fleet, Ranking
from .ledger import Slice
from .marks import Refusal, stands
from .placement import Nowhere, Placed, Placer, Wish
from .transaction import BOUND, WITHDRAWN, given_up


@dataclass(frozen=True, slots=True)
class ClaimView:
    """All that decides about one claim, read at one moment.

    `class_name` is the class in effect: the one it names, else the default; None if there is
    neither. `named` is the device it points at, `reserved` those that point at it, `available`
    tells the free ones of its class, the best fit of a demand first, `released` those of any class
    whose claim is gone; `creating` is one whose create was sent and not answered. Devices and nodes
    are looked up only as far as the decision goes. `in_progress`: its provisioner is making one,
    which the provisioning loop sees to; `refusal` is the last final answer of a provisioner. In
    `company`, others decide with it where it goes: see `rules/company.py`.
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
    provisioners: tuple[str, ...] = ()
    nodes: Fleet = field(default_factory=Ranking)
    creating: ElasticGPU | None = None
    in_progress: bool = False
    refusal: Refusal | None = None
    company: bool = False


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


def decide(view: ClaimView) -> Decision | Seek:
    """What to do about a claim; `Seek` only if it is in company."""
    claim = view.claim
    if claim.terminating:
        return Settled()
    try:
        completed = BIND_COMPLETED in claim.metadata.annotations
        return _completed(view) if completed else _unfinished(view)
    except ValueError as error:
        return Wait("InvalidRequest", str(error))
    except Refused as error:
        return Wait("Refused", error.reason)


def _completed(view: ClaimView) -> Decision | Seek:
    claim, device = view.claim, view.named
    name = claim.spec.elastic_gpu_name
    if claim.status.phase not in (BOUND, "Lost") and not (device and device.claim_uid == claim.uid):
        # The annotation is anybody's to write, the status is not: this claim never was bound.
        return _unfinished(view)
    if device is None:
        return Lost("DeviceLost", f"ElasticGPU {name or '(none named)'} is gone")
    ref = device.spec.claim_ref
    if ref is not None and ref.uid != claim.uid:
        return Lost("Misbound", f"ElasticGPU {name} belongs to {ref.namespace}/{ref.name}")
    if given_up(device) and _unheld(claim, device):
        return Unbind(device)
    if device.status.phase == "Failed":
        return Lost("DeviceFailed", f"ElasticGPU {name}: {device.status.message}")
    if device.claim_uid != claim.uid and not admitted(device):
        return _pending(device)
    if device.claim_uid != claim.uid and device.terminating:
        return Wait("DeviceTerminating", f"ElasticGPU {name} is being deleted: waiting for its end")
    return Settled() if _complete(claim, device) else Bind(device)


def _unfinished(view: ClaimView) -> Decision | Seek:
    want = demand(view.claim.spec.resources.requests, view.claim.metadata.labels)
    return _named(view, want) if view.claim.spec.elastic_gpu_name else _free(view, want)


def admitted(device: ElasticGPU) -> bool:
    """Whether the device has its room: made by us, or by an admin and let in by the ledger."""
    if PROVISIONED_BY in device.metadata.annotations and device.status.phase in ("", "Pending"):
        return True
    return device.status.phase in ("Available", BOUND, "Released")


def _unheld(claim: ElasticGPUClaim, device: ElasticGPU) -> bool:
    """Whether no pod has the device. One that was withdrawn was allocated to a pod without node."""
    rows = claim.status.users and device.status.reason != WITHDRAWN
    return not rows and not device.status.prepared_for and device.claim_uid == claim.uid


def _complete(claim: ElasticGPUClaim, device: ElasticGPU) -> bool:
    """Whether all four writes are there."""
    return (
        device.claim_uid == claim.uid
        and device.status.phase == BOUND
        and claim.status.phase == BOUND
    )


def _named(view: ClaimView, want: Demand) -> Decision:
    """The person chose the device: it is checked, or waited for, but no other one is taken."""
    name, device = view.claim.spec.elastic_gpu_name, view.named
    if device is None:
        missing = f"ElasticGPU {name} does not exist yet: waiting for it"
        return Wait("DeviceMissing", missing, event=None)
    ref = device.spec.claim_ref
    if ref is not None and ref.uid not in ("", view.claim.uid):
        taken = f"ElasticGPU {name} belongs to {ref.namespace}/{ref.name}"
        chosen = BOUND_BY_CONTROLLER in view.claim.metadata.annotations
        return Contradiction(taken) if chosen else Wait("DeviceTaken", taken)
    if ref is not None and ref.key != view.claim.key:
        return Wait("DeviceTaken", f"ElasticGPU {name} is reserved for {ref.namespace}/{ref.name}")
    if device.claim_uid == view.claim.uid:
        return _resume(device)
    if device.status.phase in ("", "Pending") and not device.terminating:
        return _pending(device)
    if problem := unsuitable(
        view.claim, view.class_name or "", want, Candidate(device), by_name=True
    ):
        return Wait("DeviceMismatch", f"ElasticGPU {name} {problem}")
    return Bind(device)


def _free(view: ClaimView, want: Demand) -> Decision | Seek:
    """Nothing is chosen: ours already, reserved for us, the best fit, or a new one."""
    for device in view.reserved:
        if device.claim_uid == view.claim.uid:
            return _resume(device)
    if view.in_progress:
        return Settled()
    if view.creating is not None:
        return Create(view.creating)
    answers = [answer for d in view.reserved if (answer := _reserved(want, d)) is not None]
    if answers:
        return next((a for a in answers if isinstance(a, Bind)), answers[0])
    if view.company:
        return Seek(want, _maker(view, want))
    own_class = view.class_name or ""
    for candidate in view.available(want):
        if unsuitable(view.claim, own_class, want, candidate) is None:
            return Bind(candidate.device)
    return _provision(view, want)


def _resume(device: ElasticGPU) -> Decision:
    """The lock is ours already: go on, unless the device is not to be had after all."""
    name, status = device.name, device.status
    if device.terminating:
        return Wait("DeviceTerminating", f"ElasticGPU {name} is being deleted: waiting for its end")
    if given_up(device):
        return Wait("DeviceGivenUp", f"ElasticGPU {name} is given up: waiting for its end")
    if status.phase == "Failed":
        return Wait("DeviceFailed", f"ElasticGPU {name} is Failed: {status.message or 'no reason'}")
    if not admitted(device):
        return _pending(device)
    return Bind(device)


def _pending(device: ElasticGPU) -> Wait:
    """The ledger has not looked at it yet, which takes a moment."""
    message = f"ElasticGPU {device.name} is not yet Available: waiting for it"
    return Wait("DevicePending", message, event=None)


def _reserved(want: Demand, device: ElasticGPU) -> Decision | None:
    """A device reserved for this claim's name goes before best fit, class and selector."""
    if device.terminating or too_small(want, device) is not None:
        return None
    match device.status.phase:
        case "Available":
            return Bind(device)
        case "" | "Pending":
            return _pending(device)
        case "Bound" | "Released" | "Failed":
            return None


def _maker(view: ClaimView, want: Demand) -> Maker | Wait:
    """Who makes a device for the claim, or why nobody does, wherever there is room."""
    name, gpu_class = view.class_name, view.gpu_class
    if name is None:
        missing = f"it names no class and none is the default; {_known(view)}"
        return Wait("NoClass", missing, event="Normal")
    if name == "":
        none = Nowhere("no ElasticGPU without a class fits it; none is made for class ''")
        return Wait("NoDevice", none.said(hint(view, want)), event="Normal")
    if gpu_class is None:
        return Wait("UnknownClass", f"there is no ElasticGPUClass {name}; {_known(view)}")
    if view.placer is None:
        return Wait(
            "NoProvisioner",
            f"class {name} wants provisioner {gpu_class.spec.provisioner}, which is not installed; "
            f"installed: {', '.join(view.provisioners) or 'none'}",
        )
    if view.refusal is not None and stands(view.refusal, view.claim, gpu_class):
        effect = EFFECTS[view.refusal.answer.kind]
        words = view.refusal.answer.words
        return Wait(effect.reason, words, "Warning" if effect.warn else None)
    return Maker(gpu_class, view.placer)


def _provision(view: ClaimView, want: Demand) -> Decision:
    match _maker(view, want):
        case Maker(gpu_class, placer):
            found = placement.place(wish(view, want), placer, view.nodes)
            if isinstance(found, Placed):
                return Provision(gpu_class, want, found.node, found.place)
            return Wait("NoCapacity", found.said(hint(view, want)))
        case why:
            return why


def wish(view: ClaimView, want: Demand) -> Wish:
    """What the claim asks of placement."""
    order = view.gpu_class.spec.placement if view.gpu_class else Placement()
    return Wish(want, view.claim.spec.gpu_selector, order)


def offered(view: ClaimView, want: Demand) -> recycling.Offer | None:
    """What giving back Released devices would do for the claim; None if nothing."""
    asked = wish(view, want)
    return recycling.offer(
        view.claim, view.class_name or "", asked, view.released(), view.placer, view.nodes
    )


def hint(view: ClaimView, want: Demand) -> str:
    """The same in a sentence; empty if there is nothing to say."""
    found = offered(view, want)
    return found.sentence if found else ""


def _known(view: ClaimView) -> str:
    names = ", ".join(view.classes[:8])
    return f"known classes: {names}" if names else "there are no classes: create one"


def unserved(
    claim: ElasticGPUClaim, why: Wait | Lost, class_name: str, *, now: str
) -> ElasticGPUClaim:
    """The claim's status while nothing serves it, or since its device was lost."""
    condition = Condition(
        type="Bound", status="False", reason=why.reason, message=why.message[:4096]
    )
    return claim.with_status(
        phase="Lost" if isinstance(why, Lost) else "Pending",
        class_name=class_name or claim.status.class_name,
        capacity={},
        conditions=merge_condition(claim.status.conditions, condition, now=now),
    )
