"""The ledger: whatever happened in whatever order, free is capacity less what the living hold."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.elasticgpu import CardSlice, DevicePhase, ElasticGPU
from elasticgpu.api.gpu import GPU, GPUSpec, GPUStatus
from elasticgpu.api.names import PROVISIONED_BY
from elasticgpu.rules.fleet import WHOLE, CardView, Held, NodeView
from elasticgpu.rules.ledger import (
    OVERCOMMITTED,
    Ledger,
    holds,
    part_lacks,
    shortage,
)

from .build import DRIVER, GI, card, claim, device, free, part, ref

CARDS = ("card-0", "card-1", "card-2")
DEVICES = ("egpu-a", "egpu-b", "egpu-c", "egpu-d")
PHASES: tuple[DevicePhase, ...] = ("", "Pending", "Available", "Bound", "Released", "Failed")


@dataclass(frozen=True)
class SetCard:
    gpu: GPU


@dataclass(frozen=True)
class DropCard:
    name: str


@dataclass(frozen=True)
class SetDevice:
    device: ElasticGPU


@dataclass(frozen=True)
class DropDevice:
    name: str


Event = SetCard | DropCard | SetDevice | DropDevice

PARTS = st.lists(
    st.builds(part, st.sampled_from(CARDS), st.integers(0, 100), st.integers(0, 80 * GI)),
    max_size=3,
    unique_by=lambda p: p.gpu,
)
EVENTS: st.SearchStrategy[list[Event]] = st.lists(
    st.one_of(
        st.builds(
            SetCard,
            st.builds(
                card,
                st.sampled_from(CARDS),
                st.sampled_from(("node-a", "node-b")),
                memory=st.integers(0, 80 * GI),
            ),
        ),
        st.builds(DropCard, st.sampled_from(CARDS)),
        st.builds(
            SetDevice,
            st.builds(
                device,
                st.sampled_from(DEVICES),
                phase=st.sampled_from(PHASES),
                reason=st.sampled_from(("", OVERCOMMITTED)),
                parts=PARTS,
                annotations=st.sampled_from(({}, {PROVISIONED_BY: DRIVER})),
                of=st.sampled_from((None, ref(claim()), ref(claim(), uid=""))),
            ),
        ),
        st.builds(DropDevice, st.sampled_from(DEVICES)),
    ),
    max_size=30,
)


class Naive:
    """The same sum, over everything, each time."""

    def __init__(self) -> None:
        self.cards: dict[str, GPU] = {}
        self.devices: dict[str, ElasticGPU] = {}

    def take(self, event: Event) -> None:
        match event:
            case SetCard(gpu):
                self.cards[gpu.name] = gpu
            case DropCard(name):
                self.cards.pop(name, None)
            case SetDevice(found):
                self.devices[found.name] = found
            case DropDevice(name):
                self.devices.pop(name, None)

    def held(self, name: str) -> list[tuple[str, CardSlice]]:
        return [
            (d.name, p)
            for d in sorted(self.devices.values(), key=lambda d: d.name)
            for p in d.spec.source.devices
            if p.gpu == name and self.live(d)
        ]

    def live(self, found: ElasticGPU) -> bool:
        if found.status.phase in ("", "Pending"):
            return PROVISIONED_BY in found.metadata.annotations and found.claim_uid != ""
        return not (found.status.phase == "Failed" and found.status.reason == OVERCOMMITTED)

    def free(self, name: str) -> tuple[int, int] | None:
        if name not in self.cards:
            return None
        rows = [p for _, p in self.held(name)]
        core = WHOLE - sum(p.core for p in rows)
        return core, self.cards[name].memory - sum(p.memory_bytes for p in rows)


def feed(ledger: Ledger, event: Event) -> None:
    match event:
        case SetCard(gpu):
            ledger.set_card(gpu)
        case DropCard(name):
            ledger.drop_card(name)
        case SetDevice(found):
            ledger.set_device(found)
        case DropDevice(name):
            ledger.drop_device(name)


def room(view: CardView | None) -> tuple[int, int] | None:
    return None if view is None else (view.core_free, view.memory_free)


@given(EVENTS)
def test_free_is_capacity_less_the_living(events: list[Event]) -> None:
    """After every event of any sequence, card by card."""
    ledger, naive = Ledger(), Naive()
    for event in events:
        feed(ledger, event)
        naive.take(event)
        for name in CARDS:
            assert room(ledger.card(name)) == naive.free(name)
            assert [(h.device, h.core, h.memory) for h in ledger.held(name)] == [
                (who, p.core, p.memory_bytes) for who, p in naive.held(name)
            ]
            view = ledger.card(name)
            assert view is None or view.untouched == (not naive.held(name))
    assert {d for d in DEVICES if ledger.knows(d)} == {
        d.name for d in naive.devices.values() if naive.live(d)
    }
    assert ledger.nodes() == sorted({gpu.spec.node_name for gpu in naive.cards.values()})
    for node in ledger.nodes():
        here = [gpu.name for gpu in naive.cards.values() if gpu.spec.node_name == node]
        assert [view.name for view in ledger.node(node).cards] == sorted(here)


@given(EVENTS, st.randoms(use_true_random=False))
def test_order_does_not_matter(events: list[Event], random: object) -> None:
    """The last state of each object, taken in in any order, gives the same sums."""
    naive = Naive()
    for event in events:
        naive.take(event)
    states: list[Event] = [
        *(SetCard(gpu) for gpu in naive.cards.values()),
        *(SetDevice(found) for found in naive.devices.values()),
    ]
    random.shuffle(states)  # type: ignore[attr-defined] # hypothesis gives a random.Random
    shuffled = Ledger()
    for event in states:
        feed(shuffled, event)
    inorder = Ledger(naive.cards.values(), naive.devices.values())
    assert [room(shuffled.card(c)) for c in CARDS] == [room(inorder.card(c)) for c in CARDS]


@given(EVENTS, st.sampled_from(DEVICES))
def test_setting_twice_is_setting_once(events: list[Event], name: str) -> None:
    """A device taken in again changes nothing, and without it its card is as before it came."""
    once, twice = Ledger(), Ledger()
    for event in events:
        feed(once, event)
        feed(twice, event)
        feed(twice, event)
    assert [twice.card(c) for c in CARDS] == [once.card(c) for c in CARDS]
    without = [room(once.card(c, without=name)) for c in CARDS]
    once.drop_device(name)
    assert [room(once.card(c)) for c in CARDS] == without


MADE = {PROVISIONED_BY: DRIVER}
HOLDS: list[tuple[str, ElasticGPU, bool]] = [
    ("ours-new", device(phase="", annotations=MADE, of=ref(claim())), True),
    ("ours-pending", device(phase="Pending", annotations=MADE, of=ref(claim())), True),
    ("a-copy-of-ours", device(phase="", annotations=MADE), False),
    ("a-reserved-copy", device(phase="", annotations=MADE, of=ref(claim(), uid="")), False),
    ("admins-new", device(phase=""), False),
    ("admins-pending", device(phase="Pending"), False),
    ("available", device(phase="Available"), True),
    ("bound", device(phase="Bound"), True),
    ("released", device(phase="Released"), True),
    ("failed", device(phase="Failed", reason="Unhealthy"), True),
    ("overcommitted", device(phase="Failed", reason=OVERCOMMITTED), False),
    ("overcommitted-once-and-admitted", device(phase="Available", reason=OVERCOMMITTED), True),
]


@pytest.mark.parametrize(
    ("found", "want"), [pytest.param(found, want, id=name) for name, found, want in HOLDS]
)
def test_who_holds_room(found: ElasticGPU, want: bool) -> None:
    """Ours from the first moment, an admin's once admitted, until the object is gone."""
    assert holds(found) is want
    ledger = Ledger([card()], [found])
    assert ledger.knows(found.name) is want
    assert room(ledger.card("card-0")) == ((90, 70 * GI) if want else (100, 80 * GI))


