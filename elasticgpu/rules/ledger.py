"""What is free: a card's capacity less what every live device holds of it.

This sum lives here and nowhere else. Binder, placement and inventory read it; it is fed
incrementally, one card or device at a time, so asking never costs more than the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from elasticgpu.api.elasticgpu import CardSlice, ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.api.names import PROVISIONED_BY
from elasticgpu.api.quantity import format_bytes

from . import mig
from .fleet import NO_ROOM, WHOLE, CardView, Held, NodeView, Ranking, Room

UNREADABLE = 1 << 62
"""Bytes that no card has."""

OVERCOMMITTED = "Overcommitted"
"""Reason of a Failed device that never got room and so holds none."""


@dataclass(frozen=True, slots=True)
class Slice:
    """An answer of placement: the parts of cards one device is made of."""

    devices: tuple[CardSlice, ...]
    attributes: Mapping[str, str] = field(default_factory=dict)


def holds(device: ElasticGPU) -> bool:
    """Whether the device takes room on its cards.

    Made by the controller for a claim: from the moment it exists. Made by an admin, be it as a copy
    of such a one: once it was admitted.
    Released and Failed ones go on holding, for their data and containers may still be there;
    only one that failed for want of room never had any.
    """
    match device.status.phase:
        case "" | "Pending":
            return PROVISIONED_BY in device.metadata.annotations and bool(device.claim_uid)
        case "Failed":
            return device.status.reason != OVERCOMMITTED
        case "Available" | "Bound" | "Released":
            return True


def _bytes(part: CardSlice) -> int:
    """What a part holds; one that cannot be read holds more than any card has, never less."""
    try:
        amount = part.memory_bytes
    except ValueError:
        return UNREADABLE
    return amount if amount >= 0 else UNREADABLE


class Ledger:
    """The running sum over all cards of the cluster, by node and by card; a `Fleet` of its nodes.

    What was asked once is kept until something of that node changes.
    """

    def __init__(self, cards: Iterable[GPU] = (), devices: Iterable[ElasticGPU] = ()) -> None:
        self._cards: dict[str, GPU] = {}
        self._by_node: dict[str, dict[str, None]] = {}
        self._held: dict[str, dict[str, Held]] = {}
        self._cards_of: dict[str, tuple[str, ...]] = {}
        self._views: dict[str, CardView] = {}
        self._ranking = Ranking()
        self._changed: set[str] = set()
        self._closed: dict[str, str] = {}
        for card in cards:
            self.set_card(card)
        for device in devices:
            self.set_device(device)

    def set_card(self, card: GPU) -> None:
        """Take a card in, or its newer state."""
        self.drop_card(card.name)
        self._cards[card.name] = card
        self._by_node.setdefault(card.spec.node_name, {})[card.name] = None
        self._touch(card.name)

    def drop_card(self, name: str) -> None:
        """The card's object is gone; what its devices hold stays known."""
        self._touch(name)
        old = self._cards.pop(name, None)
        if old is not None:
            cards = self._by_node[old.spec.node_name]
            cards.pop(name, None)
            if not cards:
                del self._by_node[old.spec.node_name]

    def set_node(self, name: str, closed: str | None) -> None:
        """Why nothing new is placed on this node, in words; None: it is open, as those never named.

        What its devices hold they hold all the same.
        """
        if (closed or "") == self._closed.get(name, ""):
            return
        if closed:
            self._closed[name] = closed
        else:
            del self._closed[name]
        for card in self._by_node.get(name, ()):
            self._touch(card)

    def set_device(self, device: ElasticGPU) -> None:
        """Take a device in, or its newer state."""
        self.drop_device(device.name)
        if not holds(device):
            return
        parts = device.spec.source.devices
        for gpu in {part.gpu for part in parts}:
            here = tuple(part for part in parts if part.gpu == gpu)
            self._held.setdefault(gpu, {})[device.name] = Held(
                device.name,
                device.spec.source.driver,
                sum(part.core for part in here),
                sum(_bytes(part) for part in here),
                here,
            )
            self._touch(gpu)
        self._cards_of[device.name] = tuple(dict.fromkeys(part.gpu for part in parts))

    def drop_device(self, name: str) -> None:
        """The device is gone, and with it what it held."""
        for card in self._cards_of.pop(name, ()):
            held = self._held[card]
            held.pop(name, None)
            if not held:
                del self._held[card]
            self._touch(card)

    def _touch(self, card: str) -> None:
        """What was kept about this card and its node is no longer so."""
        self._views.pop(card, None)
        if card in self._cards:
            self._changed.add(self._cards[card].spec.node_name)

    def knows(self, device: str) -> bool:
        """Whether the device of this name is counted."""
        return device in self._cards_of

    def held(self, card: str) -> list[Held]:
        """What is held of this card, by device name."""
        return sorted(self._held.get(card, {}).values(), key=lambda row: row.device)

    def card(self, name: str, *, without: str = "") -> CardView | None:
        """The card with its free room, as if the device `without` were not there."""
        gpu = self._cards.get(name)
        if gpu is None:
            return None
        if without in self._held.get(name, {}):
            return self._sum(gpu, without)
        if name not in self._views:
            self._views[name] = self._sum(gpu, "")
        return self._views[name]

    def _sum(self, gpu: GPU, without: str) -> CardView:
        rows = tuple(row for row in self._held.get(gpu.name, {}).values() if row.device != without)
        return CardView(
            gpu=gpu,
            core_free=WHOLE - sum(row.core for row in rows),
            memory_free=gpu.memory - sum(row.memory for row in rows),
            mode=rows[0].driver if rows else "",
            closed=self._closed.get(gpu.spec.node_name, ""),
            held=rows,
        )

    def pool(self, cards: Iterable[GPU]) -> NodeView:
        """These cards, which are on no node of the cluster, with what devices hold of them."""
        return NodeView("", tuple(self._sum(card, "") for card in cards))

    def nodes(self) -> list[str]:
        """Names of the nodes that have cards, sorted."""
        return sorted(self._by_node)

    def node(self, name: str) -> NodeView:
        """The node's cards in the order of their index."""
        self._refresh()
        return self._ranking.node(name) or NodeView(name, ())

    def in_order(self, order: str, room: Room = NO_ROOM) -> Iterator[NodeView]:
        """See `Fleet`."""
        self._refresh()
        return self._ranking.in_order(order, room)

    def _refresh(self) -> None:
        for name in self._changed:
            self._ranking.drop(name)
            if name in self._by_node:
                views = (self.card(card) for card in self._by_node[name])
                cards = [view for view in views if view is not None]
                cards.sort(key=lambda view: (view.gpu.status.index, view.name))
                self._ranking.put(NodeView(name, tuple(cards)))
        self._changed.clear()

    def lacks(self, device: ElasticGPU, pool: Iterable[GPU] = ()) -> str | None:
        """Why a device made by an admin has no room, in words; None if it has.

        `pool` are the cards outside the cluster that it may be cut from.
        """
        outside = {card.name: card for card in pool}
        driver, admitted = device.spec.source.driver, device.status.phase in ("Available", "Bound")
        for part in device.spec.source.devices:
            view = self.card(part.gpu, without=device.name)
            if view is None and part.gpu in outside and not device.spec.node_name:
                view = self._sum(outside[part.gpu], device.name)
            if view is None:
                return f"there is no GPU object {part.gpu}"
            if device.spec.node_name not in ("", view.gpu.spec.node_name):
                return f"{part.gpu} is on {view.gpu.spec.node_name}, not {device.spec.node_name}"
            if part.uuid not in ("", view.gpu.status.uuid):
                return f"{part.gpu} is {view.gpu.status.uuid or 'not known yet'}, not {part.uuid}"
            modes = view.gpu.spec.modes
            if modes and driver not in modes and not admitted:
                return f"{part.gpu}: its admin allows only {', '.join(modes)}, not {driver}"
            wrong = mig.wrong_mode(view.gpu.status, wanted=bool(part.mig_profile))
            if wrong and not admitted:
                return f"{part.gpu}: {wrong}"
            if said := part_lacks(part, view, driver):
                return f"{part.gpu}: {said}"
        return None


def part_lacks(part: CardSlice, view: CardView, driver: str) -> str | None:
    """Why this part does not fit on this card, in words; None if it does."""
    if view.mode and view.mode != driver:
        return f"the card serves {view.mode}, this device wants {driver}"
    return mig.lacks((part,), view.gpu, view.held) or shortage(part.core, _bytes(part), view)


def shortage(core: int, memory: int, view: CardView) -> str | None:
    """What of core and memory is missing on the card, in words; None if both fit."""
    if core < 0 or memory < 0 or memory >= UNREADABLE:
        return "the amounts are not amounts"
    missing = []
    if core > view.core_free:
        missing.append(f"{view.core_free}% of 100% core free, {core}% wanted")
    if memory > view.memory_free:
        free, total = format_bytes(view.memory_free), format_bytes(view.gpu.memory)
        missing.append(f"{free} of {total} memory free, {format_bytes(memory)} wanted")
    return "; ".join(missing) or None
