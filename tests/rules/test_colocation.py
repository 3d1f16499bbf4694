"""Several claims on one node, or none of them: placed largest first, and never oversold."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpuclass import Placement
from elasticgpu.api.vocabulary import Demand
from elasticgpu.errors import Refused
from elasticgpu.rules.colocation import Find, Seeker, Together, anywhere, together
from elasticgpu.rules.fleet import CardView, NodeView, Ranking
from elasticgpu.rules.ledger import Slice
from elasticgpu.rules.placement import Nowhere, Wish

from .build import GI, Share, card, device, free, part


class Other(Share):
    """The same under another name, so that its cards are in another mode."""

    name = "example.com/other"


def node(name: str, *cores: int, mode: str = "") -> NodeView:
    """A node with a card for each of these amounts of free core."""
    cards = [
        free(card(f"{name}-{n}", name, index=n), core, mode=mode if core < 100 else "")
        for n, core in enumerate(cores)
    ]
    return NodeView(name, tuple(cards))


def seeks(
    name: str,
    core: int,
    *devices: ElasticGPU,
    placer: Share | None = None,
    order: str = "binpack",
    memory: int = 0,
    pool: NodeView | None = None,
) -> Seeker:
    wish = Wish(Demand(core=core, memory=memory), order=Placement(node=order))
    return Seeker(name, wish, devices, placer or Share(), pool=pool)


def on(name: str, *finds: Find) -> Together:
    return Together(name, finds)


def slice_of(gpu: str, core: int, memory: int = 0) -> Slice:
    return Slice((part(gpu, core, memory),))


A_FREE = device("egpu-a", core=50, node="a")
B_FREE = device("egpu-b", core=50, node="b")
REMOTE = device("egpu-r", core=50, node="")
POOL = node("", 60, 50)
ROWS: list[tuple[str, list[Seeker], list[NodeView], Together]] = [
    (
        "two-of-a-pool-on-no-node",
        [seeks("x", 50, pool=POOL), seeks("y", 40, pool=POOL)],
        [node("a", 100)],
        on("", slice_of("-1", 50), slice_of("-0", 40)),
    ),
    (
        "one-of-a-pool-and-one-of-a-node",
        [seeks("x", 50, pool=POOL), seeks("y", 70)],
        [node("a", 60), node("b", 80)],
        on("b", slice_of("-1", 50), slice_of("b-0", 70)),
    ),
    ("one", [seeks("x", 50)], [node("a", 60)], on("a", slice_of("a-0", 50))),
    (
        "two-on-the-node-that-holds-both",
        [seeks("x", 50), seeks("y", 30)],
        [node("a", 60), node("b", 80)],
        on("b", slice_of("b-0", 50), slice_of("b-0", 30)),
    ),
    (
        "two-on-two-cards",
        [seeks("x", 50), seeks("y", 60)],
        [node("a", 60, 50), node("b", 100)],
        on("a", slice_of("a-1", 50), slice_of("a-0", 60)),
    ),
    (
        "the-order-of-the-class",
        [seeks("x", 10, order="spread"), seeks("y", 10)],
        [node("a", 60), node("b", 80)],
        on("b", slice_of("b-0", 10), slice_of("b-0", 10)),
    ),
    (
        "two-modes-on-two-cards",
        [seeks("x", 10), seeks("y", 10, placer=Other())],
        [node("a", 100), node("b", 100, 100)],
        on("b", slice_of("b-0", 10), slice_of("b-1", 10)),
    ),
    (
        "what-exists-before-what-is-made",
        [seeks("x", 50, B_FREE)],
        [node("a", 100), node("b", 100)],
        on("b", B_FREE),
    ),
    (
        "a-device-and-a-slice",
        [seeks("x", 50, B_FREE), seeks("y", 100)],
        [node("a", 100), node("b", 100)],
        on("b", B_FREE, slice_of("b-0", 100)),
    ),
    (
        "one-device-serves-one",
        [seeks("x", 50, A_FREE, B_FREE), seeks("y", 50, A_FREE)],
        [node("a", 50)],
        on("a", A_FREE, slice_of("a-0", 50)),
    ),
    ("a-node-without-cards", [seeks("x", 50, A_FREE)], [], on("a", A_FREE)),
    ("a-remote-one", [seeks("x", 50, REMOTE)], [node("a", 100)], on("", REMOTE)),
    (
        "a-remote-one-beside-a-slice",
        [seeks("x", 50, REMOTE), seeks("y", 70)],
        [node("a", 60), node("b", 80)],
        on("b", REMOTE, slice_of("b-0", 70)),
    ),
]


@pytest.mark.parametrize(
    ("seekers", "nodes", "want"), [pytest.param(s, n, w, id=i) for i, s, n, w in ROWS]
)
def test_found(seekers: list[Seeker], nodes: list[NodeView], want: Together) -> None:
    """Each fleet leads to exactly this node and these finds."""
    assert together(seekers, Ranking(nodes), anywhere) == want


def test_a_node_that_is_judged_unfit_is_passed_over() -> None:
    """For slices and for devices that exist."""
    fleet = Ranking([node("a", 100), node("b", 100)])
    not_a = {"a": "it is cordoned"}.get
    assert together([seeks("x", 10)], fleet, not_a) == on("b", slice_of("b-0", 10))
    assert together([seeks("x", 10, A_FREE)], fleet, not_a) == on("b", slice_of("b-0", 10))


def test_a_seeker_may_be_barred_from_new_devices() -> None:
    """A class's topologies say where its devices are made, not where an admin put some."""
    fleet = Ranking([node("a", 100), node("b", 100)])
    x = seeks("x", 10)
    elsewhere = Seeker("x", x.wish, (), x.placer, {"a": "its class does not allow it"}.get)
    assert together([elsewhere], fleet, anywhere) == on("b", slice_of("b-0", 10))
    has = Seeker("x", x.wish, (A_FREE,), x.placer, {"a": "its class does not allow it"}.get)
    assert together([has], fleet, anywhere) == on("a", A_FREE)