def test_a_part_that_cannot_be_read_holds_the_whole_card() -> None:
    """Nothing is sold beside it: what it really has, nobody knows."""
    view = Ledger([card()], [device(parts=[part("card-0", 10, "plenty")])]).card("card-0")
    assert view is not None
    assert part_lacks(part("card-0", 0, 1), view, DRIVER) is not None


def test_held_by_name() -> None:
    """Rows come sorted, with the driver that holds them."""
    first, second = device("egpu-a"), device("egpu-b", core=20)
    ledger = Ledger([card()], [second, first])
    assert ledger.held("card-0") == [
        Held("egpu-a", DRIVER, 10, 10 * GI, parts=tuple(first.spec.source.devices)),
        Held("egpu-b", DRIVER, 20, 10 * GI, parts=tuple(second.spec.source.devices)),
    ]
    assert ledger.held("card-9") == []


def test_mode_is_the_first_holders_until_it_goes() -> None:
    """A card has one mode while anything holds it, and none afterwards."""
    ledger = Ledger([card()], [device("egpu-a", core=0, memory=0)])
    view = ledger.card("card-0")
    assert view is not None
    assert (view.mode, view.untouched, len(view.held)) == (DRIVER, False, 1)
    ledger.drop_device("egpu-a")
    assert ledger.card("card-0") == free(card())


