"""Vocabulary: what people write, what it means, and what they read if it means nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.vocabulary import (
    CORE,
    COUNT,
    GPU,
    MEMORY,
    MEMORY_PERCENTAGE,
    MIG_PREFIX,
    TFLOPS,
    WORDS,
    Demand,
    demand,
    describe,
)

Requests = dict[str, int | str]
GI, MI = 1 << 30, 1 << 20
QGPU_CORE, QGPU_MEMORY = "tke.cloud.tencent.com/qgpu-core", "tke.cloud.tencent.com/qgpu-memory"
MIG = f"{MIG_PREFIX}1g.18gb"

MEANS: list[tuple[str, Requests, Demand]] = [
    ("whole-cards", {GPU: 2}, Demand(gpus=2)),
    ("share", {CORE: 10, MEMORY: "4Gi"}, Demand(core=10, memory=4 * GI)),
    ("a-whole-cards-core", {CORE: 100}, Demand(core=100)),
    ("core-of-whole-cards", {CORE: 300}, Demand(gpus=3)),
    ("memory-1000-is-MiB", {MEMORY: 1000}, Demand(memory=1000 * MI)),
    ("memory-3000-stored-as-3k", {MEMORY: "3k"}, Demand(memory=3000 * MI)),
    ("memory-4096-is-MiB", {MEMORY: 4096}, Demand(memory=4 * GI)),
    ("memory-in-bytes", {MEMORY: "4Gi"}, Demand(memory=4 * GI)),
    ("memory-1Mi-is-bytes", {MEMORY: "1Mi"}, Demand(memory=MI)),
    ("part-of-the-memory", {MEMORY_PERCENTAGE: 50}, Demand(memory_percentage=50)),
    ("all-of-the-memory", {MEMORY_PERCENTAGE: 100}, Demand(memory_percentage=100)),
    ("over-two-cards", {CORE: 60, COUNT: 2}, Demand(core=60, count=2)),
    ("memory-over-two-cards", {MEMORY: "8Gi", COUNT: 2}, Demand(memory=8 * GI, count=2)),
    ("tflops", {TFLOPS: 100}, Demand(tflops=100)),
    ("mig", {MIG: 1}, Demand(mig="1g.18gb")),
    ("mig-as-text", {MIG: "1"}, Demand(mig="1g.18gb")),
    ("qgpu", {QGPU_CORE: 10, QGPU_MEMORY: 4}, Demand(core=10, memory=4 * GI)),
    ("qgpu-in-bytes", {QGPU_CORE: 10, QGPU_MEMORY: "4Gi"}, Demand(core=10, memory=4 * GI)),
    ("vendors-and-ours", {QGPU_CORE: 10, MEMORY: "4Gi"}, Demand(core=10, memory=4 * GI)),
]


@pytest.mark.parametrize(
    ("requests", "want"), [pytest.param(r, want, id=name) for name, r, want in MEANS]
)
def test_means(requests: Requests, want: Demand) -> None:
    """The names and units of a vendor and ours lead to one demand."""
    assert demand(requests) == want


REFUSED: list[tuple[str, Requests, str]] = [
    ("nothing", {}, f"nothing is requested: name at least one resource, such as {CORE}"),
    (
        "unknown",
        {"nvidia.com/gpu": 1},
        f"nvidia.com/gpu is no resource this understands: known are "
        f"{', '.join(word.name for word in WORDS)}, mig-<profile>",
    ),
    (
        "no-quantity",
        {MEMORY: "4 Gi"},
        f"{MEMORY}: '4 Gi' is not a quantity: write a number such as 10, 4Gi or 3k",
    ),
    ("half-a-card", {GPU: "0.5"}, f"{GPU}: 0.5 is not a whole number"),
    ("half-a-byte", {MEMORY: "0.3"}, f"{MEMORY}: 0.3 is not a whole number of bytes"),
    ("zero", {GPU: 0}, f"{GPU} is 0: ask for more than nothing"),
    ("negative", {MEMORY: "-4Gi"}, f"{MEMORY} is -4Gi: ask for more than nothing"),
    (
        "twice",
        {CORE: 10, QGPU_CORE: 10},
        f"{QGPU_CORE} asks for core a second time: name it once",
    ),
    ("two-migs", {MIG: 1, f"{MIG_PREFIX}2g.35gb": 1},
        f"{MIG_PREFIX}2g.35gb asks for mig a second time: name it once"),
    ("many-migs", {MIG: 2}, f"{MIG} must be 1, not 2: one claim is one MIG instance"),
    (
        "core-above-one-card",
        {CORE: 150},
        f"{CORE} is 150: above 100 only whole cards, a multiple of 100",
    ),
    (
        "whole-cards-twice",
        {GPU: 2, CORE: 200},
        f"{GPU} and {CORE} above 100 both ask for whole cards: name one",
    ),
    (
        "whole-and-core",
        {GPU: 1, CORE: 10},
        f"{GPU} asks for whole cards: leave core, memory and tflops out",
    ),
    (
        "whole-and-memory",
        {GPU: 1, MEMORY: 1},
        f"{GPU} asks for whole cards: leave core, memory and tflops out",
    ),
    (
        "whole-and-percentage",
        {GPU: 1, MEMORY_PERCENTAGE: 1},
        f"{GPU} asks for whole cards: leave core, memory and tflops out",
    ),
    (
        "whole-and-tflops",
        {GPU: 1, TFLOPS: 1},
        f"{GPU} asks for whole cards: leave core, memory and tflops out",
    ),
    ("more-than-all", {MEMORY_PERCENTAGE: 101}, f"{MEMORY_PERCENTAGE} is 101: at most 100"),
    (
        "core-uneven",
        {CORE: 61, COUNT: 2},
        f"{COUNT} is 2: core and memory must divide evenly by it",
    ),
    (
        "memory-uneven",
        {MEMORY: "4Gi", COUNT: 3},
        f"{COUNT} is 3: core and memory must divide evenly by it",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("requests", "said"), [pytest.param(r, said, id=name) for name, r, said in REFUSED]
)
def test_refused(requests: Requests, said: str) -> None:
    """The sentence says which name is wrong, and what to write."""
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        demand(requests)


EMPTY: list[tuple[str, Requests]] = [
    ("cards-of-nothing", {COUNT: 1}),
    ("many-cards-of-nothing", {COUNT: 2}),
    ("mig-without-a-profile", {MIG_PREFIX: 1}),
]


@pytest.mark.parametrize("requests", [pytest.param(r, id=name) for name, r in EMPTY])
def test_a_demand_for_nothing_is_refused(requests: Requests) -> None:
    """Names that ask for no part of any card are no request: a device of nothing would serve it."""
    with pytest.raises(ValueError, match=CORE):
        demand(requests)


@pytest.mark.parametrize("value", ["x", "1.5", "1500m"])
def test_a_refusal_names_the_resource(value: str) -> None:
    """Of several requests the person hears which one is meant, MIG's too."""
    for name in (CORE, MIG):
        with pytest.raises(ValueError, match=name):
            demand({name: value})


