"""Binding: numbers in the ids are the scenarios of Kubernetes' PersistentVolume tests."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.claim import ClaimUser, GPUSelector, LabelSelector, Requirement
from elasticgpu.api.elasticgpu import DevicePhase, ElasticGPU
from elasticgpu.api.gpuclass import Placement
from elasticgpu.api.names import BIND_COMPLETED, BOUND_BY_CONTROLLER
from elasticgpu.api.vocabulary import (
    CORE,
    COUNT,
    GPU,
    MEMORY,
    MEMORY_PERCENTAGE,
    MIG_PREFIX,
    TFLOPS,
    Demand,
)
from elasticgpu.errors import Refused
from elasticgpu.rules import binding, fitting, transaction
from elasticgpu.rules.answers import Answer, Kind
from elasticgpu.rules.decisions import (
    Bind,
    ClaimView,
    Contradiction,
    Create,
    Decision,
    Lost,
    Provision,
    Settled,
    Unbind,
    Wait,
)
from elasticgpu.rules.fitting import Candidate
from elasticgpu.rules.fleet import NodeView
from elasticgpu.rules.ledger import OVERCOMMITTED, Slice
from elasticgpu.rules.marks import refusal
from elasticgpu.rules.transaction import NODE_LOST, WITHDRAWN

from .build import GI, LATER, NOW, Share, card, claim, device, free, gpu_class, part, ref, seen

TRAIN = claim()
NAMES_A = claim(named="egpu-a")
BOUND = claim(named="egpu-a", completed=True).with_status(phase="Bound")
OTHER = ref(claim("other"))
MINE = ref(TRAIN)
MY_NAME = ref(TRAIN, uid="")
STRANGER = ref(TRAIN, uid="uid-of-an-earlier-train")
SMALL = device("egpu-small", core=10, memory="10Gi")
LARGE = device("egpu-large", core=20, memory="20Gi")
NO_CLASS = {"class_name": None, "classes": ("gold", "silver")}
NO_CLASS_WAITS = Wait(
    "NoClass",
    "it names no class and none is the default; known classes: gold, silver",
    event="Normal",
)


class Row(NamedTuple):
    """A world, and the decision it leads to."""

    id: str
    view: ClaimView
    want: Decision


def rows(*table: Row) -> list[object]:
    return [pytest.param(row.view, row.want, id=row.id) for row in table]


def labelled(name: str, **labels: str) -> ElasticGPU:
    return device(name, labels=labels)


def sized(name: str, memory: str) -> ElasticGPU:
    return device(name, core=10, memory=memory, parts=[])


def waits(reason: str, said: str) -> Wait:
    return Wait(reason, f"ElasticGPU egpu-a {said}")


MISSING = Wait("DeviceMissing", "ElasticGPU egpu-a does not exist yet: waiting for it", event=None)
PENDING = Wait(
    "DevicePending", "ElasticGPU egpu-a is not yet Available: waiting for it", event=None
)

STATIC = rows(
    Row("01-one-fit", seen(TRAIN, SMALL), Bind(SMALL)),
    Row(
        "02-only-smaller-ones",
        seen(TRAIN, device(core=5), device(memory="5Gi"), **NO_CLASS),
        NO_CLASS_WAITS,
    ),
    Row(
        "03-phase-without-the-bind",
        seen(TRAIN.with_status(phase="Bound"), **NO_CLASS),
        NO_CLASS_WAITS,
    ),
    Row("04-the-smaller-of-two", seen(TRAIN, LARGE, SMALL), Bind(SMALL)),
    Row(
        "05-reserved-before-smaller",
        seen(TRAIN, SMALL, device(core=20, of=MY_NAME)),
        Bind(device(core=20, of=MY_NAME)),
    ),
    Row(
        "05-reserved-in-another-class",
        seen(TRAIN, SMALL, device(class_name="silver", of=MY_NAME)),
        Bind(device(class_name="silver", of=MY_NAME)),
    ),
    Row(
        "06-reserved-for-an-earlier-claim",
        seen(TRAIN, SMALL, device("egpu-0", of=STRANGER)),
        Bind(SMALL),
    ),
    Row(
        "07-first-write-done",
        seen(TRAIN, SMALL, device(core=90, of=MINE)),
        Bind(device(core=90, of=MINE)),
    ),
    Row(
        "08-second-write-done",
        seen(TRAIN, SMALL, device(core=90, of=MINE, phase="Bound")),
        Bind(device(core=90, of=MINE, phase="Bound")),
    ),
    Row(
        "10-labels-match",
        seen(
            claim(selector=LabelSelector(match_labels={"a": "b"})),
            labelled("egpu-0", a="c"),
            labelled("egpu-1", a="b"),
        ),
        Bind(labelled("egpu-1", a="b")),
    ),
    Row(
        "10-labels-differ",
        seen(
            claim(selector=LabelSelector(match_labels={"a": "b"})), labelled("egpu-0"), **NO_CLASS
        ),
        NO_CLASS_WAITS,
    ),
    Row(
        "11-no-phase-but-available",
        seen(
            TRAIN,
            device("egpu-0", phase=""),
            device("egpu-1", phase="Pending"),
            device("egpu-2", phase="Failed"),
            device("egpu-3", phase="Released"),
            device("egpu-4", phase="Bound"),
            **NO_CLASS,
        ),
        NO_CLASS_WAITS,
    ),
    Row("12-deleting", seen(TRAIN, device("egpu-0", terminating=True), LARGE), Bind(LARGE)),
    Row(
        "12-deleting-and-reserved",
        seen(TRAIN, device("egpu-0", terminating=True, of=MY_NAME), LARGE),
        Bind(LARGE),
    ),
    Row(
        "13-gold-before-a-smaller-classless",
        seen(TRAIN, LARGE, device(class_name="")),
        Bind(LARGE),
    ),
    Row(
        "13-classless-before-a-smaller-gold",
        seen(TRAIN, SMALL, device(core=50, class_name=""), class_name=None),
        Bind(device(core=50, class_name="")),
    ),
    Row(
        "14-class-empty",
        seen(TRAIN, device(class_name=""), class_name=""),
        Bind(device(class_name="")),
    ),
    Row(
        "15-reserved-too-small",
        seen(TRAIN, SMALL, device("egpu-0", core=5, of=MY_NAME)),
        Bind(SMALL),
    ),
    Row(
        "16-beyond-64-bits",
        seen(claim(memory="10E"), sized("a", "20E"), sized("b", "16E"), sized("c", "9E")),
        Bind(sized("b", "16E")),
    ),
    Row(
        "16-beyond-the-precision-of-floats",
        seen(
            claim(memory="10E"),
            sized("a", "20000000000000000001"),
            sized("b", "20000000000000000000"),
        ),
        Bind(sized("b", "20000000000000000000")),
    ),
    Row(
        "44-a-fit-before-a-new-one",
        seen(TRAIN, LARGE, gpu_class=gpu_class(), placer=Share(), nodes=()),
        Bind(LARGE),
    ),
)

NAMED = rows(
    Row(
        "17-absent",
        seen(NAMES_A, SMALL),
        MISSING,
    ),
    Row(
        "18-free-though-a-smaller-fits",
        seen(NAMES_A, SMALL, device(core=50)),
        Bind(device(core=50)),
    ),
    Row("19-each-other-by-name", seen(NAMES_A, device(of=MY_NAME)), Bind(device(of=MY_NAME))),
    Row("19-each-other-by-uid", seen(NAMES_A, device(of=MINE)), Bind(device(of=MINE))),
    Row(
        "20-owned-by-another",
        seen(NAMES_A, device(of=OTHER)),
        waits("DeviceTaken", "belongs to team/other"),
    ),
    Row(
        "20-owned-by-an-earlier-claim",
        seen(NAMES_A, device(of=STRANGER)),
        waits("DeviceTaken", "belongs to team/train"),
    ),
    Row(
        "20-reserved-for-another",
        seen(NAMES_A, device(of=ref(claim("other"), uid=""))),
        waits("DeviceTaken", "is reserved for team/other"),
    ),
    Row(
        "21-owned-by-another-and-marked",
        seen(NAMES_A.with_metadata(annotations={BOUND_BY_CONTROLLER: "yes"}), device(of=OTHER)),
        Contradiction("ElasticGPU egpu-a belongs to team/other"),
    ),
    Row(
        "22-selector-does-not-matter",
        seen(
            claim(
                named="egpu-a",
                selector=LabelSelector(match_labels={"a": "b"}),
                gpu_selector=GPUSelector(model="B200"),
            ),
            device(),
        ),
        Bind(device()),
    ),
    Row(
        "23-too-little-core",
        seen(NAMES_A, device(core=5)),
        waits("DeviceMismatch", "has 5% core, not 10%"),
    ),
    Row(
        "23-other-class",
        seen(NAMES_A, device(class_name="silver")),
        waits("DeviceMismatch", "is of class 'silver', not 'gold'"),
    ),
    Row(
        "23-classless-claim-and-gold-device",
        seen(NAMES_A, device(), class_name=None),
        waits("DeviceMismatch", "is of class 'gold', not ''"),
    ),
    Row(
        "12-deleting",
        seen(NAMES_A, device(terminating=True)),
        waits("DeviceMismatch", "is being deleted"),
    ),
    Row(
        "11-not-available",
        seen(NAMES_A, device(phase="Released")),
        waits("DeviceMismatch", "is Released, not Available"),
    ),
    Row(
        "11-not-admitted-yet",
        seen(NAMES_A, device(phase="")),
        PENDING,
    ),
)

COMPLETED = rows(
    Row("24-device-gone", seen(BOUND), Lost("DeviceLost", "ElasticGPU egpu-a is gone")),
    Row(
        "24-pointer-emptied",
        seen(claim(completed=True).with_status(phase="Bound"), device(of=MINE)),
        Lost("DeviceLost", "ElasticGPU (none named) is gone"),
    ),
    Row(
        "forged-completed-and-not-admitted",
        seen(claim(named="egpu-a", completed=True), device(phase="")),
        PENDING,
    ),
    Row(
        "forged-completed-and-another-class",
        seen(claim(named="egpu-a", completed=True), device(class_name="silver")),
        Wait("DeviceMismatch", "ElasticGPU egpu-a is of class 'silver', not 'gold'"),
    ),
    Row(
        "forged-completed-and-no-device",
        seen(claim(named="egpu-a", completed=True)),
        MISSING,
    ),
    Row(
        "an-admins-with-uid-not-admitted",
        seen(TRAIN, device(phase="Pending", of=MINE)),
        PENDING,
    ),
    Row(
        "half-bound-and-being-deleted",
        seen(TRAIN, device(of=MINE, terminating=True)),
        Wait("DeviceTerminating", "ElasticGPU egpu-a is being deleted: waiting for its end"),
    ),
    Row(
        "half-bound-and-failed",
        seen(TRAIN, device(of=MINE, phase="Failed")),
        Wait("DeviceFailed", "ElasticGPU egpu-a is Failed: no reason"),
    ),
    Row("25-claimref-gone-and-not-admitted", seen(BOUND, device(phase="Pending")), PENDING),
    Row(
        "25-claimref-gone-and-being-deleted",
        seen(BOUND, device(phase="Bound", terminating=True)),
        Wait("DeviceTerminating", "ElasticGPU egpu-a is being deleted: waiting for its end"),
    ),
    Row(
        "25-claimref-gone-and-selector-differs",
        seen(
            BOUND.but(spec=BOUND.spec.but(selector=LabelSelector(match_labels={"a": "b"}))),
            device(),
        ),
        Bind(device()),
    ),
    Row(
        "25-claimref-gone-and-nothing-else",
        seen(BOUND, device(phase="Bound")),
        Bind(device(phase="Bound")),
    ),
    Row("25-phase-gone", seen(BOUND, device(of=MINE)), Bind(device(of=MINE))),
    Row(
        "26-another-uid",
        seen(BOUND, device(of=STRANGER, phase="Bound")),
        Lost("Misbound", "ElasticGPU egpu-a belongs to team/train"),
    ),
    Row(
        "26-another-claim",
        seen(BOUND, device(of=OTHER, phase="Bound")),
        Lost("Misbound", "ElasticGPU egpu-a belongs to team/other"),
    ),
    Row(
        "26-misbound-says-more-than-failed",
        seen(BOUND, device(of=OTHER, phase="Failed")),
        Lost("Misbound", "ElasticGPU egpu-a belongs to team/other"),
    ),
    Row(
        "26-no-uid",
        seen(BOUND, device(of=MY_NAME, phase="Bound")),
        Lost("Misbound", "ElasticGPU egpu-a belongs to team/train"),
    ),
    Row("27-bound", seen(BOUND, device(of=MINE, phase="Bound")), Settled()),
    Row(
        "28-lost-and-back",
        seen(BOUND.with_status(phase="Lost"), device()),
        Bind(device()),
    ),
    Row(
        "28-lost-and-back-with-uid",
        seen(BOUND.with_status(phase="Lost"), device(of=MINE, phase="Bound")),
        Bind(device(of=MINE, phase="Bound")),
    ),
    Row(
        "09-third-write-done",
        seen(BOUND.with_status(phase="Pending"), device(of=MINE, phase="Bound")),
        Bind(device(of=MINE, phase="Bound")),
    ),
    Row(
        "failed-on-its-node",
        seen(BOUND, device(of=MINE, phase="Failed").with_status(message="its card is full")),
        Lost("DeviceFailed", "ElasticGPU egpu-a: its card is full"),
    ),
)

HALF = NodeView("node-a", (free(card(), core=50, memory=40 * GI, mode=Share.name),))
GOLD: dict[str, object] = {
    "gpu_class": gpu_class(),
    "placer": Share(),
    "nodes": (HALF,),
    "provisioners": (Share.name,),
    "classes": ("gold",),
}
RELEASED = device(core=50, memory="10Gi", phase="Released", policy="Retain", of=STRANGER)
HERE = Slice((part("card-0", 10, 10 * GI),))
WANT = Demand(core=10, memory=10 * GI)

DYNAMIC = rows(
    Row("42-a-new-one", seen(TRAIN, **GOLD), Provision(gpu_class(), WANT, "node-a", HERE)),
    Row(
        "42-a-new-one-beside-unfit-ones",
        seen(TRAIN, device(core=5), device("egpu-b", phase="Released"), **GOLD),
        Provision(gpu_class(), WANT, "node-a", HERE),
    ),
    Row(
        "43-no-such-class",
        seen(TRAIN, classes=("silver",)),
        Wait("UnknownClass", "there is no ElasticGPUClass gold; known classes: silver"),
    ),
    Row(
        "43-no-class-at-all",
        seen(TRAIN),
        Wait(
            "UnknownClass",
            "there is no ElasticGPUClass gold; there are no classes: create one",
        ),
    ),
    Row(
        "43-eight-classes-are-enough",
        seen(TRAIN, classes=tuple("abcdefghij")),
        Wait(
            "UnknownClass",
            "there is no ElasticGPUClass gold; known classes: a, b, c, d, e, f, g, h",
        ),
    ),
    Row(
        "43-provisioner-not-installed",
        seen(TRAIN, **{**GOLD, "placer": None, "provisioners": ("x.io/mps", "x.io/whole")}),
        Wait(
            "NoProvisioner",
            "class gold wants provisioner example.com/share, which is not installed; "
            "installed: x.io/mps, x.io/whole",
        ),
    ),
    Row(
        "43-no-provisioner-installed",
        seen(TRAIN, **{**GOLD, "placer": None, "provisioners": ()}),
        Wait(
            "NoProvisioner",
            "class gold wants provisioner example.com/share, which is not installed; "
            "installed: none",
        ),
    ),
    Row(
        "43-no-room",
        seen(claim(core=60), **GOLD),
        Wait(
            "NoCapacity",
            "no card can give 60% core and 10Gi memory; looked at 1: "
            "card-0 (50% of 100% core free, 60% wanted)",
        ),
    ),
    Row(
        "43-no-room-but-released-devices",
        seen(claim(core=60), released=(Candidate(RELEASED, (card(),)),), **GOLD),
        Wait(
            "NoCapacity",
            "no card can give 60% core and 10Gi memory; "
            "1 Released device holds 50% core and 10Gi memory; "
            "`elasticgpu release --delete egpu-a` makes room; "
            "looked at 1: card-0 (50% of 100% core free, 60% wanted)",
        ),
    ),
    Row(
        "43-no-cards",
        seen(TRAIN, **{**GOLD, "nodes": ()}),
        Wait(
            "NoCapacity",
            "no card can give 10% core and 10Gi memory: the cluster has no GPU objects",
        ),
    ),
    Row(
        "48-class-empty",
        seen(TRAIN, **{**GOLD, "class_name": "", "gpu_class": None}),
        Wait(
            "NoDevice",
            "no ElasticGPU without a class fits it; none is made for class ''",
            event="Normal",
        ),
    ),
    Row(
        "48-class-empty-and-a-released-device",
        seen(
            TRAIN,
            class_name="",
            released=(Candidate(RELEASED.but(spec=RELEASED.spec.but(elastic_gpu_class_name=""))),),
        ),
        Wait(
            "NoDevice",
            "no ElasticGPU without a class fits it; none is made for class ''; "
            "1 Released device holds 50% core and 10Gi memory; "
            "`elasticgpu release egpu-a` gives it one",
            event="Normal",
        ),
    ),
    Row("48-no-class", seen(TRAIN, **{**GOLD, **NO_CLASS}), NO_CLASS_WAITS),
    Row(
        "48-no-class-anywhere",
        seen(TRAIN, class_name=None),
        Wait(
            "NoClass",
            "it names no class and none is the default; there are no classes: create one",
            event="Normal",
        ),
    ),
    Row(
        "51-a-default-appeared",
        seen(TRAIN, **{**GOLD, "class_name": "gold"}),
        Provision(gpu_class(), WANT, "node-a", HERE),
    ),
    Row(
        "create-was-not-answered",
        seen(TRAIN, SMALL, creating=device("egpu-uid", of=MINE), **GOLD),
        Create(device("egpu-uid", of=MINE)),
    ),
    Row(
        "create-came-true",
        seen(TRAIN, SMALL, device("egpu-uid", of=MINE), creating=device("egpu-uid", of=MINE)),
        Bind(device("egpu-uid", of=MINE)),
    ),
    Row(
        "the-card-selector-narrows",
        seen(claim(gpu_selector=GPUSelector(node_name="node-b")), **GOLD),
        Wait(
            "NoCapacity",
            "no card can give 10% core and 10Gi memory; looked at 1: "
            "card-0 (node is node-a, not node-b)",
        ),
    ),
    Row(
        "the-class-orders",
        seen(
            TRAIN,
            **{
                **GOLD,
                "gpu_class": gpu_class(placement=Placement(node="spread")),
                "nodes": (HALF, NodeView("node-b", (free(card("card-1", "node-b")),))),
            },
        ),
        Provision(
            gpu_class(placement=Placement(node="spread")),
            WANT,
            "node-b",
            Slice((part("card-1", 10, 10 * GI),)),
        ),
    ),
)


@pytest.mark.parametrize(("view", "want"), [*STATIC, *NAMED, *COMPLETED, *DYNAMIC])
def test_decision(view: ClaimView, want: Decision) -> None:
    """Each world leads to exactly this decision."""
    assert binding.decide(view) == want


@pytest.mark.parametrize("phase", ["", "Pending"])
def test_reserved_and_not_admitted_yet_is_waited_for(phase: str) -> None:
    """A device an admin reserved for this claim a moment ago: no other is taken or made."""
    mine = device(of=MY_NAME).with_status(phase=phase)
    assert binding.decide(seen(TRAIN, SMALL, mine, **GOLD)) == PENDING


@pytest.mark.parametrize("phase", ["Bound", "Released", "Failed"])
def test_reserved_and_not_to_be_had_is_passed_over(phase: DevicePhase) -> None:
    """A reservation that cannot become Available by itself keeps the claim from no other device."""
    assert binding.decide(seen(TRAIN, SMALL, device(of=MY_NAME, phase=phase))) == Bind(SMALL)


@pytest.mark.parametrize("taken", ["reserved", "owned"])
def test_38_one_device_and_a_hundred_claims(taken: str) -> None:
    """Of a hundred claims that name one device only the one it points at binds."""
    claims = [claim(f"claim-{n}", named="egpu-a") for n in range(100)]
    mine = ref(claims[42], uid="" if taken == "reserved" else None)
    bound = [
        c.name for c in claims if binding.decide(seen(c, device(of=mine))) == Bind(device(of=mine))
    ]
    assert bound == ["claim-42"]


INVALID: list[tuple[str, dict[str, int | str], str]] = [
    ("nothing", {}, "nothing is requested: name at least one resource, such as " + CORE),
    (
        "not-a-quantity",
        {CORE: "ten"},
        f"{CORE}: 'ten' is not a quantity: write a number such as 10, 4Gi or 3k",
    ),
    ("zero", {CORE: 0}, f"{CORE} is 0: ask for more than nothing"),
]


@pytest.mark.parametrize(("requests", "said"), [pytest.param(r, s, id=i) for i, r, s in INVALID])
@pytest.mark.parametrize("named", ["", "egpu-a"])
def test_invalid_request(requests: dict[str, int | str], said: str, named: str) -> None:
    """The sentence of the vocabulary is what the claim says, named device or not."""
    view = seen(claim(requests=requests, named=named), device(), **GOLD)
    assert binding.decide(view) == Wait("InvalidRequest", said)


def test_refused_by_the_provisioner() -> None:
    """What a provisioner refuses while it places is said in its own words."""

    class Picky(Share):
        def place(self, want: Demand, node: NodeView) -> Slice | None:
            raise Refused("only on Sundays")

    view = seen(TRAIN, **{**GOLD, "placer": Picky()})
    assert binding.decide(view) == Wait("Refused", "only on Sundays")


@pytest.mark.parametrize("capacity", [{CORE: "1500m"}, {MEMORY: "0.5"}])
def test_a_broken_device_harms_nobody(capacity: dict[str, int | str]) -> None:
    """A device whose capacity is no whole number is passed over, and the claim gets the next."""
    odd = device("egpu-0")
    odd = odd.but(spec=odd.spec.but(capacity={**odd.spec.capacity, **capacity}))
    assert binding.decide(seen(TRAIN, odd, LARGE)) == Bind(LARGE)


def whole(count: int) -> ElasticGPU:
    cards = [part(f"card-{n}", 100, "80Gi") for n in range(count)]
    return device(core=100 * count, memory=f"{80 * count}Gi", parts=cards)


def split(*cores: int, memory: str = "40Gi") -> ElasticGPU:
    parts = [part(f"card-{n}", core, "20Gi") for n, core in enumerate(cores)]
    return device(core=sum(cores), memory=memory, parts=parts)


MIG = device(parts=[part("card-0", 10, "18Gi").but(mig_profile="1g.18gb")])

BLANK = device().but(spec=device(parts=[]).spec.but(capacity={}))
SIZES: list[tuple[str, Demand, ElasticGPU, str | None]] = [
    ("equal", Demand(core=10, memory=10 * GI), device(), None),
    ("larger", Demand(core=5, memory=5 * GI), device(), None),
    ("core-short", Demand(core=11), device(), "has 10% core, not 11%"),
    (
        "memory-short",
        Demand(memory=10 * GI + 1),
        device(),
        "has 10737418240 bytes of memory, not 10737418241",
    ),
    ("whole-equal", Demand(gpus=2), whole(2), None),
    ("whole-fewer", Demand(gpus=2), whole(1), "is 1 whole cards, not 2"),
    ("whole-more", Demand(gpus=1), whole(2), "is 2 whole cards, not 1"),
    ("whole-of-a-share", Demand(gpus=1), device(core=99), "is 0 whole cards, not 1"),
    ("mig", Demand(mig="1g.18gb"), MIG, None),
    ("mig-of-another-profile", Demand(mig="2g.35gb"), MIG, "is no MIG 2g.35gb"),
    ("mig-of-a-share", Demand(mig="1g.18gb"), device(), "is no MIG 1g.18gb"),
    ("two-cards", Demand(core=60, count=2), split(30, 30), None),
    ("two-cards-of-one", Demand(core=10, count=2), device(), "lies on 1 cards, not 2"),
    ("remote", Demand(core=10), device(parts=[]), None),
    ("remote-for-two", Demand(core=10, count=2), device(parts=[]), "lies on 0 cards, not 2"),
    ("says-no-core", Demand(core=1), BLANK, "has 0% core, not 1%"),
    ("says-no-memory", Demand(memory=1), BLANK, "has 0 bytes of memory, not 1"),
]


@pytest.mark.parametrize(
    ("want", "found", "said"), [pytest.param(w, d, s, id=i) for i, w, d, s in SIZES]
)
def test_too_small(want: Demand, found: ElasticGPU, said: str | None) -> None:
    """Every dimension of the demand has to be reached, and the one that is not is named."""
    assert fitting.too_small(want, found) == said


UNSERVED: list[tuple[str, dict[str, int | str], ElasticGPU]] = [
    ("one-card-by-two", {CORE: 60}, split(30, 30)),
    ("two-cards-unevenly", {CORE: 60, COUNT: 2}, split(50, 10)),
    (
        "two-cards-with-uneven-memory",
        {CORE: 60, MEMORY: "40Gi", COUNT: 2},
        device(core=60, memory="40Gi", parts=[part("c0", 30, "30Gi"), part("c1", 30, "10Gi")]),
    ),
    ("half-the-memory-of-an-unknown-card", {MEMORY_PERCENTAGE: 50}, device(parts=[part("c9")])),
    ("half-the-memory-of-no-card", {MEMORY_PERCENTAGE: 50}, device(parts=[])),
    ("half-the-memory-by-an-eighth", {MEMORY_PERCENTAGE: 50}, device(memory="10Gi")),
    ("tflops-by-a-share", {TFLOPS: 900}, device()),
    ("whole-card-by-a-share", {GPU: 1}, device(core=99)),
    ("mig-by-a-share", {f"{MIG_PREFIX}1g.18gb": 1}, device()),
]


@pytest.mark.parametrize(("requests", "found"), [pytest.param(r, d, id=i) for i, r, d in UNSERVED])
def test_not_served_by(requests: dict[str, int | str], found: ElasticGPU) -> None:
    """A device that is less than what was asked for in any dimension is never taken."""
    asks = claim(requests=requests)
    assert binding.decide(seen(asks, found)) == binding.decide(seen(asks))


@pytest.mark.parametrize("named", ["", "egpu-a"])
def test_served_by_a_share_of_its_card(named: str) -> None:
    """Half of a card's memory is served by a device with half of it, found or chosen by name."""
    asks, half = claim(requests={MEMORY_PERCENTAGE: 50}, named=named), device(memory="40Gi")
    assert binding.decide(seen(asks, half)) == Bind(half)