def test_nowhere_says_what_each_node_lacks() -> None:
    """Judged, barred, full, or without anything: a reason a node, and which claim it is about."""
    fleet = Ranking([node("a", 100), node("b", 20), node("c", 60), node("d", 100)])
    y = seeks("y", 50, device(node="e"))
    barred = Seeker("y", y.wish, y.devices, y.placer, {"d": "its class does not allow it"}.get)
    found = together([seeks("x", 40), barred], fleet, {"a": "it is cordoned"}.get)
    assert found == Nowhere(
        "no node can give x, y together",
        "looked at 5: b (y: b-0: 20% of 100% core free, 50% wanted); "
        "c (x: c-0: 10% of 100% core free, 40% wanted); a (it is cordoned); "
        "d (y: its class does not allow it); e (x: no free device fits, and it has no cards)",
    )


def test_nowhere_for_one_that_nobody_makes() -> None:
    """Only devices that exist count, and there is none."""
    x = Seeker("x", Wish(Demand(core=40, memory=4 * GI)))
    found = together([x], Ranking([node("a", 100)]), anywhere)
    assert found == Nowhere(
        "no node can give 40% core and 4Gi memory",
        "looked at 1: a (no free device of its class fits, and none is made)",
    )


def test_nowhere_is_bounded() -> None:
    """However many nodes there are, and whatever is said of each."""
    nodes = [node(f"node-{n:03}", 1) for n in range(300)]
    found = together([seeks("x", 50)], Ranking(nodes), lambda name: "x" * 10_000)
    assert isinstance(found, Nowhere)
    assert len(found.said()) < 4096
    assert found.said().endswith("; and 292 more nodes")


def test_a_pool_that_is_full() -> None:
    """What its cards lack is said; no node is looked at for it."""
    found = together([seeks("x", 70, pool=POOL)], Ranking([node("a", 100)]), anywhere)
    assert isinstance(found, Nowhere)
    assert found.looks.startswith("looked at 1: without a node (-0: 60% of 100% core free")


def test_no_node_at_all() -> None:
    """Said in the words of placement."""
    found = together([seeks("x", 50)], Ranking(), anywhere)
    assert found == Nowhere("no node can give 50% core: the cluster has no GPU objects")