def test_a_card_that_went_and_came_back() -> None:
    """What devices hold of it stays known while the card's object is away."""
    ledger = Ledger([card()], [device()])
    ledger.drop_card("card-0")
    assert (ledger.card("card-0"), ledger.nodes()) == (None, [])
    assert ledger.node("node-a") == NodeView("node-a", ())
    ledger.set_card(card())
    assert room(ledger.card("card-0")) == (90, 70 * GI)


def test_what_goes_frees_its_own_room_only() -> None:
    """The device beside it keeps its part; a card that never was known may go, too."""
    ledger = Ledger([card(), card("card-1")], [device("egpu-a"), device("egpu-b", core=20)])
    ledger.drop_device("egpu-a")
    ledger.drop_card("card-1")
    ledger.drop_card("card-9")
    assert [view.name for view in ledger.node("node-a").cards] == ["card-0"]
    assert room(ledger.card("card-0")) == (80, 70 * GI)


def test_cards_of_a_node_by_index() -> None:
    """Cards come in the order of their index, then of their name."""
    cards = [card("a", index=2), card("b", index=0), card("d", index=1), card("c", index=1)]
    assert [v.name for v in Ledger(cards).node("node-a").cards] == ["b", "c", "d", "a"]


def test_a_device_with_two_parts_of_one_card() -> None:
    """Both parts count, and both go with the device: nothing is oversold by naming a card twice."""
    ledger = Ledger([card()])
    ledger.set_device(device(parts=[part("card-0", 30, "10Gi"), part("card-0", 40, "20Gi")]))
    assert room(ledger.card("card-0")) == (30, 50 * GI)
    ledger.drop_device("egpu-a")
    assert room(ledger.card("card-0")) == (100, 80 * GI)


def only(*modes: str) -> GPU:
    return card().but(spec=GPUSpec(node_name="node-a", modes=list(modes)))


