"""Which device serves a claim, and which of several fits best."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.claim import GPUSelector, LabelSelector, Requirement
from elasticgpu.api.elasticgpu import ElasticGPU
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
from elasticgpu.rules import binding, fitting
from elasticgpu.rules.decisions import Bind
from elasticgpu.rules.fitting import Candidate
from tests.rules.build import GI, card, claim, device, part, seen


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
