"""What a device needs next, once nobody is binding it: admission, release, reclaim, rollback.

The answer is decided on cached facts; `Release` and `Roll back` are acted on only after the claim
was looked up live, so nothing is ever freed on stale information.
"""

from __future__ import annotations

from dataclasses import dataclass

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import DevicePhase, ElasticGPU
from elasticgpu.api.meta import Condition, merge_condition
from elasticgpu.api.names import BOUND_BY_CONTROLLER, DEVICE_PROTECTION, PROVISIONED_BY

from .ledger import OVERCOMMITTED
from .releasing import RELEASE_FAILED
from .transaction import NODE_LOST, given_up


@dataclass(frozen=True, slots=True)
class DeviceView:
    """All that decides about one device.

    `claim` is the one it points at, `named_by` one that is bound to it by its own word; `lacks`
    says what an admin's device has no room for, `lost` why its node is lost, `cards` whether all
    its cards are known.
    """

    device: ElasticGPU
    claim: ElasticGPUClaim | None = None
    named_by: ElasticGPUClaim | None = None
    lacks: str | None = None
    lost: str | None = None
    cards: bool = True


@dataclass(frozen=True, slots=True)
class Keep:
    """Nothing to do."""


@dataclass(frozen=True, slots=True)
class Admit:
    """It has room (or always had): it becomes Available."""


@dataclass(frozen=True, slots=True)
class Deny:
    """An admin made it where there is no room: it becomes Failed, and holds nothing."""

    message: str


@dataclass(frozen=True, slots=True)
class Release:
    """Its claim is gone: it becomes Released."""


@dataclass(frozen=True, slots=True)
class Delete:
    """Its policy says so: free what it stands for outside the cluster, then the object goes."""


@dataclass(frozen=True, slots=True)
class RollBack:
    """Its claim took another device: it becomes free again."""


@dataclass(frozen=True, slots=True)
class Lose:
    """Its node is lost: it becomes Failed, and its claim gets another one when no pod has it."""

    message: str


@dataclass(frozen=True, slots=True)
class Recover:
    """Its node is there again, and its claim has it still: it becomes Bound."""


@dataclass(frozen=True, slots=True)
class InUse:
    """Somebody deleted it under its claim: it stays, and says so."""

    message: str


@dataclass(frozen=True, slots=True)
class Unprotect:
    """It is being deleted and no claim holds it: our finalizer goes."""


Decision = Keep | Admit | Deny | Release | Delete | RollBack | Lose | Recover | InUse | Unprotect


def decide(view: DeviceView) -> Decision:
    """What to do about a device."""
    device, phase = view.device, view.device.status.phase
    if _unadmitted(device) and not device.terminating:
        return _unclaimed(view, phase)
    if device.claim_uid and not _claim_lives(view):
        return _ownerless(device)
    if view.named_by is not None:
        return Keep()  # somebody took its claimRef away: its claim is about to write it again
    if view.lost is not None and _can_be_lost(device):
        return Lose(f"{view.lost}: its claim gets another ElasticGPU once no pod has this one")
    if device.claim_uid and device.terminating and not _claim_names_it(view):
        return _ownerless(device)
    if device.terminating:
        return _deleted(view)
    if device.claim_uid:
        return _spare(device) if _claim_elsewhere(view) else _kept(view)
    return _unclaimed(view, phase)


def _can_be_lost(device: ElasticGPU) -> bool:
    """Whether it is, or could be, for a claim. A Released one with a claimRef is a person's."""
    phase = device.status.phase
    return phase != "Failed" and not (phase == "Released" and device.claim_uid)


def _claim_lives(view: DeviceView) -> bool:
    return view.claim is not None and view.claim.uid == view.device.claim_uid


def _unadmitted(device: ElasticGPU) -> bool:
    """Made by an admin, whatever its claimRef says, and not yet let in by the ledger."""
    status = device.status
    denied = status.phase == "Failed" and status.reason == OVERCOMMITTED
    return not made_by_us(device) and (status.phase in ("", "Pending") or denied)


def _claim_names_it(view: DeviceView) -> bool:
    return view.claim is not None and view.claim.spec.elastic_gpu_name == view.device.name


