"""Where a device goes: which cards may serve, in which order they are tried, and why none did.

Binder, WaitForFirstConsumer placement and the extender ask the same functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

from elasticgpu.api.claim import GPUSelector
from elasticgpu.api.gpu import GPU
from elasticgpu.api.gpuclass import Placement
from elasticgpu.api.meta import labels_match
from elasticgpu.api.quantity import to_int
from elasticgpu.api.vocabulary import Demand, describe
from elasticgpu.errors import ElasticGPUError, Refused

from . import mig
from .cutting import core_of
from .fleet import WHOLE, CardView, Fleet, NodeView, Room, share
from .ledger import Slice, shortage

SHOWN = 8
"""How many cards a refusal names one by one."""

LONGEST = 400
"""Characters about one card, at most, so that all fit a condition's message."""


NEIGHBOURS = "does not fit with its neighbours"
"""What a card lacks that by itself would do."""

NO_SHARE = "has no share left of the size that the class gives"
"""What a card lacks for a demand that names no amount."""


class Placer(Protocol):
    """What placement asks of a provisioner."""

    @property
    def name(self) -> str:
        """The provisioner's name, which is also the mode its cards are in."""

    @property
    def mig(self) -> bool:
        """Whether it cuts cards by MIG."""

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        """The parts of cards of this node that serve `want`, or None."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A demand with everything that narrows or orders the choice of cards.

    `mig`: it is served by an instance of a card in MIG mode, not by a share of one that is not.
    """

    want: Demand
    selector: GPUSelector | None = None
    order: Placement = field(default_factory=Placement)
    mig: bool = False


@dataclass(frozen=True, slots=True)
class Placed:
    """A place was found: the parts of cards on this node."""

    node: str
    place: Slice


@dataclass(frozen=True, slots=True)
class Nowhere:
    """No card can serve; `looks` names the cards that were looked at and what each lacks."""

    message: str
    looks: str = ""

    def said(self, hint: str = "") -> str:
        """The whole sentence, with a hint before the long list: ends of sentences get cut."""
        return "; ".join(part for part in (self.message, hint, self.looks) if part)


def place(wish: Wish, placer: Placer, fleet: Fleet) -> Placed | Nowhere:
    """The best place for a wish; deterministic, ties go by name."""
    for node in _worth_asking(wish, fleet):
        shown = candidates(wish, placer.name, node)
        found = _ask(placer, wish.want, shown)
        if found is not None and (lie := _untrue(found, shown)):
            return Nowhere(f"provisioner {placer.name} chose what is not free: {lie}")
        if found is not None:
            return Placed(node.name, found)
    return explain(wish, placer.name, fleet.in_order(wish.order.node))


def _worth_asking(wish: Wish, fleet: Fleet) -> Iterator[NodeView]:
    """The nodes that may have room, best first; then one that has none, for the provisioner is
    always asked: a demand that it never serves is refused in its own words."""
    yield from fleet.in_order(wish.order.node, _room(wish.want))
    yield from islice(fleet.in_order(wish.order.node), 1)


def _room(want: Demand) -> Room:
    """What some card of a node must have free for this demand to have a place there."""
    core = WHOLE if want.gpus else want.core // want.count
    return core, want.memory // want.count


def _ask(placer: Placer, want: Demand, node: NodeView) -> Slice | None:
    """The plugin's answer; whatever it raises harms this claim only, and is said there."""
    try:
        return placer.place(want, node)
    except ElasticGPUError:
        raise
    except Exception as error:
        raise Refused(f"provisioner {placer.name} failed: {error!r}") from error


def _untrue(found: Slice, shown: NodeView) -> str | None:
    """What of a provisioner's answer the cards it was shown do not have; None if they do."""
    views = {card.name: card for card in shown.cards}
    for name in {part.gpu for part in found.devices}:
        parts = [part for part in found.devices if part.gpu == name]
        if name not in views:
            return f"card {name}, which it was not shown"
        core, memory = sum(p.core for p in parts), sum(p.memory_bytes for p in parts)
        view = views[name]
        if lack := mig.lacks(parts, view.gpu, view.held) or shortage(core, memory, view):
            return f"card {name}: {lack}"
    return None


