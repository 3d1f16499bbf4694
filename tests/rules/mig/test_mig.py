"""What a card can still be cut into: conflicts, starts, the profile that serves a demand."""

from __future__ import annotations

import pytest

from elasticgpu.agent.migtables import TABLES
from elasticgpu.agent.models import MODELS
from elasticgpu.api.elasticgpu import CardSlice
from elasticgpu.api.gpu import GPUStatus, MigProfile
from elasticgpu.api.quantity import MI, to_int
from elasticgpu.api.vocabulary import Demand
from elasticgpu.rules import colocation, cutting, mig, placement
from elasticgpu.rules.colocation import Seeker, Together, anywhere
from elasticgpu.rules.fleet import CardView, Held, NodeView, Ranking
from elasticgpu.rules.ledger import Ledger, Slice, part_lacks
from elasticgpu.rules.mig import Instance
from elasticgpu.rules.placement import Placed, Wish

from ..build import card, device, free, part

A100 = TABLES["A100-40GB"]
A30 = TABLES["A30"]
DRIVER = "elasticgpu.io/mig"
SLIM = [row for row in A100 if row.name != "7g.40gb"]  # a card of four compute slices, in effect


def test_tables_are_of_cards() -> None:
    """Every model's instances fit its memory, whatever layout; ids, names and starts are told."""
    for model in MODELS:
        for row in model.mig:
            assert row.max * to_int(row.memory) <= model.memory_mib * MI, (model.short, row.name)
            assert max(row.starts) + row.slices <= (4 if model.short == "A30" else 8)
            assert row.max * mig.core(model.mig, row) <= 100
        assert len({row.id for row in model.mig}) == len({r.name for r in model.mig})
        assert len(model.mig) == len({r.name for r in model.mig})


CORES = {"1g.5gb": 14, "1g.5gb+me": 14, "1g.10gb": 14, "2g.10gb": 28, "3g.20gb": 42}
CORES |= {"4g.20gb": 57, "7g.40gb": 100}


def test_percent_of_compute() -> None:
    """Sevenths of the card, rounded down: 4 and 3 of them are 99, seven are 98."""
    assert {row.name: mig.core(A100, row) for row in A100} == CORES
    assert [mig.core(A30, row) for row in A30] == [25, 25, 50, 50, 100]


def test_a_name_that_tells_nothing() -> None:
    """A profile of a form we do not know counts by its memory slices, and is asked for last."""
    odd = MigProfile(name="half", id=1, memory="1Gi", slices=2, starts=[0, 2], max=2)
    assert mig.compute(odd) == 2
    assert sorted(["half", "1g.5gb"], key=mig.largest_first) == ["1g.5gb", "half"]


HELD = [Instance("3g.20gb", 4, "egpu-a"), Instance("1g.5gb+me", 0)]
CONFLICTS: list[tuple[str, list[Instance], Instance, str | None]] = [
    ("free", HELD, Instance("2g.10gb", 2), None),
    ("as-resources-write-it", [], Instance("1g.5gb.me", 6), None),
    ("overlap", HELD, Instance("1g.5gb", 5), "1g.5gb at 5 overlaps 3g.20gb at 4 (egpu-a)"),
    ("same-place", HELD, Instance("1g.5gb", 0), "1g.5gb at 0 overlaps 1g.5gb+me at 0"),
    ("start", [], Instance("2g.10gb", 1), "2g.10gb starts at 0, 2, 4, not at 1"),
    (
        "profile",
        [],
        Instance("1g.6gb", 0),
        "there is no profile 1g.6gb; there are 1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, 3g.20gb, "
        "4g.20gb, 7g.40gb",
    ),
    (
        "media",
        HELD,
        Instance("1g.5gb+me", 1),
        "the card holds 1 of 1g.5gb+me at most",
    ),
    (
        "unknown-holds-all",
        [Instance("9g.90gb", 0)],
        Instance("1g.5gb", 6),
        "1g.5gb at 6 overlaps 9g.90gb at 0",
    ),
    (
        "no-instance-holds-all",
        [Instance("", 0, "egpu-a")],
        Instance("1g.5gb", 6),
        "1g.5gb at 6 overlaps what is no instance (egpu-a)",
    ),
]


