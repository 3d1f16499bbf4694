"""Vocabulary: what people write, what it means, and what they read if it means nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
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
    Demand,
    Meaning,
    demand,
    describe,
    read,
)
from elasticgpu.api.words import HAMI, PRIORITY, RULES
from tests.api.names_page import PAGE, page

Requests = dict[str, int | str]
Labels = dict[str, str]
Claim = tuple[str, Demand, int]
GI, MI = 1 << 30, 1 << 20
QGPU_CORE, QGPU_MEMORY = "tke.cloud.tencent.com/qgpu-core", "tke.cloud.tencent.com/qgpu-memory"
GPU_MEM, GPU_CORE = "aliyun.com/gpu-mem", "aliyun.com/gpu-core.percentage"
GPU_COUNT = "aliyun.com/gpu-count"
NVIDIA, SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"
GPUMEM, GPUMEM_SHARE = "nvidia.com/gpumem", "nvidia.com/gpumem-percentage"
GPUCORES = "nvidia.com/gpucores"
SHARE_CORE = "gpushare.provisioner.elasticgpu.io/gpu-core"
SHARE_MEMORY = "gpushare.provisioner.elasticgpu.io/gpu-memory"
OLD_CORE, OLD_MEMORY = "elasticgpu.com/gpu-core", "elasticgpu.com/gpu-memory"
MIG, NVIDIA_MIG = f"{MIG_PREFIX}1g.18gb", "nvidia.com/mig-3g.40gb"
TWO_CARDS = {GPU_COUNT: "2"}

# -- claims ---------------------------------------------------------------------------------------

MEANS: list[tuple[str, Requests, Demand]] = [
    ("whole-cards", {GPU: 2}, Demand(gpus=2)),
    ("as-many-as-a-device-has-room-for", {GPU: 16}, Demand(gpus=16)),
    ("share", {CORE: 10, MEMORY: "4Gi"}, Demand(core=10, memory=4 * GI)),
    ("a-whole-cards-core", {CORE: 100}, Demand(core=100)),
    ("core-of-whole-cards", {CORE: 300}, Demand(gpus=3)),
    ("memory-1000-is-MiB", {MEMORY: 1000}, Demand(memory=1000 * MI)),
    ("part-of-the-memory", {MEMORY_PERCENTAGE: 50}, Demand(memory_percentage=50)),
    ("all-of-the-memory", {MEMORY_PERCENTAGE: 100}, Demand(memory_percentage=100)),
    ("bytes-and-percent", {MEMORY: "4Gi", MEMORY_PERCENTAGE: 50},
        Demand(memory=4 * GI, memory_percentage=50)),
    ("over-two-cards", {CORE: 60, COUNT: 2}, Demand(core=60, count=2)),
    ("memory-over-two-cards", {MEMORY: "8Gi", COUNT: 2}, Demand(memory=8 * GI, count=2)),
    ("percent-of-two-cards", {MEMORY_PERCENTAGE: 5, COUNT: 2},
        Demand(memory_percentage=5, count=2)),
    ("over-one-card", {CORE: 61, COUNT: 1}, Demand(core=61)),
    ("tflops", {TFLOPS: 100}, Demand(tflops=100)),
    ("tflops-over-two-cards", {TFLOPS: 100, COUNT: 2}, Demand(tflops=100, count=2)),
    ("mig", {MIG: 1}, Demand(mig="1g.18gb")),
    ("mig-as-text", {MIG: "1"}, Demand(mig="1g.18gb")),
    ("mig-with-media-extensions", {f"{MIG_PREFIX}1g.10gb.me": 1}, Demand(mig="1g.10gb.me")),
    ("nvidias-mig", {NVIDIA_MIG: 1}, Demand(mig="3g.40gb")),
    ("qgpu", {QGPU_CORE: 10, QGPU_MEMORY: 4}, Demand(core=10, memory=4 * GI)),
    ("qgpu-in-bytes", {QGPU_CORE: 10, QGPU_MEMORY: "4Gi"}, Demand(core=10, memory=4 * GI)),
    ("vendors-and-ours", {QGPU_CORE: 10, MEMORY: "4Gi"}, Demand(core=10, memory=4 * GI)),
    ("vendors-over-our-count", {GPU_MEM: 8, COUNT: 2}, Demand(memory=8 * GI, count=2)),
    ("hamis-size-by-the-class", {PRIORITY: 0}, Demand(priority=0)),
    ("hamis-low-priority", {NVIDIA: 1, PRIORITY: 1}, Demand(priority=1)),
    ("a-replica", {SHARED: 1}, Demand()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("requests", "want"), [pytest.param(r, want, id=name) for name, r, want in MEANS]
)
def test_means(requests: Requests, want: Demand) -> None:
    """The names and units of a vendor and ours lead to one demand."""
    assert demand(requests) == want


def test_a_claims_labels_count() -> None:
    """Alibaba's count of cards is a label, of a pod and of a claim alike."""
    assert demand({GPU_MEM: 8}, TWO_CARDS) == Demand(memory=8 * GI, count=2)
    assert demand({GPU_MEM: 8}, {"app": "x"}) == Demand(memory=8 * GI)