NAMES = [word.name for word in WORDS] + [MIG, f"{MIG_PREFIX}7g.141gb", "example.com/gpu"]
VALUES = st.integers(-2, 400) | st.sampled_from(["4Gi", "3k", "0.5", "1500m", "x", ""])


@given(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4))
def test_a_demand_or_a_sentence(requests: Requests) -> None:
    """Whatever is asked, the answer is a demand that can be described, or a ValueError."""
    try:
        want = demand(requests)
    except ValueError:
        return
    assert describe(want)
    assert want.core <= 100
    assert not (want.gpus and (want.core or want.memory or want.tflops))
    assert want.core % want.count == want.memory % want.count == 0


@given(st.permutations([(CORE, 60), (MEMORY, "8Gi"), (COUNT, 2)]))
def test_order_of_names_does_not_matter(requests: list[tuple[str, int | str]]) -> None:
    """Requests are a map: they mean the same in any order."""
    assert demand(dict(requests)) == Demand(core=60, memory=8 * GI, count=2)


WORDED: list[tuple[Demand, str]] = [
    (Demand(gpus=1), "1 whole card"),
    (Demand(gpus=3), "3 whole cards"),
    (Demand(core=10), "10% core"),
    (Demand(core=10, memory=4 * GI), "10% core and 4Gi memory"),
    (Demand(memory_percentage=50), "50% of the memory"),
    (Demand(tflops=100), "100 TFLOPS"),
    (Demand(mig="1g.18gb"), "MIG 1g.18gb"),
    (Demand(core=60, memory=8 * GI, count=2), "60% core and 8Gi memory over 2 cards"),
]


@pytest.mark.parametrize(
    ("want", "said"), [pytest.param(want, said, id=said) for want, said in WORDED]
)
def test_describe(want: Demand, said: str) -> None:
    """A demand in the words of a refusal."""
    assert describe(want) == said
