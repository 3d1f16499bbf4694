"""Where a company goes: one node for all of its claims that have no device yet, or why none.

Its pods have their say in the node, those of the company that have a device fix it, and nodes that
were tried in vain are left out until there is no other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from elasticgpu.api.core import Node
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpuclass import Topology

from . import making
from .colocation import Find, Judge, Seeker, Together, together
from .consumer import Consumer, outside, unsuited
from .decisions import Bind, ClaimView, Lost, Maker, Provision, Seek, Wait
from .fitting import unsuitable
from .fleet import Among
from .occupancy import Amounts


@dataclass(frozen=True, slots=True)
class CompanyView:
    """All that decides about a claim with its company, read at one moment.

    `members` are the claims, the one that is asked about first; `absent` says in words who is
    missing. `consumers` are the pods that wait for them; `refusals` what the scheduler said of
    nodes that were tried for those, by node. `node` and `taken` look a node up: the object, and
    what all pods but the one of this uid take of it.
    """

    members: tuple[ClaimView, ...]
    absent: tuple[str, ...] = ()
    consumers: tuple[Consumer, ...] = ()
    refusals: Mapping[str, str] = field(default_factory=dict)
    node: Callable[[str], Node | None] = lambda name: None
    taken: Callable[[str, str], Amounts] = lambda name, uid: {}


@dataclass(frozen=True, slots=True)
class Part:
    """What one claim of a company gets, and its first write: a free device, or a new one."""

    view: ClaimView
    what: Bind | Provision


@dataclass(frozen=True, slots=True)
class Place:
    """Carry out the first writes of all of them, on this node; their binds go on from there."""

    node: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class StartAnew:
    """Every node that would do was tried in vain: after a pause all are tried again."""

    message: str


Seeking = Sequence[tuple[ClaimView, Seek]]


def sought(
    view: CompanyView, seeking: Seeking, homes: Mapping[str, str]
) -> Place | Wait | StartAnew:
    """A place for each of these, or why there is none. `homes` are the nodes on which the others
    of the company are, and who is there."""
    if len(homes) > 1:
        places = ", ".join(f"{name} on {node}" for node, name in sorted(homes.items()))
        return Wait("Apart", f"its company is on different nodes ({places}): nothing can join all")
    seekers = [_seeker(member, seek, view) for member, seek in seeking]
    fleet = view.members[0].nodes
    tried = {node for member in view.members for node in member.claim.status.excluded_nodes}
    judge = partial(_against, view, homes, tried)
    found = together(seekers, fleet, judge)
    if isinstance(found, Together):
        return _place(found, seeking)
    again = together(seekers, fleet, partial(_against, view, homes, ())) if tried else None
    if isinstance(again, Together):
        return StartAnew(_tried(view, tried))
    for member, seek in seeking:
        if isinstance(seek.maker, Wait):
            own = member is view.members[0]
            return seek.maker if own else goes_with(member.claim.name, seek.maker)
    return Wait("NoCapacity", found.said(_hint(seeking, judge)))


def _against(
    view: CompanyView, homes: Mapping[str, str], tried: Collection[str], name: str
) -> str | None:
    """What speaks against this node, whatever its cards have free; None if nothing does."""
    if not name:
        return None
    for home, whose in homes.items():
        if name != home:
            return f"{whose} is on {home}"
    if name in tried:
        return "it was tried in vain" + _said(view, name)
    for consumer in view.consumers:
        taken = view.taken(name, consumer.pod.uid)
        if reason := unsuited(consumer, name, view.node(name), taken):
            return f"pod {consumer.pod.name}: {reason}"
    return None


def _said(view: CompanyView, node: str) -> str:
    return f": {view.refusals[node]}" if node in view.refusals else ""


def _tried(view: CompanyView, tried: Iterable[str]) -> str:
    nodes = "; ".join(name + _said(view, name) for name in sorted(tried))
    return f"every node that would do was tried in vain: {nodes}"


def _seeker(member: ClaimView, seek: Seek, view: CompanyView) -> Seeker:
    own_class = member.class_name or ""
    fits = (
        candidate.device
        for candidate in member.available(seek.want)
        if unsuitable(member.claim, own_class, seek.want, candidate) is None
    )
    name, wish = member.claim.name, making.wish(member, seek.want)
    match seek.maker:
        case Maker(gpu_class, placer):
            allowed = gpu_class.spec.allowed_topologies if member.pool is None else ()
            barred = partial(_barred, view, allowed)
            return Seeker(name, wish, tuple(fits), placer, barred, member.pool)
        case _:
            return Seeker(name, wish, tuple(fits))


def _barred(view: CompanyView, allowed: Sequence[Topology], node: str) -> str | None:
    return outside(allowed, view.node(node)) if allowed else None


def _place(found: Together, seeking: Seeking) -> Place:
    finds = zip(seeking, found.finds, strict=True)
    parts = (
        Part(member, _what(seek, found.node if member.pool is None else "", find))
        for (member, seek), find in finds
    )
    return Place(found.node, tuple(parts))


def _what(seek: Seek, node: str, find: Find) -> Bind | Provision:
    if isinstance(find, ElasticGPU):
        return Bind(find)
    assert isinstance(seek.maker, Maker)  # a slice is cut only by who makes
    return Provision(seek.maker.gpu_class, seek.want, node, find)


def _hint(seeking: Seeking, judge: Judge) -> str:
    """What giving back Released devices would do, where that is easily said."""
    if len(seeking) > 1:
        return ""
    ((member, seek),) = seeking
    among = replace(member, nodes=Among(member.nodes, lambda name: judge(name) is None))
    return making.hint(among, seek.want)


def goes_with(name: str, why: Wait | Lost) -> Wait:
    """What a claim waits for of whose company this one is stuck."""
    event = why.event if isinstance(why, Wait) else "Warning"
    return Wait("CompanyWaits", f"it goes with {name}, which waits: {why.message}", event)