UNKNOWN = (
    f"is no resource this understands: write {GPU}, {CORE}, {MEMORY}, {MEMORY_PERCENTAGE}, "
    f"{COUNT}, {TFLOPS}, {MIG_PREFIX}<profile>, or the names of one vendor"
)
NOTHING = f"nothing is requested: name at least one resource, such as {CORE}"
OTHERS = "leave the other names out, or ask for at most 100"

REFUSED: list[tuple[str, Requests, str]] = [
    ("nothing", {}, NOTHING),
    ("cards-of-nothing", {COUNT: 1}, NOTHING),
    ("many-cards-of-nothing", {COUNT: 2}, NOTHING),
    ("unknown", {"example.com/gpu": 1}, f"example.com/gpu {UNKNOWN}"),
    ("misspelt", {"elasticgpu.io/memory": 1}, f"elasticgpu.io/memory {UNKNOWN}"),
    ("mig-without-a-profile", {MIG_PREFIX: 1}, f"{MIG_PREFIX} {UNKNOWN}"),
    ("nvidias-mig-without-a-profile", {"nvidia.com/mig-": 1}, f"nvidia.com/mig- {UNKNOWN}"),
    ("qgpu-greedy", {"tke.cloud.tencent.com/qgpu-core-greedy": 1},
        f"tke.cloud.tencent.com/qgpu-core-greedy {UNKNOWN}"),
    (
        "no-quantity",
        {MEMORY: "4 Gi"},
        f"{MEMORY}: '4 Gi' is not a quantity: write a number such as 10, 4Gi or 3k",
    ),
    ("half-a-card", {GPU: "0.5"}, f"{GPU}: 0.5 is not a whole number"),
    ("half-a-byte", {MEMORY: "0.3"}, f"{MEMORY}: 0.3 is not a whole number of bytes"),
    ("half-an-instance", {MIG: "1500m"}, f"{MIG}: 1500m is not a whole number"),
    ("zero", {GPU: 0}, f"{GPU} is 0: ask for more than nothing"),
    ("negative", {MEMORY: "-4Gi"}, f"{MEMORY} is -4Gi: ask for more than nothing"),
    ("negative-priority", {PRIORITY: -1}, f"{PRIORITY} is -1: ask for more than nothing"),
    ("twice", {CORE: 10, QGPU_CORE: 10}, f"{QGPU_CORE} asks for core a second time: name it once"),
    ("two-counts", {NVIDIA: 1, GPUMEM: 1, COUNT: 2},
        f"{COUNT} asks for count a second time: name it once"),
    ("two-vendors", {QGPU_CORE: 10, GPU_MEM: 4},
        f"{GPU_MEM} and {QGPU_CORE} are two different things: make a claim of each"),
    ("two-migs", {MIG: 1, f"{MIG_PREFIX}2g.35gb": 1},
        f"{MIG} and {MIG_PREFIX}2g.35gb are two different things: make a claim of each"),
    ("mig-and-core", {MIG: 1, CORE: 10},
        f"{CORE} and {MIG} are two different things: make a claim of each"),
    ("many-migs", {MIG: 2}, f"{MIG} must be 1, not 2: make a claim for each"),
    ("many-replicas", {SHARED: 3}, f"{SHARED} must be 1, not 3: make a claim for each"),
    (
        "core-above-one-card",
        {CORE: 150},
        f"{CORE} is 150: above 100 only whole cards, a multiple of 100",
    ),
    (
        "core-of-two-cards",
        {CORE: 120, COUNT: 2},
        f"{CORE} is 120: above 100 only whole cards, a multiple of 100",
    ),
    ("whole-cards-twice", {GPU: 2, CORE: 200}, f"{CORE} is 200, which is 2 whole cards: {OTHERS}"),
    ("whole-and-memory-by-core", {CORE: 200, MEMORY: "8Gi"},
        f"{CORE} is 200, which is 2 whole cards: {OTHERS}"),
    ("whole-by-core-and-count", {CORE: 200, COUNT: 2},
        f"{CORE} is 200, which is 2 whole cards: {OTHERS}"),
    ("a-vendors-core-above", {QGPU_CORE: 250},
        f"{QGPU_CORE} is 250: above 100 only whole cards, a multiple of 100"),
    ("whole-and-count", {GPU: 2, COUNT: 2},
        f"{GPU} says how many cards already: leave {COUNT} out"),
    ("too-many-cards", {GPU: 17},
        "17 cards are more than one claim can have: ask for at most 16"),
    ("too-many-cards-by-core", {CORE: "1700"},
        "17 cards are more than one claim can have: ask for at most 16"),
    ("too-wide", {CORE: 90, COUNT: 18},
        "18 cards are more than one claim can have: ask for at most 16"),
    ("more-than-all", {MEMORY_PERCENTAGE: 101}, f"{MEMORY_PERCENTAGE} is 101: at most 100"),
    ("hamis-core-above", {NVIDIA: 1, GPUCORES: 101},
        f"{GPUCORES} is 101: it is percent of one card, at most 100"),
]  # fmt: skip


