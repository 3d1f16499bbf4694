"""Placement: the same place for the same cards, never a card without room, reasons in words."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.claim import GPUSelector
from elasticgpu.api.gpu import GPU, GPUSpec
from elasticgpu.api.gpuclass import Placement
from elasticgpu.api.vocabulary import Demand
from elasticgpu.errors import Refused
from elasticgpu.rules import placement
from elasticgpu.rules.fleet import CardView, NodeView, Ranking
from elasticgpu.rules.ledger import Slice
from elasticgpu.rules.placement import SHOWN, Nowhere, Placed, Wish

from .build import DRIVER, GI, Share, card, free, part

WANT = Demand(core=10, memory=10 * GI)
ORDERS = st.builds(
    Placement,
    node=st.sampled_from(("binpack", "spread")),
    card=st.sampled_from(("binpack", "spread", "topology")),
)


@st.composite
def clusters(draw: st.DrawFn) -> tuple[NodeView, ...]:
    nodes = []
    for n in range(draw(st.integers(0, 4))):
        cards = []
        for c in range(draw(st.integers(0, 4))):
            gpu = card(f"card-{n}-{c}", f"node-{n}", index=c)
            core, gib = draw(st.integers(-5, 100)), draw(st.integers(-1, 80))
            cards.append(free(gpu, core, gib * GI, draw(st.sampled_from(("", DRIVER, "x.io/a")))))
        nodes.append(NodeView(f"node-{n}", tuple(cards)))
    return tuple(nodes)


DEMANDS = st.builds(
    Demand, core=st.integers(0, 100), memory=st.integers(0, 80).map(lambda gib: gib * GI)
)


@given(clusters(), DEMANDS, ORDERS)
def test_never_a_card_without_room(
    nodes: tuple[NodeView, ...], want: Demand, order: Placement
) -> None:
    """A place is on one node, on cards that may serve and have what is taken of them."""
    found = placement.place(Wish(want, order=order), Share(), Ranking(nodes))
    views = {(node.name, view.name): view for node in nodes for view in node.cards}
    roomy = [
        view
        for view in views.values()
        if view.mode in ("", DRIVER)
        and view.core_free >= want.core
        and view.memory_free >= want.memory
    ]
    match found:
        case Placed(node, place):
            for piece in place.devices:
                assert views[node, piece.gpu] in roomy
        case Nowhere():
            assert roomy == []


@given(clusters(), DEMANDS, ORDERS, st.randoms(use_true_random=False))
def test_the_same_place_for_the_same_cards(
    nodes: tuple[NodeView, ...], want: Demand, order: Placement, random: object
) -> None:
    """In whatever order nodes are told, the answer is one, its sentence too."""
    shuffled = list(nodes)
    random.shuffle(shuffled)  # type: ignore[attr-defined] # hypothesis gives a random.Random
    wish = Wish(want, order=order)
    told = placement.place(wish, Share(), Ranking(nodes))
    assert placement.place(wish, Share(), Ranking(shuffled)) == told


class Liar:
    """A provisioner whose answer is not true of the cards it was shown."""

    name = DRIVER
    mig = False

    def __init__(self, *parts: tuple[str, int, int]) -> None:
        self.parts = tuple(part(*piece) for piece in parts)

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        return Slice(self.parts)


LIES: list[tuple[str, Liar]] = [
    ("more-core-than-free", Liar(("card-0", 60, 0))),
    ("more-memory-than-free", Liar(("card-0", 10, 41 * GI))),
    ("a-card-it-was-not-shown", Liar(("card-1", 10, 0))),
    ("a-card-twice", Liar(("card-0", 30, 0), ("card-0", 30, 0))),
]


@pytest.mark.parametrize("liar", [pytest.param(liar, id=name) for name, liar in LIES])
def test_a_wrong_answer_sells_nothing(liar: Liar) -> None:
    """A provisioner that gives what is not free is not believed: the card is not oversold."""
    nodes = (NodeView("node-a", (free(card(), core=50, memory=40 * GI),)),)
    with suppress(Refused):
        assert not isinstance(placement.place(Wish(WANT), liar, Ranking(nodes)), Placed)


def test_a_provisioner_that_fails_harms_its_own_claim() -> None:
    """Whatever it raises is a refusal that names it."""

    class Broken(Share):
        def place(self, want: Demand, node: NodeView) -> Slice | None:
            raise ZeroDivisionError("by nothing")

    nodes = (NodeView("node-a", (free(card()),)),)
    with pytest.raises(Refused, match=f"provisioner {DRIVER} failed: ZeroDivisionError"):
        placement.place(Wish(WANT), Broken(), Ranking(nodes))


def node(name: str, *shares: int) -> NodeView:
    """A node whose cards have these shares free, of core and memory alike."""
    views = [
        free(card(f"{name}-{n}", name, memory="100Gi", index=n), share, share * GI)
        for n, share in enumerate(shares)
    ]
    return NodeView(name, tuple(views))


Order = Literal["binpack", "spread"]
PLACES: list[tuple[str, Order, Order, list[NodeView], str]] = [
    ("fullest-card", "binpack", "binpack", [node("a", 90, 20, 50)], "a-1"),
    ("fullest-with-room", "binpack", "binpack", [node("a", 90, 5, 50)], "a-2"),
    ("emptiest-card", "binpack", "spread", [node("a", 50, 90, 20)], "a-1"),
    ("fullest-node", "binpack", "spread", [node("a", 90), node("b", 20, 30)], "b-1"),
    ("fullest-node-with-room", "binpack", "spread", [node("a", 90), node("b", 5)], "a-0"),
    ("emptiest-node", "spread", "binpack", [node("a", 20, 30), node("b", 90)], "b-0"),
    ("node-by-share-not-size", "binpack", "binpack", [node("a", 50), node("b", 40, 40)], "b-0"),
    ("card-by-index", "binpack", "binpack", [node("a", 50, 50)], "a-0"),
    ("card-by-index-too", "binpack", "spread", [node("a", 50, 50)], "a-0"),
    ("node-by-name", "spread", "spread", [node("b", 50), node("a", 50)], "a-0"),
]


@pytest.mark.parametrize(
    ("by_node", "by_card", "nodes", "want"),
    [pytest.param(*row, id=name) for name, *row in PLACES],
)
def test_order(by_node: Order, by_card: Order, nodes: list[NodeView], want: str) -> None:
    """Binpack takes the fullest that fits, spread the emptiest; ties go by index and name."""
    wish = Wish(WANT, order=Placement(node=by_node, card=by_card))
    found = placement.place(wish, Share(), Ranking(nodes))
    assert isinstance(found, Placed)
    assert [piece.gpu for piece in found.place.devices] == [want]


def test_a_card_without_memory_is_no_division_by_zero() -> None:
    """A card whose agent has not said its memory yet is looked at like any other."""
    nodes = [NodeView("a", (free(card(memory=0)),)), NodeView("b", ())]
    assert placement.place(Wish(Demand(core=10)), Share(), Ranking(nodes)) == Placed(
        "a", Slice((part("card-0", 10),))
    )


def spec(**fields: object) -> GPU:
    return card().but(spec=GPUSpec(node_name="node-a").but(**fields))


UNFIT: list[tuple[str, CardView, str | None]] = [
    ("fit", free(card()), None),
    ("fit-in-its-mode", free(card(), mode=DRIVER), None),
    ("unschedulable", free(spec(unschedulable=True)), "unschedulable"),
    (
        "being-deleted",
        free(card().with_metadata(deletion_timestamp="then")),
        "unschedulable",
    ),
    ("unhealthy", free(card(health="Unhealthy")), "health is Unhealthy"),
    (
        "unhealthy-and-why",
        free(card(health="Unhealthy", health_message="XID 79")),
        "health is Unhealthy: XID 79",
    ),
    ("health-unknown", free(card(health="Unknown")), "health is Unknown"),
    ("admin-allows-it", free(spec(modes=["x.io/a", DRIVER])), None),
    (
        "admin-allows-others",
        free(spec(modes=["x.io/a", "x.io/b"])),
        "its admin allows only x.io/a, x.io/b",
    ),
    ("in-another-mode", free(card(), mode="x.io/a"), "serves x.io/a"),
    (
        "on-a-closed-node",
        replace(free(card()), closed="node node-a is cordoned"),
        "node node-a is cordoned",
    ),
]


@pytest.mark.parametrize(
    ("view", "said"), [pytest.param(view, said, id=name) for name, view, said in UNFIT]
)
def test_unfit(view: CardView, said: str | None) -> None:
    """A card that may not serve, however free, says why."""
    assert placement.unfit(Wish(WANT), DRIVER, view) == said


H200 = card(model="NVIDIA H200", architecture="hopper", uuid="GPU-1", memory="141Gi").with_metadata(
    labels={"rack": "7"}
)
SELECTORS: list[tuple[str, GPUSelector, str | None]] = [
    ("everything", GPUSelector(), None),
    ("part-of-the-model-in-any-case", GPUSelector(model="h200"), None),
    ("another-model", GPUSelector(model="H100"), "model is NVIDIA H200, not H100"),
    ("architecture-in-any-case", GPUSelector(architecture="Hopper"), None),
    ("part-of-an-architecture", GPUSelector(architecture="hop"), "architecture is hopper, not hop"),
    ("uuid", GPUSelector(uuid="GPU-1"), None),
    ("another-uuid", GPUSelector(uuid="GPU-2"), "uuid is GPU-1, not GPU-2"),
    ("node", GPUSelector(node_name="node-a"), None),
    ("another-node", GPUSelector(node_name="node-b"), "node is node-a, not node-b"),
    ("enough-memory", GPUSelector(memory="141Gi"), None),
    ("too-little-memory", GPUSelector(memory="142Gi"), "has 141Gi memory in all, not 142Gi"),
    ("labels", GPUSelector(match_labels={"rack": "7"}), None),
    ("other-labels", GPUSelector(match_labels={"rack": "8"}), "its labels do not match"),
    ("all-together", GPUSelector(model="h200", uuid="GPU-2"), "uuid is GPU-1, not GPU-2"),
]


@pytest.mark.parametrize(
    ("selector", "said"), [pytest.param(s, said, id=name) for name, s, said in SELECTORS]
)
def test_selector(selector: GPUSelector, said: str | None) -> None:
    """Every field given has to fit, and the first that does not is named."""
    assert placement.mismatch(selector, H200) == said
    assert placement.unfit(Wish(WANT, selector), DRIVER, free(H200)) == said


SENTENCES: list[tuple[str, Demand, list[CardView], str]] = [
    (
        "no-cards",
        WANT,
        [],
        "no card can give 10% core and 10Gi memory: the cluster has no GPU objects",
    ),
    (
        "full",
        WANT,
        [free(card(), core=5, memory=GI)],
        "no card can give 10% core and 10Gi memory; looked at 1: card-0 "
        "(5% of 100% core free, 10% wanted; 1Gi of 80Gi memory free, 10Gi wanted)",
    ),
    (
        "unfit",
        WANT,
        [free(card(), mode="x.io/a")],
        "no card can give 10% core and 10Gi memory; looked at 1: card-0 (serves x.io/a)",
    ),
    (
        "whole-card",
        Demand(gpus=1),
        [free(card(), core=90)],
        "no card can give 1 whole card; looked at 1: card-0 (90% of 100% core free, 100% wanted)",
    ),
    (
        "tflops-not-known",
        Demand(tflops=5),
        [free(card(model="Mine"))],
        "no card can give 5 TFLOPS; looked at 1: card-0 "
        "(the dense FP16 TFLOPS of model Mine are not known)",
    ),
    (
        "too-many-tflops",
        Demand(tflops=126),
        [free(card(tflops=125))],
        "no card can give 126 TFLOPS; looked at 1: card-0 (100% of 100% core free, 101% wanted)",
    ),
    (
        "share-of-the-memory",
        Demand(memory_percentage=50),
        [free(card(), memory=10 * GI)],
        "no card can give 50% of the memory; looked at 1: card-0 "
        "(10Gi of 80Gi memory free, 40Gi wanted)",
    ),
    (
        "over-two-cards",
        Demand(core=120, count=2),
        [free(card(), core=50), free(card("card-1"), core=60)],
        "no card can give 120% core over 2 cards; looked at 2: "
        "card-0 (50% of 100% core free, 60% wanted); card-1 (does not fit with its neighbours)",
    ),
    (
        "unsized",
        Demand(),
        [free(card(), core=20)],
        "no card can give a share as large as the class makes them; looked at 1: card-0 "
        "(has no share left of the size that the class gives)",
    ),
]


@pytest.mark.parametrize(
    ("want", "cards", "said"), [pytest.param(*row, id=name) for name, *row in SENTENCES]
)
def test_explain(want: Demand, cards: list[CardView], said: str) -> None:
    """The sentence names the cards and what each of them lacks."""
    node = NodeView("node-a", tuple(cards))
    assert placement.explain(Wish(want), DRIVER, [node]).said() == said


@pytest.mark.parametrize("count", [1, SHOWN, SHOWN + 1, 8000])
def test_explain_is_bounded(count: int) -> None:
    """It names the first cards, counts the rest, and fits a condition of a large cluster."""
    name = "gpu-" + "x" * 240
    views = tuple(free(card(f"{name}-{n:05}"), core=0, memory=0) for n in range(count))
    said = placement.explain(Wish(WANT), DRIVER, [NodeView("node-a", views)]).said()
    assert sum(view.name in said for view in views) == min(count, SHOWN)
    assert f"looked at {count}: " in said
    assert said.endswith(f"and {count - SHOWN} more cards") is (count > SHOWN)
    assert len(said) <= 4096


def test_explain_of_any_health_message_fits_a_condition() -> None:
    """However long the agents' messages are, the sentence ends with the number of cards left."""
    views = tuple(
        free(card(f"card-{n}", health="Unhealthy", health_message="x" * 1024)) for n in range(20)
    )
    said = placement.explain(Wish(WANT), DRIVER, [NodeView("node-a", views)]).said()
    assert len(said) <= 4096
    assert said.endswith("more cards")