def test_served_by_the_tflops_of_its_share() -> None:
    """A tenth of a card of 1,000 TFLOPS serves 100 of them, and not 101."""
    tenth = Candidate(device(), (card(tflops=1000),))
    decisions = [
        binding.decide(seen(claim(requests={TFLOPS: wanted}), available=(tenth,)))
        for wanted in (100, 101)
    ]
    assert [isinstance(decision, Bind) for decision in decisions] == [True, False]


def test_card_selector_on_existing_devices() -> None:
    """The gpuSelector is asked of the cards the device is made of."""
    asks = claim(gpu_selector=GPUSelector(model="h200"))
    h100 = Candidate(device("egpu-0"), (card(model="NVIDIA H100"),))
    h200 = Candidate(device("egpu-1"), (card(model="NVIDIA H200"),))
    assert binding.decide(seen(asks, available=(h100, h200))) == Bind(device("egpu-1"))


TERMS: list[tuple[str, Requirement, dict[str, str], bool]] = [
    ("in", Requirement(key="a", operator="In", values=["x", "y"]), {"a": "y"}, True),
    ("in-other", Requirement(key="a", operator="In", values=["x"]), {"a": "y"}, False),
    ("in-absent", Requirement(key="a", operator="In", values=["x"]), {}, False),
    ("not-in", Requirement(key="a", operator="NotIn", values=["x"]), {"a": "x"}, False),
    ("not-in-other", Requirement(key="a", operator="NotIn", values=["x"]), {"a": "y"}, True),
    ("not-in-absent", Requirement(key="a", operator="NotIn", values=["x"]), {}, True),
    ("exists", Requirement(key="a", operator="Exists"), {"a": ""}, True),
    ("exists-absent", Requirement(key="a", operator="Exists"), {"b": ""}, False),
    ("does-not-exist", Requirement(key="a", operator="DoesNotExist"), {"a": ""}, False),
    ("does-not-exist-absent", Requirement(key="a", operator="DoesNotExist"), {}, True),
]