def test_a_lie_of_the_provisioner_is_told() -> None:
    """What it chose and is not free is in the sentence, and nothing is placed."""

    class Liar(Share):
        def place(self, want: Demand, node: NodeView) -> Slice | None:
            return Slice((part(node.cards[0].name, 100, 0),))

    found = together([seeks("x", 10, placer=Liar())], Ranking([node("a", 50)]), anywhere)
    assert isinstance(found, Nowhere)
    assert "chose what is not free: card a-0: 50% of 100% core free, 100% wanted" in found.looks


def test_a_refusal_goes_through() -> None:
    """A demand that the provisioner never serves is refused in its own words."""

    class Picky(Share):
        def place(self, want: Demand, node: NodeView) -> Slice | None:
            raise Refused("only on Sundays")

    with pytest.raises(Refused, match="only on Sundays"):
        together([seeks("x", 10, placer=Picky())], Ranking([node("a", 50)]), anywhere)


amounts = st.integers(0, 100)
fleets = st.lists(
    st.lists(st.tuples(amounts, st.integers(0, 8), st.booleans()), min_size=1, max_size=3),
    max_size=3,
)
wants = st.lists(
    st.tuples(st.integers(1, 100), st.integers(0, 8), st.booleans(), st.sets(st.integers(0, 3))),
    min_size=1,
    max_size=4,
)


@given(fleets, wants)
def test_all_or_none_and_never_oversold(
    rows: Sequence[Sequence[tuple[int, int, bool]]],
    asked: Sequence[tuple[int, int, bool, set[int]]],
) -> None:
    """What is found fits: every seeker has one thing of one node, no card gives more than it has
    or serves two modes, no device serves two. A single one is found a place if there is any."""
    nodes = [_node(f"n{n}", cards) for n, cards in enumerate(rows)]
    devices = [device(f"d{n}", core=100, memory="8Gi", node=f"n{n % 3}") for n in range(4)]
    seekers = [
        seeks(
            f"s{n}",
            core,
            *(devices[d] for d in sorted(free_ones)),
            placer=Other() if other else Share(),
            memory=gib * GI,
        )
        for n, (core, gib, other, free_ones) in enumerate(asked)
    ]
    found = together(seekers, Ranking(nodes), anywhere)
    if isinstance(found, Nowhere):
        (core, gib, other, free_ones), *more = asked
        mode = Other.name if other else Share.name
        fits = any(
            c >= core and g >= gib and (view.mode in ("", mode))
            for cards, one in zip(rows, nodes, strict=True)
            for (c, g, _), view in zip(cards, one.cards, strict=True)
        )
        assert more or not (fits or free_ones)
        return
    assert len(found.finds) == len(seekers)
    used: dict[str, list[tuple[int, int, str]]] = {}
    taken = []
    for seeker, find in zip(seekers, found.finds, strict=True):
        if isinstance(find, ElasticGPU):
            assert find in seeker.devices
            assert find.spec.node_name == found.node
            taken.append(find.name)
            continue
        assert seeker.placer is not None
        (one,) = find.devices
        assert (one.core, one.memory_bytes) == (seeker.wish.want.core, seeker.wish.want.memory)
        used.setdefault(one.gpu, []).append((one.core, one.memory_bytes, seeker.placer.name))
    assert len(taken) == len(set(taken))
    cards = {view.name: view for one in nodes if one.name == found.node for view in one.cards}
    for gpu, parts in used.items():
        assert sum(core for core, _, _ in parts) <= cards[gpu].core_free
        assert sum(memory for _, memory, _ in parts) <= cards[gpu].memory_free
        assert {cards[gpu].mode, *(mode for _, _, mode in parts)} - {""} == {parts[0][2]}


def _node(name: str, cards: Sequence[tuple[int, int, bool]]) -> NodeView:
    views = [
        CardView(
            card(f"{name}-{n}", name, index=n), core, gib * GI, Other.name if other else Share.name
        )
        if core < 100
        else CardView(card(f"{name}-{n}", name, index=n), core, gib * GI)
        for n, (core, gib, other) in enumerate(cards)
    ]
    return NodeView(name, tuple(views))