@pytest.mark.parametrize(
    ("held", "wanted", "said"), [pytest.param(*row, id=name) for name, *row in CONFLICTS]
)
def test_conflict(held: list[Instance], wanted: Instance, said: str | None) -> None:
    """Memory slices, starts and numbers of instances, in words."""
    assert mig.conflict(A100, held, wanted) == said


def test_most_instances_and_compute() -> None:
    """A table's own maximum, and compute slices where memory would do."""
    few = [row.but(max=2) if row.name == "1g.5gb" else row for row in A100]
    two = [Instance("1g.5gb", 0), Instance("1g.5gb", 1)]
    assert mig.conflict(few, two, Instance("1g.5gb", 2)) == "the card holds 2 of 1g.5gb at most"
    full = [Instance("4g.20gb", 0)]
    said = "0 of 4 compute slices free, 1 wanted"
    assert mig.conflict(SLIM, full, Instance("1g.5gb", 6)) == said
    with_media = [Instance("2g.12gb+me", 0)]
    said = "the card holds 1 with media extensions at most"
    assert mig.conflict(A30, with_media, Instance("1g.6gb+me", 2)) == said
    twice = [row.but(max=2) if "+me" in row.name else row for row in A30]
    assert mig.conflict(twice, with_media, Instance("1g.6gb+me", 2)) is None


def test_a_layout_of_more_than_any_card_holds() -> None:
    """Whatever somebody writes into a file, it costs no more than the answer."""
    assert mig.layout(A100, {"1g.5gb": 10**9}) is None


def test_a_card_without_table() -> None:
    """It cannot be cut, by nobody."""
    said = "there is no profile 1g.5gb; it cannot be cut by MIG"
    assert mig.conflict([], [], Instance("1g.5gb", 0)) == said


BEST: list[tuple[str, list[Instance], str, int | None]] = [
    ("1g-first-where-no-2g-starts", [], "1g.5gb", 6),
    ("then-in-the-half-that-is-broken", [Instance("1g.5gb", 6)], "1g.5gb", 5),
    ("2g-keeps-the-half-of-4g", [], "2g.10gb", 4),
    ("3g-keeps-4g", [], "3g.20gb", 4),
    ("4g", [], "4g.20gb", 0),
    ("pairs-stay-whole", [Instance("3g.20gb", 4), Instance("1g.5gb", 3)], "1g.5gb", 2),
    ("double-memory-where-no-2g-starts", [], "1g.10gb", 6),
    ("no-room", [Instance("7g.40gb", 0)], "1g.5gb", None),
]


@pytest.mark.parametrize(
    ("held", "name", "start"), [pytest.param(*row, id=name) for name, *row in BEST]
)
def test_best_start(held: list[Instance], name: str, start: int | None) -> None:
    """Where most is left to the largest."""
    row = mig.find(A100, name)
    assert row is not None
    assert mig.best_start(A100, held, row) == start


GI = 1 << 30
SERVING: list[tuple[str, str, int, int, str | None]] = [
    ("named", "1g.5gb.me", 0, 0, "1g.5gb+me"),
    ("unknown", "1g.6gb", 0, 0, None),
    ("the-smallest", "", 0, 1, "1g.5gb"),
    ("by-core", "", 15, 1, "2g.10gb"),
    ("by-memory", "", 14, 5 * GI, "1g.10gb"),
    ("by-both", "", 28, 5 * GI, "2g.10gb"),
    ("by-large-memory", "", 1, 10 * GI, "3g.20gb"),
    ("half-of-the-compute", "", 50, 10 * GI, "4g.20gb"),
    ("all", "", 100, 39 * GI, "7g.40gb"),
    ("more-than-all", "", 100, 40 * GI, None),
]