@pytest.mark.parametrize(
    ("term", "labels", "want"), [pytest.param(t, found, w, id=i) for i, t, found, w in TERMS]
)
def test_selector_terms(term: Requirement, labels: dict[str, str], want: bool) -> None:
    """The operators mean what they mean in Kubernetes."""
    assert fitting.selects(LabelSelector(match_expressions=[term]), labels) is want


def test_selector_parts_hold_together() -> None:
    """Labels and all expressions have to match."""
    exists = Requirement(key="b", operator="Exists")
    selector = LabelSelector(match_labels={"a": "x"}, match_expressions=[exists])
    cases = [{"a": "x", "b": ""}, {"a": "x"}, {"b": ""}]
    assert [fitting.selects(selector, labels) for labels in cases] == [True, False, False]


ORDER = [
    device("d-nothing-left", core=10, memory="10Gi"),
    device("c-a-little-core-left", core=11, memory="10Gi"),
    device("a-half-left", core=20, memory="10Gi"),
    device("b-half-left", core=20, memory="10Gi"),
    device("a-half-of-the-memory-left-too", core=20, memory="20Gi"),
    device("a-most-of-the-memory-left", core=10, memory="80Gi"),
]


@given(st.permutations(ORDER))
def test_order_of_fit(devices: list[ElasticGPU]) -> None:
    """The larger wasted share decides, then core, then memory, then the name."""
    want = Demand(core=10, memory=10 * GI)
    assert sorted(devices, key=lambda d: fitting.leftover(want, d)) == ORDER


