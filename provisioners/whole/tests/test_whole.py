"""Whole cards: the best joined ones, all of each, and their device files."""

from __future__ import annotations

import asyncio

import pytest
from elasticgpu_whole import Whole

from elasticgpu.api.gpu import GPU, GPUSpec, GPUStatus
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.api.vocabulary import demand
from elasticgpu.provisioner import CardView, Demand, ElasticGPU, NodeView, Refused, discover
from elasticgpu.testing.host import FakeNode

GI = 1 << 30


def card(n: int) -> GPU:
    """Card `n`; a higher one sits at a lower PCI bus."""
    status = GPUStatus(uuid=f"GPU-{n}", minor=n, memory="80Gi", pci_bus_id=f"0000:0{9 - n}:00.0")
    return GPU(metadata=ObjectMeta(name=f"c{n}"), spec=GPUSpec(node_name="node-a"), status=status)


def node(*cores: int) -> NodeView:
    """A node whose cards have so much core free."""
    views = (
        CardView(card(n), core, 80 * GI, "" if core == 100 else "x") for n, core in enumerate(cores)
    )
    return NodeView("node-a", tuple(views))


def test_untouched_cards_with_all_they_have() -> None:
    """A card of which anything is held is not whole any more."""
    place = Whole().place(demand({"elasticgpu.io/gpu": 2}), node(100, 99, 100))
    assert place is not None
    assert [(p.gpu, p.core, p.memory_bytes) for p in place.devices] == [
        ("c0", 100, 80 * GI),
        ("c2", 100, 80 * GI),
    ]
    assert Whole().place(Demand(gpus=3), node(100, 99, 100)) is None


def test_two_hundred_percent_are_two_cards() -> None:
    """The canonical name for core, above one card, means whole ones."""
    place = Whole().place(demand({"elasticgpu.io/gpu-core": 200}), node(100, 100))
    assert place is not None
    assert len(place.devices) == 2


@pytest.mark.parametrize(
    "want",
    [Demand(core=50), Demand(memory=GI), Demand(mig="1g.5gb"), Demand(tflops=5), Demand()],
    ids=["core", "memory", "mig", "tflops", "no-size"],
)
def test_refuses_shares(want: Demand) -> None:
    """What is no whole card is refused in words, whatever is free."""
    with pytest.raises(Refused, match=r"gives whole cards: ask for elasticgpu.io/gpu"):
        Whole().place(want, node(100))


def device() -> ElasticGPU:
    """A device of two whole cards."""
    parts = [{"gpu": name, "core": 100, "memory": "80Gi"} for name in ("c0", "c1")]
    source = {"driver": Whole.name, "devices": parts}
    spec = {"nodeName": "node-a", "source": source}
    return ElasticGPU.model_validate({"metadata": {"name": "egpu-1"}, "spec": spec})


def test_prepare() -> None:
    """The container gets each card's file and the shared ones once; uuids in the order of CUDA."""
    host = FakeNode.of([card(0), card(1)]).host(Whole.name)
    edits = asyncio.run(Whole().prepare(device(), host))
    assert edits.env == ["ELASTICGPU_0_UUID=GPU-1,GPU-0", "NVIDIA_VISIBLE_DEVICES=void"]
    assert [node.path for node in edits.device_nodes] == [
        "/dev/nvidia1",
        "/dev/nvidiactl",
        "/dev/nvidia-uvm",
        "/dev/nvidia-uvm-tools",
        "/dev/nvidia0",
    ]
    assert [(node.major, node.minor) for node in edits.device_nodes][:2] == [(195, 1), (195, 255)]
    assert asyncio.run(Whole().prepare(device(), host)) == edits


def test_is_installed() -> None:
    """It is found under the name that classes write."""
    assert isinstance(discover()["elasticgpu.io/whole"], Whole)