def _claim_elsewhere(view: DeviceView) -> bool:
    bound_to = view.claim.spec.elastic_gpu_name if view.claim else ""
    waits = bound_to == "" and not given_up(view.device)
    return not waits and bound_to != view.device.name


def _protected(device: ElasticGPU) -> bool:
    return DEVICE_PROTECTION in device.metadata.finalizers


def _deleted(view: DeviceView) -> Decision:
    """Somebody deleted it: it stays while its claim has it."""
    ref = view.device.spec.claim_ref
    if ref is None or not ref.uid:
        return _going(view.device, freed_first=made_by_us(view.device))
    where = f"ElasticGPUClaim {ref.namespace}/{ref.name}"
    return InUse(f"is being deleted, but {where} has it: it goes when that is deleted")


def _kept(view: DeviceView) -> Decision:
    """Its claim has it, or will have it."""
    back = _lost_before(view.device) and view.lost is None and view.cards
    return Recover() if back and _claim_names_it(view) else Keep()


def _lost_before(device: ElasticGPU) -> bool:
    return device.status.phase == "Failed" and device.status.reason == NODE_LOST


def _ownerless(device: ElasticGPU) -> Decision:
    """No claim needs it: first Released is written down, then it is reclaimed."""
    if device.status.phase not in ("Released", "Failed"):
        return Release()
    if device.terminating:
        return _going(device, freed_first=not _unadmitted(device))
    return Delete() if device.spec.reclaim_policy == "Delete" else Keep()


def _going(device: ElasticGPU, *, freed_first: bool) -> Decision:
    """Somebody deleted it: what it stands for goes before the object, if its policy says so."""
    if not _protected(device):
        return Keep()
    deletes = device.spec.reclaim_policy == "Delete" or (made_by_us(device) and given_up(device))
    return Delete() if freed_first and deletes else Unprotect()


def _spare(device: ElasticGPU) -> Decision:
    """Its claim took another: what was made for that claim goes, the rest is free again.

    What was made for it and given up goes whatever its policy says: it never served, or what was on
    it went with its node.
    """
    if made_by_us(device) and given_up(device):
        return Delete()
    if made_by_us(device) and device.spec.reclaim_policy == "Delete":
        return _ownerless(device)
    return RollBack()


def _unclaimed(view: DeviceView, phase: DevicePhase) -> Decision:
    denied = phase == "Failed" and view.device.status.reason == OVERCOMMITTED
    lacks = view.lost or view.lacks
    match phase:
        case "Available":
            return Keep()
        case "Bound" | "Released":
            return Admit()
        case "" | "Pending" | "Failed":
            if _lost_before(view.device):
                return Admit() if view.lost is None and view.cards else Keep()
            if phase == "Failed" and not denied:
                recycled = view.device.status.reason == RELEASE_FAILED
                return Admit() if recycled and view.lost is None else Keep()
            if lacks is None:
                return Admit()
            same = denied and view.device.status.message == lacks
            return Keep() if same else Deny(lacks)


def in_phase(
    device: ElasticGPU, phase: DevicePhase, *, now: str, reason: str = "", message: str = ""
) -> ElasticGPU:
    """The device with this phase, and a Bound condition that agrees with it."""
    condition = Condition(
        type="Bound", status="False", reason=reason or phase, message=message[:1024]
    )
    return device.with_status(
        phase=phase,
        reason=reason,
        message=message[:1024],
        conditions=merge_condition(device.status.conditions, condition, now=now),
    )


def rolled_back(device: ElasticGPU) -> ElasticGPU:
    """The device without its claim: no reference if we made it, no uid in it if a person did."""
    annotations = dict(device.metadata.annotations)
    ours = annotations.pop(BOUND_BY_CONTROLLER, None) is not None
    ref = device.spec.claim_ref
    kept = None if ours or ref is None else ref.but(uid="")
    return device.but(spec=device.spec.but(claim_ref=kept)).with_metadata(annotations=annotations)


def made_by_us(device: ElasticGPU) -> bool:
    """Whether the controller made it for a claim, not an admin ahead of time."""
    return PROVISIONED_BY in device.metadata.annotations
