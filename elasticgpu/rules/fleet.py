"""Nodes with their cards, in the order in which placement tries them.

However many nodes there are, a device that fits the best of them is placed by a look at that one:
they are kept sorted by what is free, and those without the room that is asked are passed over.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from elasticgpu.api.elasticgpu import CardSlice
from elasticgpu.api.gpu import GPU

WHOLE = 100
"""Percent of a card's compute."""

Room = tuple[int, int]
"""What one card must have free to be of use: percent of core, bytes of memory."""

NO_ROOM: Room = (-(1 << 62), -(1 << 62))
"""Every card has that much."""


@dataclass(frozen=True, slots=True)
class Held:
    """What one device holds of one card: percent of core, bytes of memory, and the very parts."""

    device: str
    driver: str
    core: int
    memory: int
    parts: tuple[CardSlice, ...] = ()


@dataclass(frozen=True, slots=True)
class CardView:
    """One card with what is free of it: `core` in percent, `memory` in bytes.

    `mode` is the provisioner that has the card now, empty while nothing holds any of it; `closed`
    says why its node gets nothing new, empty if it does. `held` is what each device holds of it.
    """

    gpu: GPU
    core_free: int
    memory_free: int
    mode: str = ""
    closed: str = ""
    held: tuple[Held, ...] = ()

    @property
    def name(self) -> str:
        """Name of the GPU object."""
        return self.gpu.name

    @property
    def untouched(self) -> bool:
        """Nothing holds any of it."""
        return self.mode == ""


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node's cards, best candidate first; `order` is how its class wants cards chosen."""

    name: str
    cards: tuple[CardView, ...]
    order: Literal["binpack", "spread", "topology"] = "binpack"


class Fleet(Protocol):
    """Any number of nodes, of which a decision looks at no more than it needs."""

    def in_order(self, order: str, room: Room = NO_ROOM) -> Iterable[NodeView]:
        """The nodes, best first: the fullest for binpack, the emptiest for spread; ties by name.

        Without those on which no core or no memory as large as `room` is free on any card.
        """


def share(cards: Sequence[CardView]) -> float:
    """How much of these cards is free: from 0 for nothing to 2 for all of core and memory."""
    shares = (c.core_free / WHOLE + c.memory_free / max(c.gpu.memory, 1) for c in cards)
    return sum(shares) / max(len(cards), 1)


class Ranking:
    """A fleet that is kept sorted while single nodes change."""

    def __init__(self, nodes: Iterable[NodeView] = ()) -> None:
        self._nodes: dict[str, tuple[NodeView, float, Room]] = {}
        self._sorted: list[tuple[float, str]] = []
        for node in nodes:
            self.put(node)

    def put(self, node: NodeView) -> None:
        """Take a node in, or its newer state."""
        self.drop(node.name)
        free = share(node.cards)
        open_ones = [card for card in node.cards if not card.closed]
        core = max((card.core_free for card in open_ones), default=0)
        memory = max((card.memory_free for card in open_ones), default=0)
        self._nodes[node.name] = (node, free, (core, memory))
        insort(self._sorted, (free, node.name))

    def drop(self, name: str) -> None:
        """The node is gone."""
        if name in self._nodes:
            _, free, _ = self._nodes.pop(name)
            del self._sorted[bisect_left(self._sorted, (free, name))]

    def node(self, name: str) -> NodeView | None:
        """The node of this name."""
        found = self._nodes.get(name)
        return found[0] if found else None

    def in_order(self, order: str, room: Room = NO_ROOM) -> Iterator[NodeView]:
        """See `Fleet`."""
        core, memory = room
        for name in self._emptiest_first() if order == "spread" else self._fullest_first():
            node, _, (most_core, most_memory) = self._nodes[name]
            if most_core >= core and most_memory >= memory:
                yield node

    def _fullest_first(self) -> Iterator[str]:
        return (name for _, name in self._sorted)

    def _emptiest_first(self) -> Iterator[str]:
        """From the end, but equal ones from their beginning: ties go by name either way."""
        end = len(self._sorted)
        while end:
            start = bisect_left(self._sorted, (self._sorted[end - 1][0],))
            for _, name in self._sorted[start:end]:
                yield name
            end = start


@dataclass(frozen=True, slots=True)
class Among:
    """A fleet without the nodes whose name is refused."""

    fleet: Fleet
    allowed: Callable[[str], bool]

    def in_order(self, order: str, room: Room = NO_ROOM) -> Iterator[NodeView]:
        """See `Fleet`."""
        return (n for n in self.fleet.in_order(order, room) if self.allowed(n.name))