REFUSED += [
    (f"whole-and-{name}", {GPU: 1, name: 1},
        f"{GPU} asks for whole cards: leave core, memory and tflops out")
    for name in (CORE, MEMORY, MEMORY_PERCENTAGE, TFLOPS)
]  # fmt: skip
REFUSED += [
    (f"uneven-{name}", {name: 100, COUNT: 3},
        f"{name} does not divide evenly over 3 cards: ask for a multiple of 3")
    for name in (CORE, MEMORY, TFLOPS)
]  # fmt: skip


@pytest.mark.parametrize(
    ("requests", "said"), [pytest.param(r, said, id=name) for name, r, said in REFUSED]
)
def test_refused(requests: Requests, said: str) -> None:
    """The sentence says which name is wrong, and what to write."""
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        demand(requests)


@pytest.mark.parametrize("value", ["x", "1.5", "1500m"])
def test_a_refusal_names_the_resource(value: str) -> None:
    """Of several requests the person hears which one is meant, MIG's too."""
    for name in (CORE, MIG, NVIDIA):
        with pytest.raises(ValueError, match=re.escape(name)):
            demand({name: value})


# -- containers of pods ---------------------------------------------------------------------------


def claims(requests: Requests, labels: Labels | None = None, mode: str = "") -> list[Claim]:
    """Backend, demand and number of each claim."""
    found = read(requests, labels or {}, mode=mode)
    return [(m.backend.removeprefix("elasticgpu.io/"), m.want, m.times) for m in found]