@pytest.mark.parametrize(
    "why",
    [Wait("NoCapacity", "x" * 5000), Lost("DeviceLost", "x" * 5000)],
    ids=["pending", "lost"],
)
def test_unserved_says_so(why: Wait | Lost) -> None:
    """The reason is in the Bound condition, within its bounds, and no capacity is claimed."""
    had = TRAIN.with_status(phase="Bound", capacity={CORE: 10}, class_name="gold")
    status = binding.unserved(had, why, "", now=NOW).status
    (condition,) = status.conditions
    assert (status.phase, status.capacity, status.class_name) == (
        "Pending" if isinstance(why, Wait) else "Lost",
        {},
        "gold",
    )
    assert (condition.type, condition.status, condition.reason) == ("Bound", "False", why.reason)
    assert condition.message == "x" * 4096
    assert condition.last_transition_time == NOW


def test_waiting_is_a_warning_unless_said_otherwise() -> None:
    """A person has to do something about most of what a claim waits for."""
    assert Wait("NoCapacity", "full").event == "Warning"


def test_unserved_twice_is_the_same() -> None:
    """Said a second time, later, it is no change: a waiting claim costs no writes."""
    once = binding.unserved(TRAIN, Wait("NoCapacity", "full"), "gold", now=NOW)
    twice = binding.unserved(once, Wait("NoCapacity", "full"), "gold", now="later")
    assert twice == once
    assert once.status.class_name == "gold"


