"""Nodes in order: what is kept sorted answers what sorting everything anew would."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.rules.fleet import NO_ROOM, Among, NodeView, Ranking, Room, share

from .build import GI, card, free

NAMES = ("node-a", "node-b", "node-c", "node-d")
ROOMS = st.one_of(
    st.just(NO_ROOM), st.tuples(st.integers(0, 100), st.integers(0, 80).map(lambda g: g * GI))
)
ORDERS = st.sampled_from(("binpack", "spread", "topology"))


@st.composite
def nodes(draw: st.DrawFn) -> NodeView:
    """A node, often as full as another one."""
    name = draw(st.sampled_from(NAMES))
    frees = draw(st.lists(st.sampled_from((-10, 0, 20, 100)), max_size=3))
    views = [
        free(card(f"{name}-{n}", name, index=n), core, core * GI // 2)
        for n, core in enumerate(frees)
    ]
    return NodeView(name, tuple(views))


def naive(known: Iterable[NodeView], order: str, room: Room) -> list[NodeView]:
    """All nodes sorted, the useless ones left out."""
    core, memory = room

    def useful(node: NodeView) -> bool:
        most_core = max((view.core_free for view in node.cards), default=0)
        return most_core >= core and max((v.memory_free for v in node.cards), default=0) >= memory

    sign = -1 if order == "spread" else 1
    return sorted(filter(useful, known), key=lambda node: (sign * share(node.cards), node.name))


@given(st.lists(st.one_of(nodes(), st.sampled_from(NAMES)), max_size=12), ORDERS, ROOMS)
def test_kept_sorted(story: list[NodeView | str], order: str, room: Room) -> None:
    """After any changes, a name being a node that goes, the order is that of a sort from scratch,
    and nothing that could serve is passed over."""
    kept = Ranking()
    known: dict[str, NodeView] = {}
    for change in story:
        if isinstance(change, str):
            kept.drop(change)
            known.pop(change, None)
        else:
            kept.put(change)
            known[change.name] = change
        assert list(kept.in_order(order, room)) == naive(known.values(), order, room)
    assert [kept.node(name) for name in NAMES] == [known.get(name) for name in NAMES]


def test_equal_ones_go_by_name_whichever_way() -> None:
    """Nodes of the same fullness come in the order of their names for spread as for binpack."""
    equal = [NodeView(name, (free(card(), core=50),)) for name in reversed(NAMES)]
    for order in ("binpack", "spread"):
        assert [node.name for node in Ranking(equal).in_order(order)] == list(NAMES)


def test_a_node_that_goes_or_changes() -> None:
    """One that is gone is in no order; a newer state takes the place of the older one."""
    kept = Ranking(NodeView(name, (free(card(), core=50),)) for name in NAMES)
    kept.drop("node-b")
    kept.drop("node-z")
    kept.put(NodeView("node-c", (free(card(), core=10),)))
    assert [node.name for node in kept.in_order("binpack")] == ["node-c", "node-a", "node-d"]
    assert [kept.node(name) is not None for name in NAMES] == [True, False, True, True]


def test_the_share_that_is_free() -> None:
    """Half a card and an empty one are three quarters of core and of memory; no card is nothing."""
    half = free(card(), core=50, memory=40 * GI)
    assert share((half, free(card("card-1")))) == 1.5
    assert share(()) == 0


def test_among_some() -> None:
    """A fleet without a node is the same fleet in the same order without it."""
    fleet = Ranking(NodeView(name, (free(card(), core=50),)) for name in NAMES)
    some = Among(fleet, lambda name: name != "node-b")
    assert [node.name for node in some.in_order("binpack")] == ["node-a", "node-c", "node-d"]
    assert list(some.in_order("binpack", (60, 0))) == []
