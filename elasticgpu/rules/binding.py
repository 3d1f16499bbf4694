"""What a claim needs next: the PersistentVolume transaction as one pure decision.

A `Bind` is the four writes of `rules/transaction.py`. Nothing is ever rolled back: whatever write
was the last before a crash, the next decision is the same `Bind` and goes on from there.
"""

from __future__ import annotations

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Condition, merge_condition
from elasticgpu.api.names import BIND_COMPLETED, BOUND_BY_CONTROLLER, PROVISIONED_BY
from elasticgpu.api.vocabulary import Demand, demand
from elasticgpu.errors import Refused

from .decisions import (
    Bind,
    ClaimView,
    Contradiction,
    Create,
    Decision,
    Lost,
    Seek,
    Settled,
    Unbind,
    Wait,
)
from .fitting import Candidate, too_small, unsuitable
from .making import maker, provision
from .transaction import BOUND, WITHDRAWN, given_up, why_given_up


def decide(view: ClaimView) -> Decision | Seek:
    """What to do about a claim; `Seek` only if it is in company."""
    claim = view.claim
    if claim.terminating:
        return _leaving(view)
    try:
        completed = BIND_COMPLETED in claim.metadata.annotations
        return _completed(view) if completed else _unfinished(view)
    except ValueError as error:
        return Wait("InvalidRequest", str(error))
    except Refused as error:
        return Wait("Refused", error.reason)


def _leaving(view: ClaimView) -> Decision | Seek:
    """A claim that is being deleted is bound to nothing new. What it had stays its own as long as
    a pod keeps it, or is missed."""
    claim = view.claim
    if BIND_COMPLETED not in claim.metadata.annotations or claim.status.phase != BOUND:
        return Settled()
    answer = _completed(view)
    return answer if isinstance(answer, Bind | Lost) else Settled()


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
    kept = claim.status.phase == device.status.phase == BOUND
    if device.claim_uid != claim.uid and device.terminating and not kept:
        return Lost("DeviceLost", f"ElasticGPU {name} is being deleted")
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
        return Seek(want, maker(view, want))
    own_class = view.class_name or ""
    for candidate in view.available(want):
        if unsuitable(view.claim, own_class, want, candidate) is None:
            return Bind(candidate.device)
    return provision(view, want)


def _resume(device: ElasticGPU) -> Decision:
    """The lock is ours already: go on, unless the device is not to be had after all."""
    name, status = device.name, device.status
    if given_up(device) and status.reason == WITHDRAWN:
        # What the claim says already. It is about to go elsewhere: nobody has to act.
        return Wait(WITHDRAWN, why_given_up(device), event=None)
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