def test_terminating_claim_is_left_alone() -> None:
    """A claim that is being deleted gets nothing and loses nothing, whatever there is."""
    for going in (claim(terminating=True), claim(terminating=True, named="egpu-a", completed=True)):
        for found in ([], [device()], [device(of=MINE)], [device(of=OTHER)]):
            assert binding.decide(seen(going, *found, **GOLD)) == Settled()


GIVEN_UP = {
    "withdrawn": ("Released", WITHDRAWN),
    "overcommitted": ("Failed", OVERCOMMITTED),
    "node-lost": ("Failed", NODE_LOST),
}


def abandoned(how: str, **more: object) -> ElasticGPU:
    phase, reason = GIVEN_UP[how]
    found = device(phase=phase, reason=reason, of=ref(claim()))  # type: ignore[arg-type]
    return found.with_status(**more)


@pytest.mark.parametrize("how", GIVEN_UP)
@pytest.mark.parametrize("phase", ["Bound", "Pending", "Lost"])
def test_a_claim_leaves_a_device_that_is_given_up(how: str, phase: str) -> None:
    """Whatever write was the last: status, then name, and then it waits for the device's end."""
    if how != "withdrawn" and phase == "Lost":
        phase = "Bound"
    bound = claim(named="egpu-a", completed=True).with_status(phase=phase)
    found = abandoned(how)
    view = ClaimView(claim=bound, named=found, reserved=(found,))
    assert binding.decide(view) == Unbind(found)
    waiting = transaction.unbound(bound, found, now=NOW)
    assert (waiting.status.phase, waiting.status.users) == ("Pending", [])
    assert transaction.unbound(waiting, found, now=LATER) == waiting
    assert waiting.status.excluded_nodes == (
        ["node-a"] if how == "withdrawn" and phase != "Pending" else []
    )
    free = transaction.nameless(waiting)
    assert transaction.nameless(free) == free
    assert (free.spec.elastic_gpu_name, BIND_COMPLETED in free.metadata.annotations) == ("", False)
    last = binding.decide(ClaimView(claim=free, reserved=(found,)))
    assert isinstance(last, Wait)
    assert last.reason == "DeviceGivenUp"


