"""What a node prepared and does not undo: undone in its place, or said, and by nobody guessed.

`status.preparedFor` and the finalizer `elasticgpu.io/node` are the agent's word that a container
may use the device. The controller takes them away in one case: the node is lost and the pods are
gone. A node that is merely silent, or whose agent is gone for good, frees nothing: a person has to
act, and is told where to look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Node
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Condition, find_condition
from elasticgpu.api.names import NODE_FINALIZER

from .nodes import OUT_OF_SERVICE, lost
from .transaction import BOUND, READY


@dataclass(frozen=True, slots=True)
class OnNodeView:
    """A device, its node (None: gone), and the claim that has it.

    `unready`: the node is not ready, and for long enough to be told; `overdue`: pods that the node
    prepared the device for are gone, and for so long that it should have undone it.
    """

    device: ElasticGPU
    node: Node | None
    claim: ElasticGPUClaim | None = None
    unready: bool = False
    overdue: bool = False


@dataclass(frozen=True, slots=True)
class Keep:
    """Nothing to do."""


@dataclass(frozen=True, slots=True)
class Undo:
    """The node is lost and nobody prepares the device any more: drop the rows of pods that are
    gone, and once none is left the agent's finalizer."""


@dataclass(frozen=True, slots=True)
class Say:
    """Write this condition on the device."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class Tell:
    """Write this condition on the claim."""

    claim: ElasticGPUClaim
    condition: Condition


Decision = Keep | Undo | Say | Tell


def decide(view: OnNodeView) -> Decision:
    """What to do in place of a device's node, or to say about it."""
    device, name = view.device, view.device.spec.node_name
    if not name:
        return Keep()
    if lost(name, view.node):
        return Undo() if touched(device) and not _preparable(device) else Keep()
    if said := _news(device.status.conditions, _not_undone(device) if view.overdue else None):
        return Say(said)
    claim = view.claim
    if claim is not None and (
        said := _news(claim.status.conditions, _not_ready(name) if view.unready else None)
    ):
        return Tell(claim, said)
    return Keep()


def touched(device: ElasticGPU) -> bool:
    """Whether its node has, or may have, something of it."""
    return bool(device.status.prepared_for) or NODE_FINALIZER in device.metadata.finalizers


def _preparable(device: ElasticGPU) -> bool:
    """Whether an agent would still prepare it: then what is undone could be done again."""
    return device.status.phase == BOUND and not device.terminating


def _news(conditions: Sequence[Condition], wrong: Condition | None) -> Condition | None:
    """The Ready condition to be written: what is wrong, or that it is so no longer."""
    there = find_condition(conditions, READY)
    if wrong is None:
        over = there is not None and there.status == "False"
        return Condition(type=READY, status="True", reason=READY) if over else None
    same = there is not None and (there.reason, there.message) == (wrong.reason, wrong.message)
    return None if same else wrong


def _not_undone(device: ElasticGPU) -> Condition:
    name, rows = device.spec.node_name, device.status.prepared_for
    pods = f"{', '.join(rows)}, which {'is' if len(rows) == 1 else 'are'} gone"
    what = f"has not undone it for pod {pods}" if rows else f"keeps finalizer {NODE_FINALIZER}"
    message = (
        f"node {name} {what}: see that the elasticgpu agent and the kubelet run there. If that "
        f"machine is off for good, delete the node or taint it {OUT_OF_SERVICE}; until then the "
        "device stays taken, for a container may still use it"
    )
    return Condition(type=READY, status="False", reason="NotUndone", message=message[:4096])


def _not_ready(name: str) -> Condition:
    message = (
        f"node {name} is not ready: what runs there may run on, so nothing is taken from it. If "
        f"that machine is off for good, delete the node or taint it {OUT_OF_SERVICE}"
    )
    return Condition(type=READY, status="False", reason="NodeNotReady", message=message)
