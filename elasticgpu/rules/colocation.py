"""One node for claims that go together: for each a free device or a slice of its cards, or none.

Largest first, each slice's room taken off the node before the next one is sought, so that what is
answered fits as a whole. Nodes are tried in the order of placement. One claim whose pod has a say
in its node is sought a place here as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.vocabulary import describe

from . import mig, placement
from .fleet import Fleet, Held, NodeView, Ranking
from .ledger import Slice
from .placement import LONGEST, SHOWN, Nowhere, Placed, Placer, Wish

Find = ElasticGPU | Slice

Judge = Callable[[str], str | None]
"""Why the node of this name may not serve, in words; None if it may."""


def anywhere(node: str) -> None:
    """Every node may serve."""


@dataclass(frozen=True, slots=True)
class Seeker:
    """One claim, by its name: what it wishes, the free devices that serve it, the best fit first,
    and who cuts new ones, if anybody does; `barred` from some nodes, or cut from a `pool` outside
    the cluster, on whichever node."""

    name: str
    wish: Wish
    devices: tuple[ElasticGPU, ...] = ()
    placer: Placer | None = None
    barred: Judge = anywhere
    pool: NodeView | None = None


@dataclass(frozen=True, slots=True)
class Together:
    """The node, and what each seeker gets on it, in their order."""

    node: str
    finds: tuple[Find, ...]


def together(seekers: Sequence[Seeker], fleet: Fleet, judge: Judge) -> Together | Nowhere:
    """The best node for all seekers; deterministic, ties go by name. A device without node, being
    remote, is on every node.

    Raises Refused if a provisioner never serves what is sought.
    """
    if len(seekers) == 1 and (ready := _ready_made(seekers[0], judge)):
        return ready
    order = sorted(range(len(seekers)), key=lambda n: _size(seekers[n]))
    ordered = [seekers[n] for n in order]
    looked: list[tuple[str, str]] = []
    for node in _nodes(ordered, fleet):
        finds = judge(node.name) or _all_on(node, ordered)
        if not isinstance(finds, str):
            by_place = dict(zip(order, finds, strict=True))
            return Together(node.name, tuple(by_place[n] for n in range(len(seekers))))
        looked.append((node.name or "without a node", finds))
    return _explained(ordered, looked)


def _ready_made(seeker: Seeker, judge: Judge) -> Together | None:
    """What exists goes before what would have to be made, on whichever node it is."""
    for device in seeker.devices:
        node = device.spec.node_name
        if not node or judge(node) is None:
            return Together(node, (device,))
    return None


def _size(seeker: Seeker) -> tuple[object, ...]:
    """Sort key: whole cards first, then several, then MIG, and of that the larger."""
    want = seeker.wish.want
    share = (-want.core, -want.tflops, -want.memory, -want.memory_percentage)
    return (-want.gpus, -want.count, *mig.largest_first(want.mig), *share, seeker.name)


def _nodes(seekers: Sequence[Seeker], fleet: Fleet) -> Iterator[NodeView]:
    """Those with cards in the order of the largest seeker, then those of free devices alone; no
    node for what needs none."""
    if all(seeker.pool is not None for seeker in seekers):
        yield NodeView("", ())
        return
    known = set()
    for node in fleet.in_order(seekers[0].wish.order.node):
        known.add(node.name)
        yield node
    of_devices = {device.spec.node_name for seeker in seekers for device in seeker.devices}
    yield from (NodeView(name, ()) for name in sorted(of_devices - known))


def _all_on(node: NodeView, seekers: Sequence[Seeker]) -> list[Find] | str:
    """What each gets on this node, or who is the first that gets nothing, and why."""
    finds: list[Find] = []
    cuts: list[tuple[Slice, str]] = []
    for seeker in seekers:
        found = _free_device(seeker, node.name, finds) or _slice(seeker, _left(node, seeker, cuts))
        if isinstance(found, str):
            return f"{seeker.name}: {found}" if len(seekers) > 1 else found
        if isinstance(found, Slice) and seeker.placer is not None:
            cuts.append((found, seeker.placer.name))
        finds.append(found)
    return finds


def _left(node: NodeView, seeker: Seeker, cuts: Sequence[tuple[Slice, str]]) -> NodeView:
    """The cards that the seeker may be cut from, as they are after these cuts."""
    left = node if seeker.pool is None else seeker.pool
    for place, mode in cuts:
        left = _taken(left, place, mode)
    return left


def _free_device(seeker: Seeker, node: str, gone: Sequence[Find]) -> ElasticGPU | None:
    here = (d for d in seeker.devices if d.spec.node_name in ("", node) and d not in gone)
    return next(here, None)


def _slice(seeker: Seeker, node: NodeView) -> Slice | str:
    """A slice of the node's cards, or why there is none."""
    placer = seeker.placer
    if placer is None:
        return "no free device of its class fits, and none is made"
    if reason := seeker.barred(node.name):
        return reason
    if not node.cards:
        return "no free device fits, and it has no cards"
    match placement.place(seeker.wish, placer, Ranking((node,))):
        case Placed(place=place):
            return place
        case Nowhere(message, looks):
            lacks = (f"{c.name}: {placement.lack(seeker.wish, placer.name, c)}" for c in node.cards)
            return "; ".join(lacks) if looks else message


def _taken(node: NodeView, place: Slice, mode: str) -> NodeView:
    """The node as it is once this slice is cut from its cards."""
    cards = []
    for card in node.cards:
        parts = tuple(part for part in place.devices if part.gpu == card.name)
        core, memory = sum(p.core for p in parts), sum(p.memory_bytes for p in parts)
        left = replace(
            card,
            core_free=card.core_free - core,
            memory_free=card.memory_free - memory,
            mode=mode,
            held=(*card.held, Held("", mode, core, memory, parts)),
        )
        cards.append(left if parts else card)
    return replace(node, cards=tuple(cards))


def _explained(seekers: Sequence[Seeker], looked: Sequence[tuple[str, str]]) -> Nowhere:
    """Which nodes were looked at and what speaks against each, bounded."""
    names = ", ".join(sorted(seeker.name for seeker in seekers))
    wants = f"{names} together" if len(seekers) > 1 else describe(seekers[0].wish.want)
    none = f"no node can give {wants}"
    if not looked:
        return Nowhere(f"{none}: the cluster has no GPU objects")
    looks = (f"{name} ({why[:LONGEST]})" for name, why in looked[:SHOWN])
    rest = f"; and {len(looked) - SHOWN} more nodes" if len(looked) > SHOWN else ""
    return Nowhere(none, f"looked at {len(looked)}: {'; '.join(looks)}{rest}")