SAID: list[tuple[str, Requests, Labels, str, list[Claim]]] = [
    ("gpushare", {GPU_MEM: 3}, {}, "", [("gpushare", Demand(memory=3 * GI), 1)]),
    ("cgpu", {GPU_MEM: 2, GPU_CORE: 30}, {}, "", [("cgpu", Demand(core=30, memory=2 * GI), 1)]),
    ("cgpu-without-memory", {GPU_CORE: 30}, {}, "", [("cgpu", Demand(core=30), 1)]),
    ("cgpu-total-over-cards", {GPU_MEM: 8}, TWO_CARDS, "",
        [("cgpu", Demand(memory=8 * GI, count=2), 1)]),
    ("a-label-alone", {NVIDIA: 1}, TWO_CARDS, "", [("whole", Demand(gpus=1), 1)]),
    ("qgpu", {QGPU_CORE: 10, QGPU_MEMORY: 4}, {}, "",
        [("qgpu", Demand(core=10, memory=4 * GI), 1)]),
    ("qgpu-whole-cards", {QGPU_CORE: 200}, {}, "", [("qgpu", Demand(gpus=2), 1)]),
    ("hami", {NVIDIA: 1, GPUMEM: "3k", GPUCORES: 30}, {}, "",
        [("vcuda", Demand(core=30, memory=3000 * MI), 1)]),
    ("hami-of-each-card", {NVIDIA: 2, GPUMEM: 3000, GPUCORES: 60}, {}, "",
        [("vcuda", Demand(core=120, memory=6000 * MI, count=2), 1)]),
    ("hami-without-its-count", {GPUMEM: 3000}, {}, "", [("vcuda", Demand(memory=3000 * MI), 1)]),
    ("hami-percent-of-each", {NVIDIA: 2, GPUMEM_SHARE: 50}, {}, "",
        [("vcuda", Demand(memory_percentage=50, count=2), 1)]),
    ("hami-priority", {NVIDIA: 1, PRIORITY: 0}, {}, "", [("vcuda", Demand(priority=0), 1)]),
    ("hami-by-the-namespace", {NVIDIA: 2}, {}, HAMI, [("vcuda", Demand(count=2), 1)]),
    ("nvidias-by-default", {NVIDIA: 2}, {}, "", [("whole", Demand(gpus=2), 1)]),
    ("nvidias-in-another-mode", {NVIDIA: 2}, {}, "other", [("whole", Demand(gpus=2), 1)]),
    ("hami-whatever-the-mode", {NVIDIA: 1, GPUMEM: 1}, {}, HAMI, [("vcuda", Demand(memory=MI), 1)]),
    ("replicas", {SHARED: 2}, {}, HAMI, [("mps", Demand(), 2)]),
    ("mig", {NVIDIA_MIG: 2}, {}, "", [("mig", Demand(mig="3g.40gb"), 2)]),
    ("migs-and-a-card", {NVIDIA: 1, NVIDIA_MIG: 1, "nvidia.com/mig-1g.10gb": 3}, {}, "",
        [("mig", Demand(mig="1g.10gb"), 3), ("mig", Demand(mig="3g.40gb"), 1),
         ("whole", Demand(gpus=1), 1)]),
    ("elastic-gpus-claim", {SHARE_CORE: 10, SHARE_MEMORY: 4}, {}, "",
        [("gpushare", Demand(core=10, memory=4 * GI), 1)]),
    ("elastic-gpu-schedulers-pod", {OLD_MEMORY: 256}, {}, "",
        [("gpushare", Demand(memory=256 * MI), 1)]),
    ("elastic-gpu-schedulers-cards", {OLD_CORE: 200}, {}, "", [("gpushare", Demand(gpus=2), 1)]),
    ("ours", {CORE: 10, MEMORY: 1024}, {}, "", [("", Demand(core=10, memory=GI), 1)]),
    ("our-mig", {MIG: 1}, {}, "", [("mig", Demand(mig="1g.18gb"), 1)]),
    ("ours-complete-a-vendors", {GPU_MEM: 8, COUNT: 2}, {}, "",
        [("gpushare", Demand(memory=8 * GI, count=2), 1)]),
    ("two-vendors", {QGPU_CORE: 10, GPU_MEM: 4}, {}, "",
        [("gpushare", Demand(memory=4 * GI), 1), ("qgpu", Demand(core=10), 1)]),
    ("nothing-of-gpus", {"cpu": "100m", "memory": "64Mi", "example.com/gpu": "x"}, {}, "", []),
    ("nothing", {}, TWO_CARDS, HAMI, []),
    ("none-of-it", {NVIDIA: 0, GPU_MEM: "0", MIG: 0}, {}, "", []),
    ("hami-at-its-defaults", {NVIDIA: 1, GPUMEM: 0, GPUCORES: 30}, {}, "",
        [("vcuda", Demand(core=30), 1)]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("requests", "labels", "mode", "meant"), [pytest.param(*row, id=name) for name, *row in SAID]
)
def test_read(requests: Requests, labels: Labels, mode: str, meant: list[Claim]) -> None:
    """The set of names, the labels and the mode decide together; the rest is passed over."""
    assert claims(requests, labels, mode) == meant


def test_each_rule_is_somebodys() -> None:
    """Every row has a source and is reached by an example, save the one that refuses."""
    reached = {
        meaning.rule.source
        for _, requests, labels, mode, _ in SAID
        for meaning in read(requests, labels, mode=mode)
    }
    assert reached == {rule.source for rule in RULES if not rule.refusal}
    assert len(reached) == len(RULES) - 1


def test_the_names_that_were_read_are_known() -> None:
    """The translator takes them out of the pod, and leaves the others."""
    (hami,) = read({"cpu": 1, NVIDIA: 2, GPUMEM: 1000, "memory": "1Gi"})
    assert hami.names == {NVIDIA, GPUMEM}


LABELLED: list[tuple[str, Requests, Labels, str]] = [
    ("compute-of-several", {GPU_MEM: 8, GPU_CORE: 30}, TWO_CARDS,
        f"{GPU_CORE} is of one card, and under the label {GPU_COUNT} there are several, whose "
        "compute is shared: leave one of both out"),
    ("uneven", {GPU_MEM: 8}, {GPU_COUNT: "3"},
        f"{MEMORY} does not divide evenly over 3 cards: ask for a multiple of 3"),
    ("count-twice", {GPU_MEM: 8, COUNT: 2}, TWO_CARDS,
        f"{COUNT} asks for count a second time: name it once"),
]  # fmt: skip


LABELLED += [
    (f"label-{value!r}", {GPU_MEM: 8}, {GPU_COUNT: value},
        f"label {GPU_COUNT} is {value!r}: write how many cards")
    for value in ("", "0", "two", "-1", "1.5", "99999", "2\n", "\u0662")
]  # fmt: skip


@pytest.mark.parametrize(
    ("requests", "labels", "said"), [pytest.param(*row, id=name) for name, *row in LABELLED]
)
def test_refused_under_a_label(requests: Requests, labels: Labels, said: str) -> None:
    """As words of a pod and of a claim."""
    for reading in (read, demand):
        with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
            reading(requests, labels)


# -- the unit rule, in everybody's names ----------------------------------------------------------

UNITS = {
    MEMORY: MI, GPUMEM: MI, OLD_MEMORY: MI,
    GPU_MEM: GI, QGPU_MEMORY: GI, SHARE_MEMORY: GI,
}  # fmt: skip
VALUES: list[tuple[int | str, int | None]] = [
    (1000, None), ("1k", None), (3000, None), ("3k", None), (4096, None), ("4Ki", None),
    (MI - 1, None), (MI, MI), ("1Mi", MI), ("4Gi", 4 * GI), ("4G", 4 * 10**9),
]  # fmt: skip


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize(("value", "in_bytes"), VALUES)
def test_one_unit_rule(name: str, value: int | str, in_bytes: int | None) -> None:
    """Below 1Mi the vendor's unit, however the API server spells it; from there on bytes."""
    number = {"1k": 1000, "3k": 3000, "4Ki": 4096}.get(str(value), value)
    expected = int(number) * UNITS[name] if in_bytes is None else in_bytes
    assert demand({name: value}).memory == expected
    assert [meaning.want.memory for meaning in read({name: value})] == [expected]


def test_every_name_of_memory_has_its_unit() -> None:
    """A name that joins the table joins the test."""
    words = {name for rule in RULES for name, w in rule.words.items() if w.dimension == "memory"}
    assert words == set(UNITS)


# -- the users' own pods --------------------------------------------------------------------------

PODS = Path(__file__).parents[1] / "api" / "data" / "vendor-pods.yaml"
SEEN: dict[str, list[Claim]] = {
    "binpack-1": [("gpushare", Demand(memory=3 * GI), 1)],
    "cuda-sample": [("cgpu", Demand(core=30, memory=2 * GI), 1)],
    "tensorflow-mnist-multigpu": [("cgpu", Demand(memory=8 * GI, count=2), 1)],
    "gpu-pod": [("vcuda", Demand(core=30, memory=3000 * MI), 1)],
    "test1": [("mig", Demand(mig="3g.40gb"), 1)],
    "test2": [("mig", Demand(mig="3g.40gb"), 1)],
    "test3": [("whole", Demand(gpus=1), 1)],
}


def test_the_users_pods_are_understood() -> None:
    """One container each, written for four vendors' systems."""
    found = {}
    for document in yaml.safe_load_all(PODS.read_text()):
        pod: dict[str, Any] = document["spec"].get("template") or document
        labels = pod.get("metadata", {}).get("labels", {})
        (container,) = pod["spec"]["containers"]
        found[document["metadata"]["name"]] = claims(container["resources"]["limits"], labels)
    assert found == SEEN


# -- whatever is written --------------------------------------------------------------------------

NAMES = sorted({name for rule in RULES for name in rule.words if not name.endswith("-")})
NAMES += [MIG, NVIDIA_MIG, "example.com/gpu", "cpu"]
AMOUNTS = st.integers(-2, 400) | st.sampled_from(["4Gi", "3k", "0.5", "1500m", "x", ""])
REQUESTS = st.dictionaries(st.sampled_from(NAMES), AMOUNTS, max_size=4)
LABELS = st.sampled_from([{}, TWO_CARDS, {GPU_COUNT: "x"}])


@given(REQUESTS, LABELS)
def test_a_demand_or_a_sentence(requests: Requests, labels: Labels) -> None:
    """Whatever a claim asks, the answer is a demand that makes sense, or a ValueError."""
    try:
        want = demand(requests, labels)
    except ValueError as error:
        want, said = None, str(error)
    if want is None:
        assert re.search(r"\S: \w", said)
        return
    assert describe(want)
    assert 1 <= max(want.gpus, want.count) <= 16
    assert want.core <= 100 * want.count
    assert not (want.gpus and (want.core or want.memory or want.tflops or want.count > 1))
    assert want.core % want.count == want.memory % want.count == want.tflops % want.count == 0


def _reading(requests: Requests, labels: Labels, mode: str) -> tuple[Meaning, ...] | str:
    try:
        return read(requests, labels, mode=mode)
    except ValueError:
        return "refused"


@given(REQUESTS, LABELS, st.sampled_from(["", HAMI]), st.randoms(use_true_random=False))
def test_order_of_names_does_not_matter(
    requests: Requests, labels: Labels, mode: str, random: Any
) -> None:
    """Requests are a map: they mean the same in any order, and each name is read once."""
    shuffled = list(requests.items())
    random.shuffle(shuffled)
    found = _reading(requests, labels, mode)
    assert _reading(dict(shuffled), labels, mode) == found
    if not isinstance(found, str):
        names = [name for meaning in found for name in meaning.names]
        assert len(names) == len(set(names))
        assert set(names) <= set(requests)


@given(REQUESTS, LABELS)
def test_a_claim_is_read_as_a_container_is(requests: Requests, labels: Labels) -> None:
    """What a claim asks for is the one thing that its names mean in a pod."""
    try:
        want = demand(requests, labels)
    except ValueError:
        return
    assert [(m.want, m.times) for m in read(requests, labels)] == [(want, 1)]


WORDED: list[tuple[Demand, str]] = [
    (Demand(gpus=1), "1 whole card"),
    (Demand(gpus=3), "3 whole cards"),
    (Demand(core=10), "10% core"),
    (Demand(core=10, memory=4 * GI), "10% core and 4Gi memory"),
    (Demand(memory_percentage=50), "50% of the memory"),
    (Demand(tflops=100), "100 TFLOPS"),
    (Demand(mig="1g.18gb"), "MIG 1g.18gb"),
    (Demand(core=60, memory=8 * GI, count=2), "60% core and 8Gi memory over 2 cards"),
    (Demand(priority=1), "a share as large as the class makes them"),
    (Demand(count=2), "a share as large as the class makes them over 2 cards"),
]


@pytest.mark.parametrize(
    ("want", "said"), [pytest.param(want, said, id=said) for want, said in WORDED]
)
def test_describe(want: Demand, said: str) -> None:
    """A demand in the words of a refusal."""
    assert describe(want) == said


def test_the_page_of_names_is_what_the_table_says() -> None:
    """After a change of the table: `make names`."""
    assert PAGE.read_text(encoding="utf-8") == page()
