"""qGPU: a share of the first card that has it, and the environment its container gets."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TypeVar

import pytest
from elasticgpu_qgpu import QGPU

from elasticgpu.api.elasticgpu import DeviceSource, ElasticGPUSpec
from elasticgpu.api.gpu import GPU, GPUSpec, GPUStatus
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.api.vocabulary import demand
from elasticgpu.provisioner import (
    CardSlice,
    CardView,
    ContainerEdits,
    Demand,
    ElasticGPU,
    Host,
    NodeView,
    Refused,
    Slice,
    discover,
)
from elasticgpu.testing.host import FakeNode

GI = 1 << 30
T = TypeVar("T")


def card(name: str) -> GPU:
    """A card of 80 GiB."""
    return GPU(
        metadata=ObjectMeta(name=name),
        spec=GPUSpec(node_name="node-a"),
        status=GPUStatus(uuid=f"GPU-{name}", memory="80Gi"),
    )


def node(*rooms: tuple[int, int]) -> NodeView:
    """A node whose cards have so much core (percent) and memory (GiB) free."""
    views = [CardView(card(f"c{n}"), core, gib * GI) for n, (core, gib) in enumerate(rooms)]
    return NodeView("node-a", tuple(views))


def cut(name: str, core: int, memory: int) -> Slice:
    """A share of the card of this name."""
    return Slice((CardSlice(gpu=name, uuid=f"GPU-{name}", core=core, memory=memory),))


WANT = Demand(core=10, memory=4 * GI)
THIRD = 28346784154  # of 80 GiB, rounded up: a device holds what was asked for
PLACES: list[tuple[str, Demand, NodeView, Slice | None]] = [
    ("empty-card", WANT, node((100, 80)), cut("c0", 10, 4 * GI)),
    ("exactly-enough", WANT, node((10, 4)), cut("c0", 10, 4 * GI)),
    ("no-core", WANT, node((9, 80)), None),
    ("no-memory", WANT, node((100, 3)), None),
    ("no-cards", WANT, node(), None),
    ("the-first-that-fits", WANT, node((9, 80), (50, 40), (100, 80)), cut("c1", 10, 4 * GI)),
    ("core-only", Demand(core=10), node((100, 0)), cut("c0", 10, 0)),
    ("memory-only", Demand(memory=GI), node((0, 80)), cut("c0", 0, GI)),
    ("half-of-the-memory", Demand(memory_percentage=50), node((0, 80)), cut("c0", 0, 40 * GI)),
    ("half-is-not-free", Demand(memory_percentage=50), node((0, 39)), None),
    ("a-third-is-not-less", Demand(memory_percentage=33), node((0, 80)), cut("c0", 0, THIRD)),
    (
        "bytes-and-percent",
        Demand(memory=GI, memory_percentage=50),
        node((0, 80)),
        cut("c0", 0, 40 * GI),
    ),
]


@pytest.mark.parametrize(
    ("want", "where", "found"), [pytest.param(*row, id=name) for name, *row in PLACES]
)
def test_place(want: Demand, where: NodeView, found: Slice | None) -> None:
    """The first card with room for both core and memory, or none."""
    assert QGPU().place(want, where) == found


@pytest.mark.parametrize(
    "want",
    [
        Demand(gpus=1),
        Demand(mig="1g.18gb"),
        Demand(tflops=100),
        Demand(core=10, count=2),
        Demand(),
    ],
    ids=["whole-card", "mig", "tflops", "two-cards", "no-size"],
)
def test_refuses_what_it_cannot_cut(want: Demand) -> None:
    """What is not a share of one card is refused in words, whatever is free."""
    with pytest.raises(Refused, match="at most 100% core, and memory"):
        QGPU().place(want, node((100, 80)))


def test_its_own_names() -> None:
    """Tencent's names, and 4 as GiB, lead to the share they mean there."""
    want = demand({"tke.cloud.tencent.com/qgpu-core": 10, "tke.cloud.tencent.com/qgpu-memory": 4})
    assert QGPU().place(want, node((100, 80))) == cut("c0", 10, 4 * GI)


def host() -> Host:
    """A node with the card c0."""
    return FakeNode.of([card("c0")]).host(QGPU.name)


def device(gpu: str) -> ElasticGPU:
    """A device of 10% and 4 GiB of this card."""
    parts = list(cut(gpu, 10, 4 * GI).devices)
    return ElasticGPU(
        metadata=ObjectMeta(name="egpu-1"),
        spec=ElasticGPUSpec(source=DeviceSource(driver=QGPU.name, devices=parts)),
    )


def finish(coroutine: Coroutine[object, None, T]) -> T:
    """What it returns; it has nothing to wait for."""
    with pytest.raises(StopIteration) as done:
        coroutine.send(None)
    answer: T = done.value.value
    return answer


def test_prepare() -> None:
    """The container hears which card and how much of it, in its own variables; twice the same."""
    edits = finish(QGPU().prepare(device("c0"), host()))
    assert edits == ContainerEdits(
        env=[
            "ELASTICGPU_0_UUID=GPU-c0",
            "ELASTICGPU_0_CORE=10",
            f"ELASTICGPU_0_MEMORY={4 * GI}",
        ]
    )
    assert finish(QGPU().prepare(device("c0"), host())) == edits
    finish(QGPU().unprepare(device("c0"), host()))


def test_prepare_of_a_card_that_is_elsewhere() -> None:
    """A card the node does not have is refused by the node."""
    with pytest.raises(Refused, match="node-a has no card c9"):
        finish(QGPU().prepare(device("c9"), host()))


def test_is_installed() -> None:
    """It is found under the name that classes write."""
    assert isinstance(discover()["elasticgpu.io/qgpu"], QGPU)