@pytest.mark.parametrize(
    ("profile", "core", "memory", "name"), [pytest.param(*row, id=name) for name, *row in SERVING]
)
def test_serving(profile: str, core: int, memory: int, name: str | None) -> None:
    """The profile that is named, or the smallest with as much."""
    row = mig.serving(A100, profile, core, memory)
    assert (row.name if row else None) == name


def test_layout() -> None:
    """All at once, where one after the other in that order would not do; None if it is too much."""
    found = mig.layout(A100, {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1})
    assert found is not None
    assert [(one.profile, one.start) for one in found] == [
        ("3g.20gb", 4), ("2g.10gb", 0), ("1g.5gb", 2), ("1g.5gb", 3),
    ]  # fmt: skip
    assert mig.layout(A100, {"1g.5gb": 8}) is None
    assert mig.layout(A100, {"1g.5gb": 1}, [Instance("7g.40gb", 0)]) is None
    assert mig.layout(A100, {}) == []
    with pytest.raises(ValueError, match=r"no profile 1g\.6gb"):
        mig.layout(A100, {"1g.6gb": 1})


def a100(name: str = "card-0", **status: object) -> CardView:
    """An A100 of 40 GB of which nothing is held."""
    gpu = card(name, memory="40960Mi", model="NVIDIA A100-SXM4-40GB", mig=list(A100), tflops=312)
    return free(gpu.but(status=gpu.status.but(**status)))


def having(view: CardView, *cut: Instance, driver: str = DRIVER) -> CardView:
    """The card with these instances held by devices, as the ledger sums it up."""
    devices = []
    for one in cut:
        row = mig.find(view.gpu.status.mig, one.profile)
        assert row is not None
        parts = [mig.part(view.gpu, row, one.start)]
        devices.append(device(one.device, driver=driver, phase="Bound", parts=parts))
    found = Ledger([view.gpu], devices).card(view.name)
    assert found is not None
    return found


class Mig:
    """The provisioner, as far as rules know it."""

    name = DRIVER
    mig = True

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        return cutting.instance(want, node)


def place(want: Demand, *cards: CardView) -> CardSlice | str:
    """The instance that a demand gets of a node with these cards, or why none."""
    nodes = Ranking([NodeView("node-a", cards)])
    match placement.place(Wish(want, mig=True), Mig(), nodes):
        case Placed(place=Slice((one,))):
            return one
        case other:
            return str(other)


FULL = having(a100(), Instance("7g.40gb", 0, "egpu-a"))
HALF = having(a100(), Instance("3g.20gb", 4, "egpu-a"), Instance("1g.5gb+me", 0, "egpu-b"))
PLACES: list[tuple[str, Demand, CardView, tuple[str, int] | str]] = [
    ("named", Demand(mig="2g.10gb"), a100(), ("2g.10gb", 4)),
    ("sized", Demand(core=20, memory=4 * GI), a100(), ("2g.10gb", 4)),
    ("tflops", Demand(tflops=100), a100(), ("3g.20gb", 4)),
    ("tflops-unknown", Demand(tflops=100), a100(tflops=0), "dense FP16 TFLOPS"),
    ("beside-others", Demand(mig="2g.10gb"), HALF, ("2g.10gb", 2)),
    (
        "no-start",
        Demand(mig="3g.20gb"),
        HALF,
        "3g.20gb: no free start beside 3g.20gb at 4 (egpu-a), 1g.5gb+me at 0 (egpu-b)",
    ),
    ("spent", Demand(mig="1g.5gb.me"), HALF, "1g.5gb+me: the card holds 1 of 1g.5gb+me at most"),
    ("full", Demand(mig="1g.5gb"), FULL, "1g.5gb: no free start beside 7g.40gb at 0 (egpu-a)"),
    ("unknown", Demand(mig="1g.6gb"), a100(), "has no profile 1g.6gb, but 1g.5gb, 1g.5gb+me,"),
    (
        "too-large",
        Demand(memory=40 * GI),
        a100(),
        "none of its profiles is as large: 1g.5gb, 1g.5gb+me, 1g.10gb",
    ),
    ("memory-of-the-card", Demand(memory=41 * GI), a100(), "none of its profiles is as large"),
    (
        "consumer-card",
        Demand(mig="1g.5gb"),
        free(card(model="NVIDIA GeForce RTX 4090")),
        "NVIDIA GeForce RTX 4090 cannot be cut by MIG",
    ),
    ("no-model", Demand(mig="1g.5gb"), free(card()), "it cannot be cut by MIG"),
    (
        "sticky-and-off",
        Demand(mig="1g.5gb"),
        a100(mig_mode="Disabled", mig_mode_pending="Disabled", mig_needs_reset=True),
        "(is not in MIG mode, which on this card only a reset changes)",
    ),
    (
        "pending",
        Demand(mig="1g.5gb"),
        a100(mig_mode="Disabled", mig_mode_pending="Enabled", mig_needs_reset=True),
        "(is not in MIG mode, which on this card only a reset changes; a change is pending",
    ),
    (
        "sticky-and-on",
        Demand(mig="1g.5gb"),
        a100(mig_mode="Enabled", mig_mode_pending="Enabled", mig_needs_reset=True),
        ("1g.5gb", 6),
    ),
    ("on-demand", Demand(mig="1g.5gb"), a100(mig_mode="Disabled"), ("1g.5gb", 6)),
]


