"""Who holds a claim: the rows of `status.users`.

An unshared claim has one holder, a pod's uid, so that the second pod waits. A row goes when its
pod is finished or gone *and* the node has undone the device for it (`preparedFor`).

**Handing over is a pair of write-then-read.** The controller first writes the old row away and
only then reads `preparedFor` live before it writes a new row; the agent first writes its pod into
`preparedFor` and only then reads `status.users` live. Whichever of the two came first, the other
sees it: no interleaving lets two pods through.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from elasticgpu.api.claim import ClaimUser, ElasticGPUClaim
from elasticgpu.api.core import Pod
from elasticgpu.api.elasticgpu import ElasticGPU

from .entries import entries
from .transaction import NODE_LOST

MOST = 256
"""Rows of one claim, at most: the bound of the schema."""


@dataclass(frozen=True, slots=True)
class HoldersView:
    """A claim, its device, and the pods that name the claim.

    `others` are the uids of waiting pods that already hold another of their claims: they go
    first, so that two pods can never each hold what the other waits for.
    """

    claim: ElasticGPUClaim
    device: ElasticGPU | None = None
    pods: tuple[Pod, ...] = ()
    others: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Keep:
    """The rows are right."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Write these rows: the ones left after those that ended.

    `unseen` are rows of pods that are not known at all: each counts as gone after a live look.
    """

    users: tuple[ClaimUser, ...]
    unseen: tuple[ClaimUser, ...] = ()


@dataclass(frozen=True, slots=True)
class Add:
    """Write these rows, if `preparedFor`, read live, names no pod beyond them."""

    users: tuple[ClaimUser, ...]


Decision = Keep | Drop | Add


def decide(view: HoldersView) -> Decision:
    """What to do about a claim's rows."""
    rows = view.claim.status.users
    alive = {pod.uid: pod for pod in view.pods if not pod.finished and _can_have(pod, view.device)}
    prepared = view.device.status.prepared_for if view.device else []
    left = tuple(row for row in rows if row.pod_uid in alive or row.pod_uid in prepared)
    if len(left) < len(rows):
        known = {pod.uid for pod in view.pods}
        return Drop(left, tuple(r for r in rows if r not in left and r.pod_uid not in known))
    if not serves(view.claim, view.device):
        return Keep()
    new = _next(view, alive, left)
    return Add((*left, *(row_of(view.claim, pod) for pod in new))) if new else Keep()


def _can_have(pod: Pod, device: ElasticGPU | None) -> bool:
    """A pod without a node will never get to a node that is lost."""
    lost = device is not None and device.status.reason == NODE_LOST
    return bool(pod.spec.node_name) or not lost


def serves(claim: ElasticGPUClaim, device: ElasticGPU | None) -> bool:
    """Whether new pods may take the claim."""
    return (
        not claim.terminating
        and claim.status.phase == "Bound"
        and device is not None
        and device.status.phase == "Bound"
        and not device.terminating
        and device.claim_uid == claim.uid
    )


def _next(
    view: HoldersView, alive: Mapping[str, Pod], rows: tuple[ClaimUser, ...]
) -> tuple[Pod, ...]:
    held = {row.pod_uid for row in rows}
    waiting = [p for p in alive.values() if p.uid not in held and not p.terminating]
    waiting.sort(key=lambda p: turn(p, p.uid in view.others))
    if view.claim.spec.shared:
        return tuple(waiting[: MOST - len(rows)])
    return tuple(waiting[:1]) if not rows else ()


def turn(pod: Pod, holds_another: bool) -> tuple[bool, str, str]:
    """Sort key of the pods that wait for a claim: whose turn it is comes first."""
    return (not holds_another, pod.metadata.creation_timestamp, pod.uid)


def row_of(claim: ElasticGPUClaim, pod: Pod) -> ClaimUser:
    """The row of a pod on this claim: its uid, name, and the containers that see the device."""
    named = [entry for entry in entries(pod) if entry.key == claim.key]
    containers = sorted({name for entry in named for name in entry.containers})
    return ClaimUser(pod_uid=pod.uid, pod_name=pod.name, containers=containers)


def strangers(users: Iterable[ClaimUser], prepared_for: Iterable[str]) -> set[str]:
    """Pod uids for which the node still has the device though they hold no row."""
    return set(prepared_for) - {row.pod_uid for row in users}


def holds(claim: ElasticGPUClaim, pod_uid: str) -> bool:
    """Whether the pod holds the claim."""
    return any(row.pod_uid == pod_uid for row in claim.status.users)


def keepers(claim: ElasticGPUClaim, pods: Iterable[Pod]) -> list[str]:
    """Names of the pods for which a claim that is being deleted stays.

    Those that hold it, and those that have a node and name it: they may be about to use it.
    """
    named = {
        pod.name
        for pod in pods
        if pod.spec.node_name and not pod.finished and any(e.key == claim.key for e in entries(pod))
    }
    return sorted({*named, *(row.pod_name for row in claim.status.users)})