TENANT = device("egpu-0", core=60, memory="60Gi")
FOREIGN = device("egpu-0", core=60, driver="x.io/mps")
LACKS: list[tuple[str, list[GPU], list[ElasticGPU], ElasticGPU, str | None]] = [
    ("empty-card", [card()], [], device(phase=""), None),
    ("fits-exactly", [card()], [TENANT], device(core=40, memory="20Gi", phase=""), None),
    (
        "no-core",
        [card()],
        [TENANT],
        device(core=41, phase=""),
        "card-0: 40% of 100% core free, 41% wanted",
    ),
    (
        "no-core-no-memory",
        [card()],
        [TENANT],
        device(core=41, memory="21Gi", phase=""),
        "card-0: 40% of 100% core free, 41% wanted; 20Gi of 80Gi memory free, 21Gi wanted",
    ),
    ("no-such-card", [], [], device(phase=""), "there is no GPU object card-0"),
    (
        "another-mode",
        [card()],
        [FOREIGN],
        device(phase=""),
        f"card-0: the card serves x.io/mps, this device wants {DRIVER}",
    ),
    ("itself-does-not-count", [card()], [device(core=80)], device(core=80), None),
    (
        "the-second-card",
        [card(), card("card-1")],
        [device("egpu-0", parts=[part("card-1", 100)])],
        device(parts=[part("card-0", 50), part("card-1", 50)], phase=""),
        "card-1: 0% of 100% core free, 50% wanted",
    ),
    ("remote", [], [], device(parts=[], phase=""), None),
    (
        "the-card-is-on-another-node",
        [card(node="node-b")],
        [],
        device(phase=""),
        "card-0 is on node-b, not node-a",
    ),
    (
        "memory-that-is-no-amount",
        [card()],
        [],
        device(parts=[part("card-0", 10, "plenty")], phase=""),
        "card-0: the amounts are not amounts",
    ),
    (
        "less-than-nothing",
        [card()],
        [],
        device(parts=[part("card-0", 10, "-1Gi")], phase=""),
        "card-0: the amounts are not amounts",
    ),
    (
        "another-card-of-that-name",
        [card(uuid="GPU-card-0")],
        [],
        device(parts=[part("card-0", 10).but(uuid="../../etc")], phase=""),
        "card-0 is GPU-card-0, not ../../etc",
    ),
    (
        "a-card-that-told-nothing-yet",
        [card().but(status=GPUStatus())],
        [],
        device(parts=[part("card-0", 10).but(uuid="GPU-card-0")], phase=""),
        "card-0 is not known yet, not GPU-card-0",
    ),
    ("admin-allows-it", [only("x.io/mps", DRIVER)], [], device(phase=""), None),
]


@pytest.mark.parametrize(
    ("cards", "devices", "asked", "said"),
    [pytest.param(c, d, a, s, id=name) for name, c, d, a, s in LACKS],
)
def test_lacks(
    cards: list[GPU], devices: list[ElasticGPU], asked: ElasticGPU, said: str | None
) -> None:
    """A device made ahead of time has room on each of its cards, or hears which one has not."""
    assert Ledger(cards, devices).lacks(asked) == said


def test_lacks_within_the_modes_of_the_card() -> None:
    """A card whose admin allows other backends only has no room for this one."""
    said = Ledger([only("x.io/mps")]).lacks(device(phase=""))
    assert said is not None
    assert "x.io/mps" in said


def test_modes_that_were_narrowed_later_take_nothing_away() -> None:
    """A device that was let in keeps its room: its node asks again when a pod comes to use it."""
    assert Ledger([only("x.io/mps")]).lacks(device(phase="Bound")) is None


def test_a_pool() -> None:
    """Cards that are on no node are counted by their names, whoever names them."""
    far = card("far:0", "", memory=8 * GI)
    one = device("egpu-1", parts=[part("far:0", 60, 2 * GI)], node="")
    ledger = Ledger([card()], [one])
    assert ledger.nodes() == ["node-a"]
    (view,) = ledger.pool([far]).cards
    assert (view.core_free, view.memory_free, view.mode) == (40, 6 * GI, DRIVER)
    two = device("egpu-2", parts=[part("far:0", 40, 6 * GI)], node="", phase="")
    assert ledger.lacks(two, [far]) is None
    assert ledger.lacks(two) == "there is no GPU object far:0"
    on_a_node = device("egpu-2", parts=[part("far:0")], node="node-a", phase="")
    assert ledger.lacks(on_a_node, [far]) == "there is no GPU object far:0"
    large = device("egpu-3", parts=[part("far:0", 41)], node="", phase="")
    assert "40% of 100% core free, 41% wanted" in (ledger.lacks(large, [far]) or "")


def test_part_lacks_on_a_free_card() -> None:
    """A card nobody holds takes any driver."""
    assert part_lacks(part("card-0", 100, "80Gi"), free(card()), "x.io/any") is None


def test_shortage_at_the_edge() -> None:
    """What is free may be used up to the last byte, and no further."""
    view = free(card(), core=10, memory=GI)
    assert shortage(10, GI, view) is None
    assert shortage(10, GI + 1, view) == "1Gi of 80Gi memory free, 1073741825 wanted"