def candidates(wish: Wish, mode: str, node: NodeView) -> NodeView:
    """The node with only the cards that may serve this wish, best first."""
    fit = [card for card in node.cards if unfit(wish, mode, card) is None]
    sign = -1 if wish.order.card == "spread" else 1
    fit.sort(key=lambda card: (sign * share((card,)), card.gpu.status.index))
    return NodeView(node.name, tuple(fit), wish.order.card)


def unfit(wish: Wish, mode: str, card: CardView) -> str | None:
    """Why a card may not serve at all, however much of it is free; None if it may."""
    spec, status = card.gpu.spec, card.gpu.status
    if card.closed:
        return card.closed
    if card.gpu.terminating or spec.unschedulable:
        return "unschedulable"
    if status.health != "Healthy":
        said = f"health is {status.health}"
        return f"{said}: {status.health_message}" if status.health_message else said
    if spec.modes and mode not in spec.modes:
        return f"its admin allows only {', '.join(spec.modes)}"
    if card.mode and card.mode != mode:
        return f"serves {card.mode}"
    if wrong := mig.wrong_mode(status, wanted=wish.mig):
        return wrong
    return mismatch(wish.selector, card.gpu) if wish.selector else None


def mismatch(selector: GPUSelector, gpu: GPU) -> str | None:
    """Which part of the claim's gpuSelector a card does not meet; None if it meets all."""
    status = gpu.status
    wanted: Mapping[str, tuple[str, bool]] = {
        f"model is {status.model}": (
            selector.model,
            selector.model.lower() in status.model.lower(),
        ),
        f"architecture is {status.architecture}": (
            selector.architecture,
            selector.architecture.lower() == status.architecture.lower(),
        ),
        f"uuid is {status.uuid}": (selector.uuid, selector.uuid == status.uuid),
        f"node is {gpu.spec.node_name}": (
            selector.node_name,
            selector.node_name == gpu.spec.node_name,
        ),
    }
    for fact, (asked, met) in wanted.items():
        if asked and not met:
            return f"{fact}, not {asked}"
    if selector.memory is not None and to_int(selector.memory) > gpu.memory:
        return f"has {status.memory} memory in all, not {selector.memory}"
    if not labels_match(selector.match_labels, gpu.metadata.labels):
        return "its labels do not match"
    return None


def explain(wish: Wish, mode: str, nodes: Iterable[NodeView]) -> Nowhere:
    """Which cards were looked at and what each lacks, bounded."""
    none = f"no card can give {describe(wish.want)}"
    cards = [card for node in nodes for card in node.cards]
    if not cards:
        return Nowhere(f"{none}: the cluster has no GPU objects")
    looks = (f"{card.name} ({lack(wish, mode, card)})" for card in cards[:SHOWN])
    said = "; ".join(look[:LONGEST] for look in looks)
    rest = f"; and {len(cards) - SHOWN} more cards" if len(cards) > SHOWN else ""
    return Nowhere(none, f"looked at {len(cards)}: {said}{rest}")


def lack(wish: Wish, mode: str, card: CardView) -> str:
    """What keeps a card from serving a wish that no node could serve, in words."""
    return missing(wish, mode, card) or otherwise(wish)


def otherwise(wish: Wish) -> str:
    """What a card lacks that lacks nothing of what the wish names: only its class knows."""
    return NO_SHARE if wish.want.unsized else NEIGHBOURS


def missing(wish: Wish, mode: str, card: CardView) -> str | None:
    """What a card lacks for its part of a wish; None if by itself it would do."""
    if reason := unfit(wish, mode, card):
        return reason
    want = wish.want
    if want.tflops and not card.gpu.status.tflops:
        return f"the dense FP16 TFLOPS of model {card.gpu.status.model or 'unknown'} are not known"
    if want.gpus:
        return shortage(WHOLE, card.gpu.memory, card)
    core, memory = core_of(want, card.gpu), want.memory_of(card.gpu.memory)
    if wish.mig and (said := mig.lack(card.gpu.status.mig, card.held, want.mig, core, memory)):
        return said
    return shortage(core, memory, card)
