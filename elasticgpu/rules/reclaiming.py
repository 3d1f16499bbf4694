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
from .transaction import given_up


@dataclass(frozen=True, slots=True)
class DeviceView:
    """All that decides about one device: itself, the claim it points at, what it lacks."""

    device: ElasticGPU
    claim: ElasticGPUClaim | None = None
    lacks: str | None = None


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
class Unprotect:
    """It is being deleted and no claim holds it: our finalizer goes."""


Decision = Keep | Admit | Deny | Release | Delete | RollBack | Unprotect


def decide(view: DeviceView) -> Decision:
    """What to do about a device."""
    device, phase = view.device, view.device.status.phase
    if _unadmitted(device) and not device.terminating:
        return _unclaimed(view, phase)
    if device.claim_uid and not _claim_lives(view):
        return _ownerless(device)
    if device.claim_uid and device.terminating and not _claim_names_it(view):
        return _ownerless(device)
    if device.terminating:
        return _going(device, freed_first=made_by_us(device)) if not device.claim_uid else Keep()
    if device.claim_uid:
        return _spare(device) if _claim_elsewhere(view) else Keep()
    return _unclaimed(view, phase)


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

    One that was given up never served: it goes whatever its policy says.
    """
    if made_by_us(device) and given_up(device):
        return Delete()
    if made_by_us(device) and device.spec.reclaim_policy == "Delete":
        return _ownerless(device)
    return RollBack()


def _unclaimed(view: DeviceView, phase: DevicePhase) -> Decision:
    denied = phase == "Failed" and view.device.status.reason == OVERCOMMITTED
    match phase:
        case "Available":
            return Keep()
        case "Bound" | "Released":
            return Admit()
        case "" | "Pending" | "Failed":
            if phase == "Failed" and not denied:
                recycled = view.device.status.reason == RELEASE_FAILED
                return Admit() if recycled else Keep()
            if view.lacks is None:
                return Admit()
            same = denied and view.device.status.message == view.lacks
            return Keep() if same else Deny(view.lacks)


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
