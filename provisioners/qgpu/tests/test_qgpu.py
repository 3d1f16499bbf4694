"""qGPU: a share of the first card that has it, and the environment its container gets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from elasticgpu_qgpu import QGPU

from elasticgpu.api.elasticgpu import DeviceSource, ElasticGPUSpec
from elasticgpu.api.gpu import GPU, GPUSpec, GPUStatus
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.api.vocabulary import demand
from elasticgpu.provisioner import (
    CardSlice,
    CardView,
    Demand,
    ElasticGPU,
    Finished,
    Held,
    NodeView,
    Refused,
    Slice,
    discover,
)
from elasticgpu.testing.host import FakeNode

GI = 1 << 30
ID = "e518e473"
"""The first 8 digits of the SHA-256 of `egpu-1`, as `sha256sum` says."""
LINK, CONTROL = Path(f"/dev/elastic-gpu-{ID}-0"), Path(f"/dev/elastic-gpuctl-{ID}-0")
MODULE = Path("/proc/qgpu/version")


def card(name: str, *, simulated: bool = False) -> GPU:
    """A card of 80 GiB, its minor number the last digit of its name."""
    return GPU(
        metadata=ObjectMeta(name=name),
        spec=GPUSpec(node_name="node-a"),
        status=GPUStatus(
            uuid=f"GPU-{name}", memory="80Gi", minor=int(name[-1]), simulated=simulated
        ),
    )


def node(*rooms: tuple[int, int]) -> NodeView:
    """A node whose cards have so much core (percent) and memory (GiB) free."""
    views = [CardView(card(f"c{n}"), core, gib * GI) for n, (core, gib) in enumerate(rooms)]
    return NodeView("node-a", tuple(views))


def cut(name: str, core: int, memory: int) -> Slice:
    """A share of the card of this name."""
    return Slice((CardSlice(gpu=name, uuid=f"GPU-{name}", core=core, memory=memory),))


WANT = Demand(core=10, memory=4 * GI)
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
    ("a-third-is-not-less", Demand(memory_percentage=33), node((0, 80)), cut("c0", 0, 27 * GI)),
    ("steps-of-5-percent-and-1-GiB", Demand(core=6, memory=1), node((100, 80)), cut("c0", 10, GI)),
    ("no-room-for-the-whole-step", Demand(core=6), node((9, 80)), None),
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


def full(shares: int) -> NodeView:
    """A node of one card, of which devices have so many shares, and of which much is free."""
    held = tuple(Held(f"egpu-{n}", QGPU.name, 5, GI) for n in range(shares))
    (view,) = node((20, 64)).cards
    return NodeView("node-a", (replace(view, held=held),))


def test_sixteen_shares_of_a_card() -> None:
    """The driver has no more, whatever is free."""
    assert QGPU().place(WANT, full(15)) == cut("c0", 10, 4 * GI)
    assert QGPU().place(WANT, full(16)) is None


def test_units_of_the_class() -> None:
    """Another release of the driver may cut finer: that is its class's to say."""
    fine = QGPU().tuned({"coreStep": "1", "sharesPerCard": "20"})
    assert fine.place(Demand(core=6, memory=GI), full(16)) == cut("c0", 6, GI)


@pytest.mark.parametrize(
    "written",
    [{"coreStep": "0"}, {"coreStep": "101"}, {"memoryStep": "0"}, {"sharesPerCard": "-1"}],
    ids=str,
)
def test_units_that_are_none(written: dict[str, str]) -> None:
    """The class hears it, not each of its claims."""
    (name,) = written
    with pytest.raises(Refused, match=f"{name}: Input should be"):
        QGPU().tuned(written)


@pytest.mark.parametrize(
    "want",
    [Demand(mig="1g.18gb"), Demand(tflops=100), Demand(core=10, count=2), Demand()],
    ids=["mig", "tflops", "two-cards", "no-size"],
)
def test_refuses_what_it_cannot_cut(want: Demand) -> None:
    """What is neither a share of one card nor whole cards is refused in words, whatever is free."""
    with pytest.raises(Refused, match="at most 100% core, and memory"):
        QGPU().place(want, node((100, 80)))


