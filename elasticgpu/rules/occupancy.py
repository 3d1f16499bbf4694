"""What pods ask of their nodes besides cards: CPU, memory, their number; and the sum by node.

A device for a pod is placed only where the pod itself has room. The formula is the scheduler's;
only what nodes themselves hand out is counted, in whole units: CPU in thousandths, bytes, pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any, ClassVar

from elasticgpu.api.core import Pod
from elasticgpu.api.meta import KubeObject, ObjectMeta, Resource
from elasticgpu.api.quantity import parse

Amounts = Mapping[str, int]
"""By resource name: `cpu` in thousandths of a CPU, `memory` in bytes, `pods` in pieces, …"""

Exact = dict[str, Fraction]
CPU, PODS = "cpu", "pods"


class Tenant(KubeObject):
    """A pod as far as it takes room on its node, and nothing else: there are many of them."""

    resource: ClassVar[Resource] = Pod.resource

    node: str = ""
    takes: dict[str, int] = {}


def tenant(raw: dict[str, Any]) -> Tenant:
    """What a pod on its node takes of it, read from the pod as it travels.

    One that has ended is on none.
    """
    pod = Pod.model_validate(raw)
    meta = pod.metadata
    name = ObjectMeta(
        name=meta.name,
        namespace=meta.namespace,
        uid=meta.uid,
        resource_version=meta.resource_version,
    )
    try:
        takes = dict(requests(pod))
    except ValueError:  # no server lets it in; it must not keep the others from being counted
        takes = {PODS: 1}
    return Tenant(metadata=name, node="" if pod.finished else pod.spec.node_name, takes=takes)


def requests(pod: Pod) -> Amounts:
    """What the scheduler counts for a pod.

    Containers run together with all sidecars; each init container runs with the sidecars before
    it; the most that is ever needed at once counts, plus the runtime's overhead. What the pod as
    a whole requests stands instead of the sum of its containers.
    """
    sidecars: Exact = {}
    starting: Exact = {}
    for container in pod.spec.init_containers:
        own = _exact(container.resources.requests)
        now = _sum((sidecars, own))
        if container.restart_policy == "Always":
            sidecars = now
        starting = _most(starting, now)
    running = _sum((sidecars, *(_exact(c.resources.requests) for c in pod.spec.containers)))
    needed = _most(running, starting)
    whole = _exact(pod.spec.resources.requests)
    needed |= {name: amount for name, amount in whole.items() if _of_pods(name)}
    needed = _sum((needed, _exact(pod.spec.overhead)))
    return {PODS: 1, **{name: _rounded(name, amount) for name, amount in needed.items()}}


def amount(name: str, value: int | str) -> int:
    """A quantity of this resource in whole units, rounded up. Raises ValueError if it is none."""
    return _rounded(name, _parsed(value))


def _rounded(name: str, exact: Fraction) -> int:
    return ceil(exact * 1000) if name == CPU else ceil(exact)


def _of_pods(name: str) -> bool:
    """Whether a pod as a whole can request it."""
    return name in (CPU, "memory") or name.startswith("hugepages-")


@lru_cache(maxsize=4096)
def _parsed(value: int | str) -> Fraction:
    return parse(value)


def _exact(amounts: Mapping[str, int | str]) -> Exact:
    return {name: _parsed(value) for name, value in amounts.items()}


def _sum(parts: Iterable[Exact]) -> Exact:
    total: Exact = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total.get(name, Fraction(0)) + value
    return total


def _most(one: Exact, other: Exact) -> Exact:
    zero = Fraction(0)
    return {name: max(one.get(name, zero), other.get(name, zero)) for name in {*one, *other}}


@dataclass(frozen=True, slots=True)
class _Stay:
    node: str
    takes: Amounts
    expected: bool


class Occupancy:
    """What the pods on each node take of it, in sum; fed one pod at a time.

    A pod whose devices were placed is expected on their node before the scheduler has bound it:
    else many pods placed at once would all be sent where only the first has room.
    """

    def __init__(self) -> None:
        self._stays: dict[str, _Stay] = {}
        self._taken: dict[str, dict[str, int]] = {}

    def arrive(self, uid: str, node: str, takes: Amounts) -> None:
        """The pod of this uid is on this node, whatever was expected."""
        self._set(uid, _Stay(node, takes, expected=False))

    def expect(self, uid: str, node: str, takes: Amounts) -> None:
        """The pod will be on this node, unless it is somewhere already."""
        if self.expected(uid) or uid not in self._stays:
            self._set(uid, _Stay(node, takes, expected=True))

    def leave(self, uid: str) -> None:
        """The pod is on no node any more."""
        old = self._stays.pop(uid, None)
        if old is not None:
            self._add(old.node, old.takes, -1)

    def give_up(self, uid: str) -> None:
        """The pod is not expected any more."""
        if self.expected(uid):
            self.leave(uid)

    def expected(self, uid: str) -> bool:
        """Whether the pod is expected on a node and not yet there."""
        stay = self._stays.get(uid)
        return stay is not None and stay.expected

    def on(self, node: str, *, without: str = "") -> Amounts:
        """What is taken of the node, as if the pod `without` were not there."""
        taken = self._taken.get(node, {})
        stay = self._stays.get(without)
        if stay is None or stay.node != node:
            return taken
        return {name: value - stay.takes.get(name, 0) for name, value in taken.items()}

    def _set(self, uid: str, stay: _Stay) -> None:
        self.leave(uid)
        self._stays[uid] = stay
        self._add(stay.node, stay.takes, 1)

    def _add(self, node: str, takes: Amounts, sign: int) -> None:
        taken = self._taken.setdefault(node, {})
        for name, value in takes.items():
            taken[name] = taken.get(name, 0) + sign * value
        if not taken.get(PODS):
            del self._taken[node]