@pytest.mark.parametrize(
    ("want", "view", "found"), [pytest.param(*row, id=name) for name, *row in PLACES]
)
def test_place(want: Demand, view: CardView, found: tuple[str, int] | str) -> None:
    """An instance of the first card that has one, or what each lacks."""
    got = place(want, view)
    if isinstance(found, str):
        assert isinstance(got, str)
        assert found in got
    else:
        assert isinstance(got, CardSlice), got
        assert (got.mig_profile, got.mig_start) == found
        assert got.core == CORES[found[0]]


def test_place_on_another_card() -> None:
    """The first with room; a static device that says of itself more than it is stays counted."""
    other = a100("card-1", uuid="GPU-1")
    found = place(Demand(mig="3g.20gb"), HALF, other)
    assert isinstance(found, CardSlice)
    assert (found.gpu, found.uuid, found.mig_start) == ("card-1", "GPU-1", 4)
    greedy = a100()
    greedy = CardView(greedy.gpu, 10, greedy.memory_free, DRIVER)
    assert isinstance(place(Demand(mig="3g.20gb"), greedy), str)
    greedy = CardView(greedy.gpu, 100, 10 * GI, DRIVER)
    assert isinstance(place(Demand(mig="3g.20gb"), greedy), str)


MODES: list[tuple[str, dict[str, object], str | None]] = [
    ("off", {"mig_mode": "Disabled"}, None),
    ("not-known", {}, None),
    ("on", {"mig_mode": "Enabled", "mig_mode_pending": "Enabled"}, "is in MIG mode"),
    (
        "on-and-sticky",
        {"mig_mode": "Enabled", "mig_mode_pending": "Enabled", "mig_needs_reset": True},
        "is in MIG mode, which on this card only a reset changes",
    ),
    (
        "soon-off",
        {"mig_mode": "Enabled", "mig_mode_pending": "Disabled", "mig_needs_reset": True},
        "is in MIG mode, which on this card only a reset changes; a change is pending until then",
    ),
]


@pytest.mark.parametrize(("status", "said"), [pytest.param(*row, id=name) for name, *row in MODES])
def test_all_others_get_cards_out_of_mig_mode(status: dict[str, object], said: str | None) -> None:
    """A card in MIG mode computes for nobody but its instances."""
    view = a100()
    cut = free(view.gpu.but(status=view.gpu.status.but(**status)))
    assert placement.unfit(Wish(Demand(core=10)), "x.io/share", cut) == said
    assert mig.wrong_mode(GPUStatus().but(**status), wanted=False) == said


class Liar(Mig):
    """Says that these instances are free."""

    def __init__(self, *cut: CardSlice) -> None:
        self.cut = cut

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        return Slice(self.cut)


