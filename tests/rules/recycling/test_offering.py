"""What is advised where Released devices are in the way does help."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.claim import ElasticGPUClaim, GPUSelector
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.vocabulary import Demand
from elasticgpu.errors import Refused
from elasticgpu.rules import offering, placement
from elasticgpu.rules.fitting import Candidate
from elasticgpu.rules.fleet import NodeView
from elasticgpu.rules.ledger import Ledger, Slice
from elasticgpu.rules.offering import NAMED, Offer
from elasticgpu.rules.placement import Placed, Wish
from tests.rules.build import DRIVER, GI, Share, card, claim, part

from .devices import TRAIN, released


class Untouched(Share):
    """Takes cards only that nothing else lies on."""

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        return super().place(want, NodeView(node.name, tuple(c for c in node.cards if c.untouched)))


class Moody(Share):
    """Refuses to think about cards of which much is free."""

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        if any(view.core_free > 50 for view in node.cards):
            raise Refused("not on a free day")
        return super().place(want, node)


def world(*devices: ElasticGPU, memory: str = "100Gi") -> Ledger:
    """Two nodes of two cards with these devices on them."""
    cards = [card(f"card-{n}", f"node-{n // 2}", memory=memory, index=n) for n in range(4)]
    return Ledger(cards, devices)


def offer(want: ElasticGPUClaim, *devices: ElasticGPU, placer: Share | None = None) -> Offer | None:
    asked = Wish(Demand(core=_core(want), memory=10 * GI), want.spec.gpu_selector)
    idle = [Candidate(d, (card(),)) for d in devices if d.status.phase == "Released"]
    return offering.offer(want, "gold", asked, idle, placer or Share(), world(*devices))


def _core(of: ElasticGPUClaim) -> int:
    return int(next(iter(of.spec.resources.requests.values())))


def on(gpu: str, core: int, name: str, **facts: object) -> ElasticGPU:
    return released(
        name,
        core=core,
        memory=f"{core}Gi",
        parts=[part(gpu, core, f"{core}Gi")],
        **facts,
    )


TEN = [on("card-0", 10, f"egpu-{n}") for n in range(10)]
FULL = [on(f"card-{n}", 100, f"full-{n}", phase="Bound") for n in range(1, 4)]
OFFERS: list[tuple[str, Offer | None, Offer | None]] = [
    ("none", offer(TRAIN), None),
    ("bound-ones-only", offer(TRAIN, *FULL), None),
    ("one-fits", offer(TRAIN, *TEN), Offer(10, 100, 100 * GI, ("egpu-0",))),
    (
        "the-best-fit",
        offer(TRAIN, on("card-0", 50, "egpu-large"), on("card-1", 20, "egpu-small")),
        Offer(2, 70, 70 * GI, ("egpu-small",)),
    ),
    (
        "room-of-as-few-as-it-takes",
        offer(claim(core=25), *TEN, *FULL),
        Offer(10, 100, 100 * GI, ("egpu-0", "egpu-1", "egpu-2"), delete=True),
    ),
    (
        "the-largest-first",
        offer(claim(core=45), *TEN[:6], on("card-0", 40, "egpu-x"), *FULL),
        Offer(7, 100, 100 * GI, ("egpu-0", "egpu-x"), delete=True),
    ),
    (
        "on-the-node-that-takes-the-fewest",
        offer(claim(core=50), *TEN, *(on("card-3", 45, f"egpu-{s}") for s in "xy"), *FULL[:2]),
        Offer(12, 190, 190 * GI, ("egpu-x",), delete=True),
    ),
    (
        "another-mode-goes-with-all-its-devices",
        offer(TRAIN, *(on("card-0", 5, f"egpu-{n}", driver="x.io/a") for n in range(3)), *FULL),
        Offer(3, 15, 15 * GI, ("egpu-0", "egpu-1", "egpu-2"), delete=True),
    ),
    (
        "another-mode-stays-with-one-in-use",
        offer(
            TRAIN,
            on("card-0", 5, "egpu-0", driver="x.io/a"),
            on("card-0", 5, "egpu-1", driver="x.io/a", phase="Bound"),
            *FULL,
        ),
        Offer(1, 5, 5 * GI, (), delete=True),
    ),
    (
        "of-another-class-it-is-room",
        offer(TRAIN, on("card-0", 100, "egpu-a", class_name="silver"), *FULL),
        Offer(1, 100, 100 * GI, ("egpu-a",), delete=True),
    ),
    (
        "together-too-little",
        offer(claim(core=90), *TEN[:5], *FULL, on("card-0", 50, "busy", phase="Bound")),
        Offer(5, 50, 50 * GI, (), delete=True),
    ),
    (
        "not-on-a-card-it-may-not-use",
        offer(claim(core=25, gpu_selector=GPUSelector(node_name="node-1")), *TEN, *FULL),
        None,
    ),
    (
        "all-of-a-card-if-the-provisioner-needs-that",
        offer(claim(core=15), *TEN[:3], *FULL, placer=Untouched()),
        Offer(3, 30, 30 * GI, ("egpu-0", "egpu-1", "egpu-2"), delete=True),
    ),
    (
        "a-provisioner-that-refuses-is-no-place",
        offer(claim(core=25), *TEN, *FULL, placer=Moody()),
        Offer(10, 100, 100 * GI, (), delete=True),
    ),
]


@pytest.mark.parametrize(("found", "want"), [pytest.param(*row, id=name) for name, *row in OFFERS])
def test_offer(found: Offer | None, want: Offer | None) -> None:
    """One that fits as it is comes before room; of room as few devices as possible."""
    assert found == want


def test_without_a_provisioner_only_whole_devices_count() -> None:
    """Nothing can be made of room then."""
    idle = [Candidate(d) for d in TEN]
    asked = Wish(Demand(core=50))
    assert offering.offer(claim(core=50), "gold", asked, idle, None, world(*TEN)) is None
    found = offering.offer(TRAIN, "gold", Wish(Demand(core=10)), idle)
    assert found == Offer(10, 100, 100 * GI, ("egpu-0",))


HELD = "10 Released devices hold 100% core and 4Gi memory"
SENTENCES = [
    (
        Offer(10, 100, 4 * GI, ("a",)),
        f"{HELD}; `elasticgpu release a` gives it one",
    ),
    (
        Offer(10, 100, 4 * GI, ("a", "b"), delete=True),
        f"{HELD}; `elasticgpu release --delete a b` makes room",
    ),
    (
        Offer(1, 100, 4 * GI, ("a",)),
        "1 Released device holds 100% core and 4Gi memory; `elasticgpu release a` gives it one",
    ),
    (
        Offer(10, 100, 4 * GI, tuple("abcdefghijk"), delete=True),
        f"{HELD}; deleting 11 of them makes room",
    ),
    (Offer(10, 100, 4 * GI), ""),
]


@pytest.mark.parametrize(("found", "said"), SENTENCES)
def test_sentence(found: Offer, said: str) -> None:
    """What lies idle, and the command that ends it."""
    assert found.sentence == said


def test_sentence_is_bounded() -> None:
    """With names as long as they may be it leaves room for the cards in a condition."""
    names = tuple(f"{n:063}" for n in range(NAMED))
    assert len(Offer(10**6, 10**8, 1 << 62, names, delete=True).sentence) < 820


def test_no_command_without_names() -> None:
    """Nothing is advised that would not help."""
    assert Offer(1, 10, 0).command == ""


@st.composite
def crowds(draw: st.DrawFn) -> list[ElasticGPU]:
    """Devices of several modes, in use or not, on four cards that hold them."""
    found = []
    for n in range(4):
        left, driver = 100, draw(st.sampled_from((DRIVER, "x.io/a")))
        for k in range(draw(st.integers(0, 4))):
            core = draw(st.integers(1, 60))
            phase = draw(st.sampled_from(("Released", "Bound")))
            if core <= left:
                left -= core
                found.append(on(f"card-{n}", core, f"egpu-{n}-{k}", phase=phase, driver=driver))
    return found


@given(crowds(), st.integers(1, 100))
def test_advice_is_true(devices: list[ElasticGPU], core: int) -> None:
    """Without the named devices there is a place; with any one of them back, none."""
    want, asked = claim(core=core, class_name="x"), Wish(Demand(core=core, memory=core * GI))
    idle = [Candidate(d) for d in devices if d.status.phase == "Released"]
    nodes = world(*devices)
    if isinstance(placement.place(asked, Share(), nodes), Placed):
        return
    found = offering.offer(want, "silver", asked, idle, Share(), nodes)

    def placed_without(names: tuple[str, ...]) -> bool:
        rest = world(*(d for d in devices if d.name not in names))
        return isinstance(placement.place(asked, Share(), rest), Placed)

    if found is None or not found.names:
        assert not placed_without(tuple(c.device.name for c in idle))
    else:
        assert set(found.names) <= {c.device.name for c in idle}
        assert placed_without(found.names)
        for name in found.names:
            assert not placed_without(tuple(other for other in found.names if other != name))
