"""gpushare: what is booked of which cards, and the variables in which an application reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from elasticgpu_gpushare import GPUShare

from elasticgpu.api.elasticgpu import DeviceSource, ElasticGPUSpec
from elasticgpu.api.gpu import GPU, GPUSpec, GPUStatus
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.api.vocabulary import read
from elasticgpu.provisioner import (
    CardSlice,
    CardView,
    Demand,
    ElasticGPU,
    Finished,
    NodeView,
    Refused,
    discover,
)
from elasticgpu.testing.host import FakeNode

GI = 1 << 30
PODS = list(yaml.safe_load_all(Path(__file__).with_name("pods.yaml").read_text()))


def card(index: int, *, simulated: bool = False) -> GPU:
    """A card that NVML gives 15.9 GiB, or a made-up one."""
    status = GPUStatus(
        index=index,
        minor=index,
        uuid=f"GPU-{index}",
        memory="16280Mi" if not simulated else "16Gi",
        simulated=simulated,
    )
    meta = ObjectMeta(name=f"c{index}")
    return GPU(metadata=meta, spec=GPUSpec(node_name="node-a"), status=status)


def node(*rooms: tuple[int, int]) -> NodeView:
    """A node whose cards have so much core (percent) and memory (GiB) free."""
    cards = (card(n, simulated=True) for n in range(len(rooms)))
    views = (CardView(c, core, gib * GI) for c, (core, gib) in zip(cards, rooms, strict=True))
    return NodeView("node-a", tuple(views))


def parts(want: Demand, where: NodeView) -> list[tuple[str, int, int]] | None:
    """What it places: card, percent, GiB of each part."""
    found = GPUShare().place(want, where)
    return [(p.gpu, p.core, p.memory_bytes // GI) for p in found.devices] if found else None


PLACES: list[tuple[str, Demand, NodeView, list[tuple[str, int, int]] | None]] = [
    ("memory-alone", Demand(memory=3 * GI), node((0, 16)), [("c0", 0, 3)]),
    ("core-is-booked-too", Demand(core=60, memory=GI), node((50, 16), (60, 16)), [("c1", 60, 1)]),
    ("no-memory", Demand(memory=3 * GI), node((100, 2)), None),
    (
        "over-two-cards",
        Demand(memory=8 * GI, count=2),
        node((9, 4), (9, 3), (9, 5)),
        [("c0", 0, 4), ("c2", 0, 4)],
    ),
    ("too-few-cards", Demand(memory=8 * GI, count=2), node((9, 8), (9, 3)), None),
    ("whole-cards", Demand(gpus=1), node((100, 16)), [("c0", 100, 16)]),
]


@pytest.mark.parametrize(
    ("want", "where", "found"), [pytest.param(*row, id=name) for name, *row in PLACES]
)
def test_place(want: Demand, where: NodeView, found: list[tuple[str, int, int]] | None) -> None:
    """The first cards on which it is not yet booked, evenly, or none."""
    assert parts(want, where) == found


@pytest.mark.parametrize("want", [Demand(mig="1g.5gb"), Demand(count=2)], ids=["mig", "no-size"])
def test_refused(want: Demand) -> None:
    """What is no amount of a card is refused in words."""
    with pytest.raises(Refused, match="ask for gpu-memory"):
        GPUShare().place(want, node((100, 16), (100, 16)))


@pytest.mark.parametrize("pod", PODS, ids=lambda pod: str(pod["metadata"]["name"]))
def test_its_own_names(pod: dict[str, Any]) -> None:
    """Pods as they are written for gpushare lead here, to what they mean there."""
    (meaning,) = read(pod["spec"]["limits"], pod["metadata"]["labels"])
    assert meaning.backend == GPUShare.name
    found = parts(meaning.want, node((100, 16), (100, 16)))
    assert found is not None
    assert [[core, gib] for _, core, gib in found] == pod["spec"]["means"]


def device(*gpus: str) -> ElasticGPU:
    """A device of 4 GiB of each of these cards."""
    slices = [CardSlice(gpu=gpu, memory="4Gi") for gpu in gpus]
    source = DeviceSource(driver=GPUShare.name, devices=slices)
    return ElasticGPU(metadata=ObjectMeta(name="egpu-1"), spec=ElasticGPUSpec(source=source))


UNITS = {
    "GiB": ({}, ("4", "8", "15", "GiB")),
    "MiB": ({"memoryUnit": "MiB"}, ("4096", "8192", "16280", "MiB")),
}


@pytest.mark.parametrize("name", UNITS)
async def test_prepare(name: str) -> None:
    """Two cards: what each gives, all together, and what one has, in the class's unit."""
    written, (each, both, whole, unit) = UNITS[name]
    made = FakeNode.of([card(0), card(1)])
    edits = await GPUShare().tuned(written).prepare(device("c0", "c1"), made.host(GPUShare.name))
    assert edits.env == [
        "ALIYUN_COM_GPU_MEM_IDX=0,1",
        f"ALIYUN_COM_GPU_MEM_POD={both}",
        f"ALIYUN_COM_GPU_MEM_CONTAINER={each}",
        f"ALIYUN_COM_GPU_MEM_DEV={whole}",
        f"ALIYUN_COM_GPU_MEM_UNIT={unit}",
        "CGPU_DISABLE=true",
        "NVIDIA_VISIBLE_DEVICES=void",
        "ELASTICGPU_0_UUID=GPU-0,GPU-1",
        f"ELASTICGPU_0_MEMORY={8 * GI}",
        "ELASTICGPU_0_ENFORCED=no",
    ]
    assert {"/dev/nvidia0", "/dev/nvidia1"} < {one.path for one in edits.device_nodes}
    assert made.programs.calls == []


async def test_time_slice() -> None:
    """A class that names one sets it on each card that is used, and on no simulated one."""
    made = FakeNode.of([card(0), card(1, simulated=True)])
    made.programs.known["nvidia-smi"] = lambda argv, stdin, env: Finished(0, "")
    plugin = GPUShare().tuned({"timeSlice": "medium"})
    await plugin.prepare(device("c0", "c1"), made.host(GPUShare.name))
    assert [" ".join(argv) for argv, _ in made.programs.calls] == [
        "nvidia-smi compute-policy -i GPU-0 --set-timeslice 2"
    ]


async def test_time_slice_fails() -> None:
    """A card that cannot is refused in the program's own words."""
    made = FakeNode.of([card(0)])
    made.programs.known["nvidia-smi"] = lambda argv, stdin, env: Finished(3, "Not Supported\n")
    with pytest.raises(Refused, match=r"--set-timeslice 1: Not Supported$"):
        await (
            GPUShare().tuned({"timeSlice": "short"}).prepare(device("c0"), made.host(GPUShare.name))
        )


@pytest.mark.parametrize(
    ("written", "said"),
    [({"timeSlice": "7"}, "timeSlice"), ({"memoryUnit": "GB"}, "memoryUnit"), ({"x": "1"}, "x:")],
)
def test_bad_parameters(written: dict[str, str], said: str) -> None:
    """The field is named."""
    with pytest.raises(Refused, match=said):
        GPUShare().tuned(written)


def test_is_installed() -> None:
    """It is found under the name that classes write."""
    assert isinstance(discover()["elasticgpu.io/gpushare"], GPUShare)
