"""What a claim needs next that does not decide alone where it goes.

Its company are the claims that have to be on its node: those of the pod it was made for or, if its
class waits for a pod, those of the first pod that names it, and those it is colocated with. The
pods that wait have their say in the node too, and nodes that were tried in vain are left out.

All of a company get a device on one node, or none does. So their first writes, the locks, come
before the second write of any: a claim that has its lock while another of its company seeks a
place goes on only with that one, and gives its device up if that is impossible. Whatever write was
the last before a crash, the locks that are there show what is left to do.
"""

from __future__ import annotations

from dataclasses import dataclass

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.names import BOUND_BY_CONTROLLER
from elasticgpu.errors import Refused

from . import binding
from .classes import WAIT_FOR_POD, waits_for_pod
from .decisions import (
    Bind,
    ClaimView,
    Contradiction,
    Create,
    Decision,
    Lost,
    Provision,
    Seek,
    Settled,
    Unbind,
    Wait,
)
from .seeking import CompanyView, Place, StartAnew, goes_with, sought


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The company cannot be completed around these devices: they go, and it starts anew."""

    devices: tuple[ElasticGPU, ...]
    message: str


@dataclass(frozen=True, slots=True)
class Forget:
    """The nodes it excludes were tried for a pod that waits no more: nothing is excluded now."""


@dataclass(frozen=True, slots=True)
class Later:
    """A write of its company is under way: look again in a moment."""


CompanyDecision = Decision | Place | GiveUp | StartAnew | Forget | Later


@dataclass(frozen=True, slots=True)
class _Standing:
    """One member: at a device, `half` if only its lock is written; or seeking a place; or, with
    none of these, about to be one of them in a moment."""

    view: ClaimView
    device: ElasticGPU | None = None
    half: bool = False
    seek: Seek | None = None
    stuck: Wait | Lost | None = None

    @property
    def name(self) -> str:
        return self.view.claim.name


def decide(view: CompanyView) -> CompanyDecision:
    """What to do about the first of the members."""
    first = view.members[0]
    own = binding.decide(first)
    if not isinstance(own, Seek) and not (isinstance(own, Bind) and _is_half(first, own.device)):
        return own
    if isinstance(own, Seek) and _outdated(view):
        return Forget()
    standings = [_standing(member, binding.decide(member)) for member in view.members]
    if not isinstance(own, Seek) and all(one.device for one in standings) and not view.absent:
        return own
    try:
        found = _placed(view, standings)
    except Refused as error:
        found = Wait("Refused", error.reason)
    halves = tuple(one.device for one in standings if one.half and one.device)
    if halves and isinstance(found, Wait | StartAnew):
        return GiveUp(halves, found.message)
    return found


def _outdated(view: CompanyView) -> bool:
    """Whether nodes are excluded for pods none of which waits any more.

    Those pods are told by their uids: dates of theirs and ours come from two clocks. What a
    provisioner excluded by itself is for any pod.
    """
    first, waiting = view.members[0], {one.pod.uid for one in view.consumers}
    said = first.claim.status
    if not said.excluded_nodes or not waits_for_pod(first.gpu_class):
        return False
    return waiting.isdisjoint(said.excluded_for or waiting)


def _is_half(view: ClaimView, device: ElasticGPU) -> bool:
    """Whether only the lock of this bind is written, and nobody but the controller chose it."""
    chosen = BOUND_BY_CONTROLLER in device.metadata.annotations
    named = view.claim.spec.elastic_gpu_name
    return chosen and device.claim_uid == view.claim.uid and not named


def _standing(view: ClaimView, decision: Decision | Seek) -> _Standing:
    match decision:
        case Seek():
            return _Standing(view, seek=decision)
        case Bind(device):
            return _Standing(view, device=device, half=_is_half(view, device))
        case Settled() if view.named is not None and not view.claim.terminating:
            return _Standing(view, device=view.named)
        case Settled() if not view.in_progress:
            return _Standing(view, stuck=Wait("Terminating", "it is being deleted"))
        case Wait() | Lost():
            return _Standing(view, stuck=decision)
        case Contradiction(message):
            return _Standing(view, stuck=Wait("DeviceTaken", message))
        case Settled() | Create() | Unbind() | Provision():
            return _Standing(view)


def _placed(view: CompanyView, standings: list[_Standing]) -> Place | Wait | StartAnew | Later:
    """A place for those of the company that have none, or why there is none."""
    for one in standings:
        if one.stuck is not None:
            return goes_with(one.name, one.stuck)
        if one.device is None and one.seek is None:
            return Later()
    if view.absent:
        return Wait("CompanyMissing", f"it waits for its company: {view.absent[0]}", event="Normal")
    seeking = [(one.view, one.seek) for one in standings if one.seek is not None]
    if any(waits_for_pod(member.gpu_class) for member, _ in seeking) and (why := _no_pod(view)):
        return why
    homes = {
        one.device.spec.node_name: one.name
        for one in standings
        if one.device and one.device.spec.node_name
    }
    return sought(view, seeking, homes)


def _no_pod(view: CompanyView) -> Wait | None:
    """Why no pod can say yet where the devices go; None if one can."""
    if not view.consumers:
        first = "its device is chosen when the first pod uses it"
        return Wait(WAIT_FOR_POD, first, event="Normal")
    for one in view.consumers:
        if one.pod.spec.scheduling_gates:
            gated = f"pod {one.pod.name} uses it first, and has scheduling gates"
            return Wait("PodGated", gated, event="Normal")
    return None
