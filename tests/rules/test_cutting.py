"""Parts cut from a node's cards: shares of one or several, and whole cards that are well joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.elasticgpu import CardSlice
from elasticgpu.api.gpu import Link
from elasticgpu.api.vocabulary import Demand
from elasticgpu.rules.cutting import Grain, core_of, nearest, shares, whole_cards
from elasticgpu.rules.fleet import CardView, Held, NodeView
from tests.rules.build import GI, card, free


def view(n: int, core: int = 100, gib: int = 80, **status: Any) -> CardView:
    """Card `n` with so much free."""
    return free(card(f"c{n}", uuid=f"GPU-{n}", **status), core, gib * GI, "" if core > 99 else "x")


def node(*cards: CardView, order: str = "binpack") -> NodeView:
    return NodeView("node-a", cards, order)  # type: ignore[arg-type] # a row of a table


def parted(card: CardView, parts: int) -> CardView:
    """The card with so many devices on it, however much is free."""
    return replace(card, held=tuple(Held(f"egpu-{n}", "x", 1, 1) for n in range(parts)))


def cut(n: int, core: int = 0, memory: int = 0) -> CardSlice:
    return CardSlice(gpu=f"c{n}", uuid=f"GPU-{n}", core=core, memory=memory)


def joined(kind: str, *peers: int, bandwidth: int = 0) -> list[Link]:
    links = [{"peer": f"c{peer}", "kind": kind, "bandwidth": bandwidth} for peer in peers]
    return [Link.model_validate(link) for link in links]


PAIRS = (
    view(0, links=joined("NVLink", 2) + joined("PCIe", 1, 3)),
    view(1, links=joined("NVLink", 3)),
    view(2, links=joined("PCIe", 1, 3)),
    view(3),
)
"""Two pairs with NVLink, 0-2 and 1-3; some links are told by one end only, 0-1 … by PCIe."""

SHARES: list[tuple[str, Demand, NodeView, list[CardSlice] | None]] = [
    ("first-that-fits", Demand(core=20), node(view(0, 10), view(1, 30)), [cut(1, 20)]),
    ("no-room", Demand(core=20), node(view(0, 10), view(1, 19)), None),
    ("no-memory", Demand(memory=9 * GI), node(view(0, gib=8)), None),
    ("no-cards", Demand(core=1), node(), None),
    (
        "over-two-cards",
        Demand(memory=8 * GI, count=2),
        node(view(0, gib=3), view(1, gib=4), view(2)),
        [cut(1, 0, 4 * GI), cut(2, 0, 4 * GI)],
    ),
    ("one-card-too-few", Demand(memory=8 * GI, count=2), node(view(0), view(1, gib=3)), None),
    (
        "percentage-of-each",
        Demand(memory_percentage=25, count=2),
        node(view(0), view(1, memory="40Gi", gib=40)),
        [cut(0, 0, 20 * GI), cut(1, 0, 10 * GI)],
    ),
    ("tflops", Demand(tflops=200), node(view(0, tflops=989)), [cut(0, 21)]),
    ("tflops-of-a-smaller-card", Demand(tflops=100), node(view(0, tflops=125)), [cut(0, 80)]),
    ("too-many-tflops", Demand(tflops=126), node(view(0, tflops=125)), None),
    ("tflops-not-known", Demand(tflops=1), node(view(0), view(1, tflops=100)), [cut(1, 1)]),
    ("tflops-and-core", Demand(tflops=10, core=50), node(view(0, tflops=100)), [cut(0, 50)]),
    (
        "tflops-over-two-cards",
        Demand(tflops=100, count=2),
        node(view(0, tflops=100), view(1, tflops=200)),
        [cut(0, 50), cut(1, 25)],
    ),
    ("best-first", Demand(core=10, count=2), node(*PAIRS), [cut(0, 5), cut(1, 5)]),
    (
        "joined-if-the-class-says-so",
        Demand(core=10, count=2),
        node(*PAIRS, order="topology"),
        [cut(0, 5), cut(2, 5)],
    ),
    ("too-few-to-join", Demand(core=10, count=5), node(*PAIRS, order="topology"), None),
]


@pytest.mark.parametrize(
    ("want", "where", "parts"), [pytest.param(*row, id=name) for name, *row in SHARES]
)
def test_shares(want: Demand, where: NodeView, parts: list[CardSlice] | None) -> None:
    """A share of each of so many cards, or none at all."""
    found = shares(want, where)
    assert (None if found is None else list(found.devices)) == parts


GRAIN = Grain(core=5, memory=GI, parts=2)
UNITS: list[tuple[str, Demand, CardView, list[CardSlice] | None]] = [
    ("in-whole-units", Demand(core=10, memory=GI), view(0), [cut(0, 10, GI)]),
    ("up-to-the-next", Demand(core=11, memory=GI + 1), view(0), [cut(0, 15, 2 * GI)]),
    ("nothing-stays-nothing", Demand(memory=1), view(0, 0), [cut(0, 0, GI)]),
    ("no-room-for-the-unit", Demand(core=11), view(0, 14), None),
    ("one-part-before-the-last", Demand(core=5), parted(view(0), 1), [cut(0, 5)]),
    ("no-part-left", Demand(core=5), parted(view(0), 2), None),
]


@pytest.mark.parametrize(
    ("want", "where", "parts"), [pytest.param(*row, id=name) for name, *row in UNITS]
)
def test_units(want: Demand, where: CardView, parts: list[CardSlice] | None) -> None:
    """Whole units, never less than was asked, and no more parts than a card can have."""
    found = shares(want, node(where), GRAIN)
    assert (None if found is None else list(found.devices)) == parts


def names(cards: Sequence[CardView]) -> list[str]:
    return [card.name for card in cards]


WHOLE: list[tuple[str, int, tuple[CardView, ...], list[str] | None]] = [
    ("the-best-one", 1, PAIRS, ["c0"]),
    ("the-pair-with-nvlink", 2, PAIRS, ["c0", "c2"]),
    ("the-other-pair-if-one-is-in-use", 2, (view(0, 50), *PAIRS[1:]), ["c1", "c3"]),
    ("a-triple-by-its-slowest-link", 3, PAIRS, ["c0", "c1", "c2"]),
    ("all", 4, PAIRS, ["c0", "c1", "c2", "c3"]),
    ("too-few", 5, PAIRS, None),
    ("none-untouched", 1, (view(0, 99),), None),
    (
        "more-bandwidth",
        2,
        (
            view(0, links=joined("NVLink", 1, bandwidth=100)),
            view(1, links=joined("NVLink", 2, bandwidth=300)),
            view(2),
        ),
        ["c1", "c2"],
    ),
]


@pytest.mark.parametrize(
    ("count", "cards", "found"), [pytest.param(*row, id=name) for name, *row in WHOLE]
)
def test_whole_cards(count: int, cards: tuple[CardView, ...], found: list[str] | None) -> None:
    """Untouched cards with all they have, the best joined of them."""
    place = whole_cards(Demand(gpus=count), node(*cards))
    assert (None if place is None else [part.gpu for part in place.devices]) == found
    for part in place.devices if place else ():
        assert (part.core, part.memory_bytes) == (100, 80 * GI)


def test_many_cards_are_joined_quickly() -> None:
    """Where there are too many sets to compare, the set grows from each card by its nearest."""
    ring = [view(n, links=joined("NVLink", (n + 2) % 16, (n - 2) % 16)) for n in range(16)]
    assert names(nearest(ring, 8)) == [f"c{n}" for n in range(0, 16, 2)]


@given(tflops=st.integers(1, 5000), count=st.integers(1, 8), most=st.integers(1, 2000))
def test_core_is_never_less_than_the_tflops(tflops: int, count: int, most: int) -> None:
    """The share of so many TFLOPS has them, and one percent less has not."""
    core = core_of(Demand(tflops=tflops * count, count=count), card(tflops=most))
    assert core * most >= tflops * 100 > (core - 1) * most
