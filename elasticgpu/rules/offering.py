"""Room that Released devices keep: whom it would serve, were they given back (`recycling.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.quantity import format_bytes
from elasticgpu.errors import ElasticGPUError

from . import placement
from .fitting import Candidate, leftover, size, unsuitable
from .fleet import CardView, Fleet, Held, NodeView, Ranking
from .ledger import Ledger, Slice, shortage
from .placement import Placed, Placer, Wish
from .recycling import freed, waits_for_admin

NAMED = 10
"""How many devices a sentence names, so that it stays readable in a condition."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a claim without room would get if Released devices were given back.

    `count` devices hold `core` percent and `memory` bytes of the cards it may use. Giving back
    `names` serves it: one device as it is, or, if `delete`, the room of all of them. Without
    names all of them together are too little.
    """

    count: int
    core: int
    memory: int
    names: tuple[str, ...] = ()
    delete: bool = False

    @property
    def command(self) -> str:
        """What an admin types to serve the claim; empty if nothing he gives back would."""
        words = ["elasticgpu", "release", *(["--delete"] if self.delete else []), *self.names]
        return " ".join(words) if self.names else ""

    @property
    def held(self) -> str:
        """How much lies idle, in words."""
        who = (
            "1 Released device holds" if self.count == 1 else f"{self.count} Released devices hold"
        )
        return f"{who} {self.core}% core and {format_bytes(self.memory)} memory"

    @property
    def sentence(self) -> str:
        """For the claim's condition: bounded, and empty if giving back would not help."""
        if not self.names:
            return ""
        if len(self.names) > NAMED:
            return f"{self.held}; deleting {len(self.names)} of them makes room"
        does = "makes room" if self.delete else "gives it one"
        return f"{self.held}; `{self.command}` {does}"


def offer(
    claim: ElasticGPUClaim,
    class_name: str,
    wish: Wish,
    released: Iterable[Candidate],
    placer: Placer | None = None,
    fleet: Fleet | None = None,
) -> Offer | None:
    """What giving back Released devices would do for a claim that nothing serves.

    None if no device waits for an admin that fits the claim or lies on a card it may use. Without
    `placer` only whole devices count: nothing can be made of the room.
    """
    idle = [c for c in released if waits_for_admin(c.device)]
    if fits := _as_they_are(claim, class_name, wish, idle):
        best = min(fits, key=lambda device: leftover(wish.want, device))
        core, memory = (sum(amounts) for amounts in zip(*map(size, fits), strict=True))
        return Offer(len(fits), core, memory, (best.name,))
    if placer is None or fleet is None or not idle:
        return None
    nodes = list(fleet.in_order(wish.order.node))
    rows = _rows((c.device for c in idle), wish, placer, nodes)
    if not rows:
        return None
    held = [row for here in rows.values() for row in here]
    core, memory = sum(row.core for row in held), sum(row.memory for row in held)
    count = len({row.device for row in held})
    return Offer(count, core, memory, _room(wish, placer, nodes, rows), delete=True)


def _as_they_are(
    claim: ElasticGPUClaim, class_name: str, wish: Wish, idle: Iterable[Candidate]
) -> list[ElasticGPU]:
    """The devices that would serve the claim, were they Available."""
    free = (
        Candidate(freed(c.device).with_status(phase="Available"), c.cards, c.closed) for c in idle
    )
    return [c.device for c in free if not unsuitable(claim, class_name, wish.want, c)]


def _rows(
    devices: Iterable[ElasticGPU], wish: Wish, placer: Placer, nodes: Iterable[NodeView]
) -> dict[str, list[Held]]:
    """What these devices hold of each card that would do once empty, the largest first."""
    ledger = Ledger(devices=devices)
    rows = {
        card.name: sorted(ledger.held(card.name), key=lambda r: (-r.core, -r.memory, r.device))
        for node in nodes
        for card in node.cards
        if placement.unfit(wish, placer.name, replace(card, mode="")) is None
    }
    return {card: here for card, here in rows.items() if here}


def _room(
    wish: Wish, placer: Placer, nodes: Iterable[NodeView], rows: dict[str, list[Held]]
) -> tuple[str, ...]:
    """The fewest devices of one node whose room serves the wish; none if all are too little."""
    found = []
    for node in nodes:
        here = {card.name: rows[card.name] for card in node.cards if card.name in rows}
        if here and (place := _placed(wish, placer, _without(node, here))):
            found.append(_fewest(wish, placer, node, place, here))
    return min(found, key=lambda names: (len(names), names), default=())


def _placed(wish: Wish, placer: Placer, node: NodeView) -> Slice | None:
    """The place on this node; None also if the provisioner will not hear of it."""
    with suppress(ElasticGPUError):
        found = placement.place(wish, placer, Ranking((node,)))
        return found.place if isinstance(found, Placed) else None
    return None


def _fewest(
    wish: Wish, placer: Placer, node: NodeView, place: Slice, here: dict[str, list[Held]]
) -> tuple[str, ...]:
    """Of the devices on the cards of this place, as few as still let it be."""
    views = {card.name: card for card in node.cards}
    all_of = {part.gpu: here[part.gpu] for part in place.devices if part.gpu in here}
    some = {
        part.gpu: _enough(part.core, part.memory_bytes, views[part.gpu], all_of[part.gpu], placer)
        for part in place.devices
        if part.gpu in all_of
    }
    gone = some if _placed(wish, placer, _without(node, some)) else all_of
    return tuple(sorted({row.device for rows in gone.values() for row in rows}))


def _enough(core: int, memory: int, card: CardView, rows: list[Held], placer: Placer) -> list[Held]:
    """The largest of these devices, as many as it takes until the part fits."""
    if card.mode != placer.name:
        return rows
    for count in range(len(rows)):
        if shortage(core, memory, _emptier(card, rows[:count])) is None:
            return rows[:count]
    return rows


def _without(node: NodeView, gone: dict[str, list[Held]]) -> NodeView:
    """The node as it would be without these devices."""
    cards = (_emptier(card, gone.get(card.name, [])) for card in node.cards)
    return replace(node, cards=tuple(cards))


def _emptier(card: CardView, gone: Sequence[Held]) -> CardView:
    core = card.core_free + sum(row.core for row in gone)
    memory = card.memory_free + sum(row.memory for row in gone)
    left = tuple(row for row in card.held if row not in gone)
    mode = card.mode if left else ""
    return replace(card, core_free=core, memory_free=memory, mode=mode, held=left)
