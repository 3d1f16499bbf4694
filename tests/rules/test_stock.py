"""Free devices: the index answers what comparing every device would."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.vocabulary import CORE, MEMORY, Demand
from elasticgpu.rules.fitting import leftover, too_small
from elasticgpu.rules.stock import Stock

from .build import GI, claim, device, part, ref

NAMES = ("egpu-a", "egpu-b", "egpu-c", "egpu-d", "egpu-e")
CLASSES = ("gold", "")
WANT = Demand(core=10, memory=10 * GI)
DEMANDS = st.one_of(
    st.builds(Demand, core=st.sampled_from((0, 10, 20)), memory=st.sampled_from((0, 10 * GI))),
    st.builds(Demand, gpus=st.integers(1, 2)),
    st.builds(Demand, core=st.just(20), memory=st.just(20 * GI), count=st.just(2)),
    st.builds(Demand, mig=st.just("1g")),
)


@st.composite
def devices(draw: st.DrawFn) -> ElasticGPU:
    """A device: few sizes, so that many are alike; free more often than not."""
    core, memory = draw(st.sampled_from(((10, 10), (20, 20), (20, 10), (100, 80), (200, 160))))
    count = draw(st.sampled_from((1, 1, 2)))
    profile = draw(st.sampled_from(("", "", "1g")))
    each = part(core=min(core // count, 100), memory=memory // count * GI)
    return device(
        draw(st.sampled_from(NAMES)),
        core=core,
        memory=draw(st.sampled_from([f"{memory}Gi", str(memory * GI)])),
        phase=draw(st.sampled_from(("Available", "Available", "Bound", "Pending"))),
        of=draw(st.sampled_from((None, None, ref(claim())))),
        class_name=draw(st.sampled_from(CLASSES)),
        parts=[each.but(gpu=f"card-{n}", mig_profile=profile) for n in range(count)],
    )


def naive(known: dict[str, ElasticGPU], class_name: str, want: Demand) -> list[ElasticGPU]:
    """Every device that is free and large enough, sorted by what it wastes."""
    large = [
        d
        for d in known.values()
        if d.spec.claim_ref is None
        and d.status.phase == "Available"
        and d.spec.elastic_gpu_class_name == class_name
        and too_small(want, d) is None
    ]
    return sorted(large, key=lambda d: leftover(want, d))


@given(st.lists(st.one_of(devices(), st.sampled_from(NAMES)), max_size=12), DEMANDS)
def test_the_same_devices_in_the_same_order(story: list[ElasticGPU | str], want: Demand) -> None:
    """After any changes, a name being a device that goes."""
    stock = Stock()
    known: dict[str, ElasticGPU] = {}
    for change in story:
        if isinstance(change, str):
            stock.drop(change)
            known.pop(change, None)
        else:
            stock.put(change)
            known[change.name] = change
        for name in CLASSES:
            assert list(stock.best_first(name, want)) == naive(known, name, want)


@pytest.mark.parametrize("capacity", [{CORE: "much", MEMORY: "10Gi"}, {CORE: 10, MEMORY: "1.5"}])
def test_what_cannot_be_read_serves_nobody(capacity: dict[str, int | str]) -> None:
    """A device whose capacity is no number is offered to no claim."""
    stock, odd = Stock(), device()
    stock.put(odd.but(spec=odd.spec.but(capacity=capacity)))
    assert list(stock.best_first("gold", WANT)) == []


def test_what_is_free_no_more_is_not_offered() -> None:
    """Bound, reserved or gone: the others of its shape and class stay."""
    stock = Stock()
    for name in NAMES:
        stock.put(device(name))
    stock.put(device("egpu-a", phase="Bound"))
    stock.put(device("egpu-b", of=ref(claim())))
    stock.put(device("egpu-e", core=20))
    stock.drop("egpu-c")
    stock.drop("egpu-z")
    assert [d.name for d in stock.best_first("gold", WANT)] == ["egpu-d", "egpu-e"]
    stock.drop("egpu-d")
    stock.drop("egpu-e")
    assert list(stock.best_first("gold", WANT)) == []


def test_the_newest_state_is_offered() -> None:
    """What a decision gets is the device as it was last told, not a sample of its shape."""
    stock = Stock()
    stock.put(device(labels={"rack": "1"}))
    stock.put(device("egpu-b"))
    stock.put(device(labels={"rack": "2"}))
    assert [d.metadata.labels for d in stock.best_first("gold", WANT)] == [{"rack": "2"}, {}]
