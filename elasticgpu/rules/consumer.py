"""Which nodes a pod may run on, and why not on the others: what the scheduler would say of them.

Looked at before a device is placed for the pod: node selector, required node affinity, taints,
cordons, and what is free besides cards. What only the scheduler knows (ports, volumes, other
pods' affinity, its own configuration) it says by finding the pod unschedulable there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from elasticgpu.api.core import Node, NodeRequirement, NodeSelectorTerm, Pod, Taint, Toleration
from elasticgpu.api.gpuclass import Topology
from elasticgpu.api.quantity import format_bytes

from .occupancy import CPU, Amounts, amount, requests

CORDONED = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
"""The taint that a pod has to tolerate for a cordoned node."""

KEEPING_AWAY = ("NoSchedule", "NoExecute")
"""Effects of taints that keep a new pod away."""

INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Consumer:
    """A pod that waits for its devices, and what it takes of a node besides them."""

    pod: Pod
    takes: Amounts

    @classmethod
    def of(cls, pod: Pod) -> Consumer:
        """The pod as a consumer. Raises ValueError if one of its requests is no quantity."""
        return cls(pod, requests(pod))


def unsuited(consumer: Consumer, name: str, node: Node | None, taken: Amounts) -> str | None:
    """Why the pod cannot run on the node of this name, in words; None if nothing speaks against it.

    `taken` is what other pods take of it.
    """
    pod = consumer.pod
    if pod.spec.node_name:
        return None if name == pod.spec.node_name else f"the pod is on {pod.spec.node_name}"
    if node is None:
        return "there is no such node"
    return _unselected(pod, node) or _tainted(pod, node) or _full(consumer.takes, node, taken)


def outside(topologies: Sequence[Topology], node: Node | None) -> str | None:
    """Why new devices of a class may not be on the node; None if they may."""
    labels = node.metadata.labels if node else {}
    inside = any(
        all(labels.get(term.key) in term.values for term in topology.match_label_expressions)
        for topology in topologies
    )
    return None if inside or not topologies else "its class does not allow that node"


def _unselected(pod: Pod, node: Node) -> str | None:
    labels = node.metadata.labels
    for key, value in pod.spec.node_selector.items():
        if labels.get(key) != value:
            return f"it is not labelled {key}={value}"
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    if required and not any(fits(term, node) for term in required.node_selector_terms):
        return "it does not fit the pod's node affinity"
    return None


def fits(term: NodeSelectorTerm, node: Node) -> bool:
    """Whether a term of a node selector holds for the node."""
    fields = {"metadata.name": node.name}
    expressions = [
        *(_meets(one, node.metadata.labels) for one in term.match_expressions),
        *(_meets(one, fields) for one in term.match_fields),
    ]
    return bool(expressions) and all(expressions)


def _meets(one: NodeRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(one.key)
    match one.operator:
        case "In":
            return value in one.values
        case "NotIn":
            return value not in one.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" if len(one.values) == 1 and _whole(value) and _whole(one.values[0]):
            have, bound = int(value or 0), int(one.values[0])
            return have > bound if one.operator == "Gt" else have < bound
        case _:
            return False


def _whole(value: str | None) -> bool:
    """Whether it is an integer of 64 bits, as the scheduler reads one."""
    if value is None or not INTEGER.fullmatch(value):
        return False
    return -(1 << 63) <= int(value) < 1 << 63


def _tainted(pod: Pod, node: Node) -> str | None:
    if node.spec.unschedulable and not _tolerated(CORDONED, pod.spec.tolerations):
        return "it is cordoned"
    for taint in node.spec.taints:
        if taint.effect in KEEPING_AWAY and not _tolerated(taint, pod.spec.tolerations):
            value = f"={taint.value}" if taint.value else ""
            return f"the pod does not tolerate its taint {taint.key}{value}:{taint.effect}"
    return None


def _tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    return any(_tolerates(one, taint) for one in tolerations)


def _tolerates(one: Toleration, taint: Taint) -> bool:
    if one.effect not in ("", taint.effect) or one.key not in ("", taint.key):
        return False
    match one.operator:
        case "Exists":
            return True
        case "" | "Equal":
            return bool(one.key) and one.value == taint.value
        case _:
            return False


def _full(takes: Amounts, node: Node, taken: Amounts) -> str | None:
    allocatable = node.status.allocatable
    for name, wanted in takes.items():
        if "/" in name and name not in allocatable:
            continue  # a DeviceClass may stand for it, which is for the scheduler to know
        free = amount(name, allocatable.get(name, 0)) - taken.get(name, 0)
        if 0 < wanted > free:
            return f"{_said(name, free)} {name} free, {_said(name, wanted)} wanted"
    return None


def _said(name: str, value: int) -> str:
    if name == CPU:
        return f"{value}m"
    return format_bytes(value) if value >= 1024 else str(value)