PODS = list(yaml.safe_load_all(Path(__file__).with_name("pods.yaml").read_text()))


@pytest.mark.parametrize("pod", PODS, ids=lambda pod: str(pod["metadata"]["name"]))
def test_its_own_names(pod: dict[str, Any]) -> None:
    """Tencent's names lead to the share they mean there: percent and GiB, or N * 100 to N cards."""
    want = demand(pod["spec"]["limits"])
    found = QGPU().place(want, node((100, 80), (100, 80)))
    assert found is not None
    means = [[part.core, part.memory_bytes // GI] for part in found.devices]
    assert means == pod["spec"]["means"]


def machine(*, simulated: bool = False) -> FakeNode:
    """A node with the card c3, which runs qGPU."""
    made = FakeNode.of([card("c3", simulated=simulated)])
    made.files.directory(MODULE.parent)
    made.files.write(MODULE, b"3.0.5\n")
    made.programs.known["ln"] = lambda argv, stdin, env: Finished(0, "")
    return made


def device(gpu: str) -> ElasticGPU:
    """A device of 10% and 4 GiB of this card."""
    parts = list(cut(gpu, 10, 4 * GI).devices)
    return ElasticGPU(
        metadata=ObjectMeta(name="egpu-1"),
        spec=ElasticGPUSpec(source=DeviceSource(driver=QGPU.name, devices=parts)),
    )


SHARE = ["ELASTICGPU_0_UUID=GPU-c3", "ELASTICGPU_0_CORE=10", f"ELASTICGPU_0_MEMORY={4 * GI}"]


async def test_prepare() -> None:
    """The names elastic-gpu-agent gives card and control device, and its variables; twice the
    same. Afterwards the names are gone, twice as well."""
    made = machine()
    host = made.host(QGPU.name)
    edits = await QGPU().prepare(device("c3"), host)
    assert edits.env == [*SHARE, f"GPU={ID}-0", "NVIDIA_VISIBLE_DEVICES=none"]
    assert next((n.path, n.minor) for n in edits.device_nodes) == ("/dev/nvidia3", 3)
    assert [argv for argv, _ in made.programs.calls] == [
        ("ln", "-sfn", "/dev/nvidia3", str(LINK)),
        ("ln", "-sfn", "/dev/nvidiactl", str(CONTROL)),
    ]
    assert await QGPU().prepare(device("c3"), host) == edits
    for link in (LINK, CONTROL):
        made.files.content[link] = b""
    for _ in range(2):
        await QGPU().unprepare(device("c3"), host)
        assert made.files.left() == [MODULE]


async def test_a_node_without_qgpu() -> None:
    """It is refused in words that say what to install; nothing is left."""
    made = machine()
    made.files.remove(MODULE)
    with pytest.raises(Refused, match=r"node-a does not run qGPU: .* Install the qGPU add-on"):
        await QGPU().prepare(device("c3"), made.host(QGPU.name))
    assert made.programs.calls == []


async def test_names_that_cannot_be_given() -> None:
    """What `ln` says is what is refused."""
    made = machine()
    made.programs.known["ln"] = lambda argv, stdin, env: Finished(1, "Read-only file system\n")
    with pytest.raises(Refused, match=r"cannot link .*: Read-only file system$"):
        await QGPU().prepare(device("c3"), made.host(QGPU.name))


async def test_a_simulated_card() -> None:
    """Nothing is checked or linked, and the container hears that nobody enforces anything."""
    made = machine(simulated=True)
    made.files.remove(MODULE)
    edits = await QGPU().prepare(device("c3"), made.host(QGPU.name))
    assert edits.env == [*SHARE, "ELASTICGPU_0_ENFORCED=no, simulated card"]
    assert edits.device_nodes == []
    assert made.programs.calls == []


async def test_prepare_of_a_card_that_is_elsewhere() -> None:
    """A card the node does not have is refused by the node."""
    with pytest.raises(Refused, match="node-a has no card c9"):
        await QGPU().prepare(device("c9"), machine().host(QGPU.name))


def test_is_installed() -> None:
    """It is found under the name that classes write."""
    assert isinstance(discover()["elasticgpu.io/qgpu"], QGPU)
