"""cGPU: memory in whole GiB, compute in parts of a card, and the variables its hook reads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from elasticgpu_cgpu import CGPU

from elasticgpu.api.elasticgpu import DeviceSource, ElasticGPUSpec
from elasticgpu.api.gpu import GPU, GPUSpec, GPUStatus
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.api.vocabulary import read
from elasticgpu.provisioner import (
    CardSlice,
    CardView,
    Demand,
    ElasticGPU,
    Held,
    NodeView,
    Refused,
    discover,
)
from elasticgpu.testing.host import FakeNode

GI = 1 << 30
MODULE = Path("/proc/cgpu_km")
PODS = list(yaml.safe_load_all(Path(__file__).with_name("pods.yaml").read_text()))


def card(index: int, *, simulated: bool = False) -> GPU:
    """A card of a little less than 16 GiB, as NVML has them."""
    status = GPUStatus(
        index=index, minor=index, uuid=f"GPU-{index}", memory="16280Mi", simulated=simulated
    )
    meta = ObjectMeta(name=f"c{index}")
    return GPU(metadata=meta, spec=GPUSpec(node_name="node-a"), status=status)


def node(*rooms: tuple[int, int]) -> NodeView:
    """A node whose cards have so much core (percent) and memory (GiB) free."""
    views = (CardView(card(n), core, gib * GI) for n, (core, gib) in enumerate(rooms))
    return NodeView("node-a", tuple(views))


def parts(want: Demand, where: NodeView, plugin: CGPU) -> list[tuple[str, int, int]] | None:
    """What it places: card, percent, MiB of each part."""
    found = plugin.place(want, where)
    return [(p.gpu, p.core, p.memory_bytes >> 20) for p in found.devices] if found else None


PLACES: list[tuple[str, Demand, NodeView, list[tuple[str, int, int]] | None]] = [
    ("memory-alone", Demand(memory=2 * GI), node((0, 2)), [("c0", 0, 2048)]),
    ("whole-GiB", Demand(memory=1), node((0, 2)), [("c0", 0, 1024)]),
    ("no-room-for-a-whole-GiB", Demand(memory=GI + 1), node((0, 1)), None),
    ("steps-of-5-percent", Demand(core=31, memory=GI), node((34, 9), (35, 9)), [("c1", 35, 1024)]),
    ("all-compute", Demand(core=100, memory=GI), node((100, 9)), [("c0", 100, 1024)]),
    (
        "over-two-cards",
        Demand(memory=8 * GI, count=2),
        node((9, 4), (9, 5)),
        [("c0", 0, 4096), ("c1", 0, 4096)],
    ),
    ("percent-of-the-memory", Demand(memory_percentage=50), node((0, 15)), [("c0", 0, 8192)]),
]


@pytest.mark.parametrize(
    ("want", "where", "found"), [pytest.param(*row, id=name) for name, *row in PLACES]
)
def test_place(want: Demand, where: NodeView, found: list[tuple[str, int, int]] | None) -> None:
    """The first cards with room for whole GiB and whole parts of compute, or none."""
    assert parts(want, where, CGPU()) == found


def full(shares: int) -> NodeView:
    """A node of one card, of which devices have so many shares, and of which much is free."""
    held = tuple(Held(f"egpu-{n}", CGPU.name, 1, GI) for n in range(shares))
    (view,) = node((50, 10)).cards
    return NodeView("node-a", (replace(view, held=held),))


def test_as_many_as_the_module_has() -> None:
    """The class says how many instances there are, and so how large a part of compute is."""
    small = CGPU().tuned({"maxInstances": "16"})
    assert parts(Demand(core=8, memory=GI), full(15), small) == [("c0", 14, 1024)]
    assert parts(Demand(memory=GI), full(16), small) is None
    assert parts(Demand(memory=GI), full(16), CGPU()) == [("c0", 0, 1024)]


@pytest.mark.parametrize(
    "want",
    [
        Demand(gpus=1),
        Demand(mig="1g.5gb"),
        Demand(tflops=10, memory=GI),
        Demand(core=10),
        Demand(core=10, memory=2 * GI, count=2),
        Demand(),
    ],
    ids=["whole-card", "mig", "tflops", "core-alone", "core-of-two-cards", "no-size"],
)
def test_refused(want: Demand) -> None:
    """What its module does not isolate is refused in words."""
    with pytest.raises(Refused, match="isolates memory of cards, and compute of one"):
        CGPU().place(want, node((100, 16), (100, 16)))


@pytest.mark.parametrize("pod", PODS, ids=lambda pod: str(pod["metadata"]["name"]))
def test_its_own_names(pod: dict[str, Any]) -> None:
    """Pods as they are written for cGPU lead here, to what they mean there."""
    (meaning,) = read(pod["spec"]["limits"], pod["metadata"]["labels"])
    assert meaning.backend == CGPU.name
    found = parts(meaning.want, node((100, 16), (100, 16)), CGPU())
    assert found is not None
    assert [[core, mib // 1024] for _, core, mib in found] == pod["spec"]["means"]


def machine(*, simulated: bool = False, most: bytes | None = b"20\n") -> FakeNode:
    """A node of two cards that runs cGPU."""
    made = FakeNode.of([card(0, simulated=simulated), card(1, simulated=simulated)])
    made.files.directory(MODULE / "0")
    made.files.write(MODULE / "version", b"1.5.8\n")
    if most is not None:
        made.files.write(MODULE / "0" / "max_inst", most)
    return made


def device(core: int, *gpus: str) -> ElasticGPU:
    """A device of 2 GiB of each of these cards, and of core of the first."""
    slices = [CardSlice(gpu=gpu, core=core, memory="2Gi") for gpu in gpus]
    source = DeviceSource(driver=CGPU.name, devices=slices)
    return ElasticGPU(metadata=ObjectMeta(name="egpu-1"), spec=ElasticGPUSpec(source=source))


async def test_prepare() -> None:
    """Memory and compute of one card, in the words of the hook; no device file from us."""
    made = machine()
    edits = await CGPU().prepare(device(30, "c0"), made.host(CGPU.name))
    assert edits.env == [
        "ALIYUN_COM_GPU_MEM_CONTAINER=2",
        "ALIYUN_COM_GPU_MEM_DEV=15",
        "ALIYUN_COM_GPU_MEM_UNIT=GiB",
        "ALIYUN_COM_GPU_VISIBLE_DEVICES=GPU-0",
        "NVIDIA_VISIBLE_DEVICES=GPU-0",
        "ELASTICGPU_0_UUID=GPU-0",
        "ALIYUN_COM_GPU_SCHD_WEIGHT=6",
        "GPU_UTIL_PER_DEVICE=30",
    ]
    assert edits.device_nodes == []
    assert await CGPU().prepare(device(30, "c0"), made.host(CGPU.name)) == edits
    before = made.files.left()
    await CGPU().unprepare(device(30, "c0"), made.host(CGPU.name))
    assert made.files.left() == before


async def test_prepare_two_cards() -> None:
    """What each gives; nothing about compute, which is not isolated there."""
    edits = await CGPU().prepare(device(0, "c0", "c1"), machine().host(CGPU.name))
    assert "ALIYUN_COM_GPU_MEM_CONTAINER=2" in edits.env
    assert "NVIDIA_VISIBLE_DEVICES=GPU-0,GPU-1" in edits.env
    assert not any("WEIGHT" in line or "UTIL" in line for line in edits.env)


async def test_less_than_the_module_counts() -> None:
    """The hook takes no GiB for no isolation: a device made ahead that small is refused."""
    tiny = device(0, "c0")
    (part,) = tiny.spec.source.devices
    source = tiny.spec.source.but(devices=[part.but(memory="512Mi")])
    small = tiny.but(spec=tiny.spec.but(source=source))
    with pytest.raises(Refused, match="egpu-1: cGPU isolates whole GiB of memory, and here is"):
        await CGPU().prepare(small, machine().host(CGPU.name))


async def test_a_node_without_cgpu() -> None:
    """It is refused in words that say what to install."""
    made = machine()
    made.files.remove(MODULE)
    with pytest.raises(Refused, match=r"node-a does not run cGPU: .* Install its kernel module"):
        await CGPU().prepare(device(30, "c0"), made.host(CGPU.name))


async def test_another_number_of_instances() -> None:
    """A weight means another share then; a module that does not tell is believed."""
    said = r"card 0 of node node-a has max_inst 16, its class counts 20"
    with pytest.raises(Refused, match=said):
        await CGPU().prepare(device(30, "c0"), machine(most=b"16\n").host(CGPU.name))
    await CGPU().prepare(device(30, "c0"), machine(most=None).host(CGPU.name))


async def test_a_simulated_card() -> None:
    """Nothing is checked, and the container hears that nobody enforces anything."""
    made = FakeNode.of([card(0, simulated=True)])
    edits = await CGPU().prepare(device(0, "c0"), made.host(CGPU.name))
    assert edits.env[-1] == "ELASTICGPU_0_ENFORCED=no, simulated card"


@pytest.mark.parametrize("written", ["0", "26", "many"])
def test_bad_parameters(written: str) -> None:
    """The field is named."""
    with pytest.raises(Refused, match="maxInstances"):
        CGPU().tuned({"maxInstances": written})


def test_is_installed() -> None:
    """It is found under the name that classes write."""
    assert isinstance(discover()["elasticgpu.io/cgpu"], CGPU)
