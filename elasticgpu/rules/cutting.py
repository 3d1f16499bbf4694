"""Cutting parts from a node's cards: what most provisioners' `place` comes down to.

A plugin that cuts in another way need not use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

from elasticgpu.api.elasticgpu import CardSlice
from elasticgpu.api.gpu import GPU
from elasticgpu.api.vocabulary import Demand

from . import mig
from .fleet import WHOLE, CardView, NodeView
from .ledger import Slice

SPEEDS = {"NVSwitch": 4, "NVLink": 4, "PCIe": 3, "NUMA": 2, "Host": 1}
"""How near two cards are by what joins them; no link at all is 0."""

MOST_SETS = 5000
"""Sets of cards that are compared, at most: all sets of any size of a node with 14 cards."""


@dataclass(frozen=True, slots=True)
class Grain:
    """The units in which a backend cuts: percent of core, bytes of memory; and how many parts of
    a card there can be, None: any number. A part takes whole units, never less than was asked."""

    core: int = 1
    memory: int = 1
    parts: int | None = None

    def up(self, core: int, memory: int) -> tuple[int, int]:
        """Both in whole units, but for the last one of a card, which may be smaller.

        >>> Grain(core=5, memory=1024).up(7, 1024), Grain(core=7).up(100, 1)
        ((10, 1024), (100, 1))
        """
        whole = min(-(-core // self.core) * self.core, max(core, WHOLE))
        return whole, -(-memory // self.memory) * self.memory

    def takes(self, card: CardView) -> bool:
        """Whether the card may have one part more."""
        return self.parts is None or len(card.held) < self.parts


FINEST = Grain()


def core_of(want: Demand, gpu: GPU) -> int:
    """The percent of this card's compute that serves its part of the demand; never less.

    TFLOPS are counted by the card's dense FP16 figure: over 100 if the card has too few of them.
    A card whose figure is not known serves no demand for TFLOPS: see `placement.missing`.
    """
    most = gpu.status.tflops
    asked = -(-want.tflops * WHOLE // (want.count * most)) if most else 0
    return max(want.core // want.count, asked)


def share(want: Demand, card: CardView, grain: Grain = FINEST) -> CardSlice | None:
    """The card's part of a demand for shares; None if it has not that much free."""
    if (want.tflops and not card.gpu.status.tflops) or not grain.takes(card):
        return None
    core, memory = grain.up(core_of(want, card.gpu), want.memory_of(card.gpu.memory))
    if core > card.core_free or memory > card.memory_free:
        return None
    return CardSlice(gpu=card.name, uuid=card.gpu.status.uuid, core=core, memory=memory)


def shares(want: Demand, node: NodeView, grain: Grain = FINEST) -> Slice | None:
    """A share of each of `want.count` cards of the node, the best first; None without room.

    Core, memory and TFLOPS are divided evenly over the cards, a percentage is of each.
    """
    fit = [card for card in node.cards if share(want, card, grain) is not None]
    if node.order == "topology":
        fit = list(nearest(fit, want.count))
    parts = [part for card in fit[: want.count] if (part := share(want, card, grain)) is not None]
    return Slice(tuple(parts)) if len(parts) == want.count else None


def instance(want: Demand, node: NodeView) -> Slice | None:
    """One MIG instance of the best card with a free one: of the profile that is asked for, or of
    the smallest with as much core, memory and TFLOPS; None without room."""
    parts = (_instance(want, card) for card in node.cards)
    found = next((part for part in parts if part is not None), None)
    return Slice((found,)) if found else None


def _instance(want: Demand, card: CardView) -> CardSlice | None:
    table, least = card.gpu.status.mig, share(want, card)
    row = mig.serving(table, want.mig, least.core, least.memory_bytes) if least else None
    start = mig.best_start(table, mig.instances(card.held), row) if row else None
    if row is None or start is None:
        return None
    part = mig.part(card.gpu, row, start)
    return part if part.core <= card.core_free and part.memory_bytes <= card.memory_free else None


def whole_cards(want: Demand, node: NodeView) -> Slice | None:
    """So many untouched cards of the node, those that are best joined; None without so many."""
    chosen = nearest([card for card in node.cards if card.untouched], want.gpus)
    parts = (
        CardSlice(gpu=c.name, uuid=c.gpu.status.uuid, core=WHOLE, memory=c.gpu.memory)
        for c in chosen
    )
    return Slice(tuple(parts)) if chosen else None


def nearest(cards: Sequence[CardView], count: int) -> tuple[CardView, ...]:
    """So many of these cards, joined by the fastest links; ties go by their order. Empty: too few.

    The slowest link of a set counts first, for a ring is as fast as that, then all together.
    """
    if not 0 < count <= len(cards):
        return ()
    if comb(len(cards), count) <= MOST_SETS:
        return max(combinations(cards, count), key=_joined)
    return max((_grown(cards, seed, count) for seed in cards), key=_joined)


def _grown(cards: Sequence[CardView], seed: CardView, count: int) -> tuple[CardView, ...]:
    """The set that grows from one card by the nearest other, again and again."""
    chosen = [seed]
    while len(chosen) < count:
        rest = [card for card in cards if card not in chosen]
        chosen.append(max(rest, key=lambda card: _joined((*chosen, card))))
    return tuple(chosen)


def _joined(cards: Sequence[CardView]) -> tuple[tuple[int, int], int, int]:
    links = [_link(one, other) for one, other in combinations(cards, 2)]
    kinds, bandwidths = map(sum, zip((0, 0), *links, strict=True))
    return min(links, default=(0, 0)), kinds, bandwidths


def _link(one: CardView, other: CardView) -> tuple[int, int]:
    """The best link between two cards, by kind and bandwidth; either may have told of it."""
    ways = [link for link in one.gpu.status.links if link.peer == other.name]
    ways += [link for link in other.gpu.status.links if link.peer == one.name]
    return max(((SPEEDS[link.kind], link.bandwidth) for link in ways), default=(0, 0))