def test_a_wrong_answer_sells_nothing() -> None:
    """A provisioner whose instances overlap what is held, or each other, is not believed."""
    wish, nodes = Wish(Demand(mig="1g.5gb"), mig=True), Ranking([NodeView("node-a", (HALF,))])
    one = part("card-0", 1, GI).but(mig_profile="1g.5gb", mig_start=1)
    assert isinstance(placement.place(wish, Liar(one), nodes), Placed)
    for cut in ((one.but(mig_start=4),), (one, one), (one, part("card-0", 1, GI))):
        assert not isinstance(placement.place(wish, Liar(*cut), nodes), Placed)


def test_static_devices_do_not_overlap() -> None:
    """Whoever wrote a device: what overlaps an instance, or is none on a cut card, has no room,
    however little core and memory it says."""

    def said(cut: CardSlice, driver: str = DRIVER) -> str | None:
        return part_lacks(cut, HALF, driver)

    tiny = part("card-0").but(mig_profile="1g.5gb", mig_start=2)
    assert said(tiny) is None
    assert said(tiny.but(mig_start=7)) == "1g.5gb starts at 0, 1, 2, 3, 4, 5, 6, not at 7"
    assert said(tiny.but(mig_start=4)) == "1g.5gb at 4 overlaps 3g.20gb at 4 (egpu-a)"
    assert said(part("card-0")) == "the card is cut by MIG, and here is no profile"
    assert said(tiny.but(core=90)) is not None
    ledger = Ledger([HALF.gpu], [device("egpu-a", driver=DRIVER, phase="Bound", parts=[tiny])])
    assert ledger.lacks(device("egpu-b", driver=DRIVER, parts=[tiny])) == (
        "card-0: 1g.5gb at 2 overlaps 1g.5gb at 2 (egpu-a)"
    )
    assert ledger.lacks(device("egpu-b", driver=DRIVER, parts=[tiny.but(mig_start=3)])) is None


def test_static_devices_wait_for_their_mode() -> None:
    """One that its node would only refuse has no room yet; one that was admitted keeps it."""
    off = a100(mig_mode="Disabled", mig_mode_pending="Enabled", mig_needs_reset=True)
    on = a100(mig_mode="Enabled", mig_mode_pending="Enabled", mig_needs_reset=True)
    cut = part("card-0", 14, GI).but(mig_profile="1g.5gb", mig_start=2)
    said = (
        "card-0: is not in MIG mode, which on this card only a reset changes; a change is pending"
    )
    waits = device("egpu-b", driver=DRIVER, phase="Pending", parts=[cut])
    assert (Ledger([off.gpu]).lacks(waits) or "").startswith(said)
    assert Ledger([on.gpu]).lacks(waits) is None
    assert Ledger([off.gpu]).lacks(waits.with_status(phase="Bound")) is None
    share = device("egpu-c", phase="Pending", parts=[part("card-0", 14, GI)])
    assert "is in MIG mode" in (Ledger([on.gpu]).lacks(share) or "")
    assert Ledger([off.gpu]).lacks(share) is None
    rtx = card("card-0", model="NVIDIA GeForce RTX 3090")
    assert Ledger([rtx]).lacks(waits) == "card-0: NVIDIA GeForce RTX 3090 cannot be cut by MIG"


def test_claims_of_one_pod_largest_first() -> None:
    """Placed as one, they find a place that one after the other by name they would not."""
    seekers = [
        Seeker(name, Wish(Demand(mig=profile), mig=True), placer=Mig())
        for name, profile in (("a", "1g.5gb"), ("b", "1g.5gb"), ("c", "2g.10gb"), ("d", "3g.20gb"))
    ]
    found = colocation.together(seekers, Ranking([NodeView("node-a", (a100(),))]), anywhere)
    assert isinstance(found, Together)
    starts = [one.devices[0].mig_start for one in found.finds if isinstance(one, Slice)]
    assert sorted(starts[:3]) in ([0, 1, 2], [0, 2, 3])
    assert starts[3] == 4


def test_held_by_nobody() -> None:
    """A device without parts on the card says nothing about it."""
    assert mig.instances([Held("egpu-a", DRIVER, 10, 0)]) == []