@pytest.mark.parametrize(
    ("how", "change"),
    [
        ("overcommitted", {"users": True}),
        ("node-lost", {"users": True}),
        ("overcommitted", {"prepared": True}),
        ("node-lost", {"prepared": True}),
    ],
)
def test_a_claim_whose_pod_has_the_device_is_lost(how: str, change: dict[str, bool]) -> None:
    """What a pod may have used is not replaced behind its back."""
    found = abandoned(how, prepared_for=["pod-1"] if change.get("prepared") else [])
    users = [ClaimUser(pod_uid="pod-1")] if change.get("users") else []
    bound = claim(named="egpu-a", completed=True).with_status(phase="Bound", users=users)
    assert isinstance(binding.decide(ClaimView(claim=bound, named=found)), Lost)


def test_nodes_tried_are_remembered_up_to_a_bound() -> None:
    """The oldest is forgotten, so that the status stays within its schema."""
    found = abandoned("withdrawn")
    tried = [f"node-{n}" for n in range(64)]
    bound = claim(named="egpu-a").with_status(phase="Bound", excluded_nodes=tried)
    nodes = transaction.unbound(bound, found, now=NOW).status.excluded_nodes
    assert (len(nodes), nodes[-1]) == (64, "node-a")


def test_in_progress_is_left_to_its_provisioner() -> None:
    """Nothing else is chosen meanwhile; its own device is bound once it is there."""
    own = device("egpu-uid", of=MINE)
    assert binding.decide(seen(TRAIN, SMALL, in_progress=True, **GOLD)) == Settled()
    assert binding.decide(seen(TRAIN, SMALL, own, in_progress=True, **GOLD)) == Bind(own)


@pytest.mark.parametrize(
    ("kind", "want"),
    [
        pytest.param(Kind.REFUSED, Wait("ProvisioningFailed", "no"), id="43-refused"),
        pytest.param(Kind.FOREIGN, Wait("NotOurs", "no", event=None), id="61-foreign"),
    ],
)
def test_what_a_provisioner_refused_stands(kind: Kind, want: Wait) -> None:
    """It is not asked again until claim or class change; what is there already is taken."""
    refused = refusal(Answer(kind, "no"), TRAIN, gpu_class())
    assert binding.decide(seen(TRAIN, refusal=refused, **GOLD)) == want
    assert binding.decide(seen(TRAIN, SMALL, refusal=refused, **GOLD)) == Bind(SMALL)
    edited = TRAIN.with_metadata(generation=2)
    assert isinstance(binding.decide(seen(edited, refusal=refused, **GOLD)), Provision)
