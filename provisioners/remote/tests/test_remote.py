"""A remote pool: which cards a class names, what is booked of them, and what the client reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from elasticgpu_remote import Remote

from elasticgpu.api.elasticgpu import DeviceSource, ElasticGPUSpec
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.provisioner import (
    CardSlice,
    ContainerEdits,
    Demand,
    ElasticGPU,
    Mount,
    Refused,
    discover,
)
from elasticgpu.rules.ledger import Ledger
from elasticgpu.testing.host import FakeNode

GI = 1 << 30


def pool(servers: str, **more: str) -> Remote:
    """A class of these servers, with 16 GiB a card."""
    return Remote().tuned({"servers": servers, "memory": "16Gi", **more})


SERVERS: dict[str, tuple[str, dict[str, str], list[str]]] = {
    "one": ("gpu-1", {}, ["gpu-1:0"]),
    "several": ("gpu-1:0, gpu-1:2,10.0.0.7", {}, ["gpu-1:0", "gpu-1:2", "10.0.0.7:0"]),
    "each-once": ("gpu-1:1,GPU-1@8308:01", {}, ["gpu-1:1"]),
    "its-own-port": ("gpu-1@9000:1", {}, ["gpu-1@9000:1"]),
    "a-port-is-a-number": ("gpu-1@08308,gpu-1@09000:1", {}, ["gpu-1:0", "gpu-1@9000:1"]),
    "with-the-dot-of-the-root": ("gpu-1.example.,gpu-1.example", {}, ["gpu-1.example:0"]),
    "so-many-of-each": ("a,b:1", {"count": "2"}, ["a:0", "a:1", "b:1"]),
}


@pytest.mark.parametrize("name", SERVERS)
def test_pool(name: str) -> None:
    """Each card by one name, however it is written: two classes count the same card together."""
    servers, more, cards = SERVERS[name]
    found = pool(servers, **more).pool()
    assert [card.name for card in found] == cards
    assert {card.memory for card in found} == {16 * GI}


def test_memory_in_the_unit_of_all() -> None:
    """A number below 1Mi is MiB, as everywhere."""
    (card,) = pool("a", memory="16000").pool()
    assert card.memory == 16000 << 20


BAD: dict[str, tuple[dict[str, str], str]] = {
    "no-server": ({"memory": "16Gi"}, "servers: name at least one"),
    "no-memory": ({"servers": "a"}, "memory: say how much each card has"),
    "memory-of-nothing": ({"servers": "a", "memory": "0"}, "memory: say how much"),
    "no-quantity": ({"servers": "a", "memory": "much"}, "much"),
    "no-server-at-all": ({"servers": "a b", "memory": "1Gi"}, "'a b' is not <host>"),
    "port-in-the-wrong-place": ({"servers": "a:8308:0", "memory": "1Gi"}, "is not <host>"),
    "no-port": ({"servers": "a@0", "memory": "1Gi"}, "'a@0' names no port"),
    "no-such-port": ({"servers": "a@65536", "memory": "1Gi"}, "names no port: write 1 to 65535"),
    "digits-of-elsewhere": ({"servers": "a:٣", "memory": "1Gi"}, "is not <host>"),
    "an-empty-label": ({"servers": "a..b", "memory": "1Gi"}, "is not <host>"),
    "a-name-longer-than-objects": ({"servers": "a" * 300, "memory": "1Gi"}, "is not <host>"),
    "a-card-beyond-all": ({"servers": "a:1000", "memory": "1Gi"}, "is not <host>"),
    "the-root-over-the-containers": (
        {"servers": "a", "memory": "1Gi", "library": "/"},
        "library: String should match",
    ),
    "a-way-up": (
        {"servers": "a", "memory": "1Gi", "library": "/opt/../etc"},
        "library: String should match",
    ),
    "two-libraries": (
        {"servers": "a", "memory": "1Gi", "library": "/opt/a:/opt/b"},
        "library: String should match",
    ),
    "too-many": (
        {"servers": ",".join(f"a{n}" for n in range(17)), "count": "16", "memory": "1Gi"},
        "272 cards, at most 256",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_parameters(name: str) -> None:
    """What is wrong is said, with the name of the field."""
    written, said = BAD[name]
    with pytest.raises(Refused, match=said):
        Remote().tuned(written)


def device(*cards: str, core: int = 100) -> ElasticGPU:
    """A device of these cards of the pool."""
    parts = [CardSlice(gpu=card, core=core, memory="16Gi") for card in cards]
    source = DeviceSource(driver=Remote.name, devices=parts)
    return ElasticGPU(metadata=ObjectMeta(name="egpu-1"), spec=ElasticGPUSpec(source=source))


def test_place() -> None:
    """Whole cards that nobody has any of; shares of the others too."""
    plugin = pool("a,b")
    held = device("a:0", core=60).with_status(phase="Bound")
    view = Ledger((), [held]).pool(plugin.pool())
    whole = plugin.place(Demand(gpus=1), view)
    assert whole is not None
    assert [part.gpu for part in whole.devices] == ["b:0"]
    share = plugin.place(Demand(core=40), view)
    assert share is not None
    assert [part.gpu for part in share.devices] == ["a:0"]
    assert plugin.place(Demand(gpus=2), view) is None


@pytest.mark.parametrize(
    ("plugin", "said"), [(pool("a"), "whole cards, or books shares"), (Remote(), "no servers")]
)
def test_refused(plugin: Remote, said: str) -> None:
    """What it never serves, and a class without servers, in words."""
    with pytest.raises(Refused, match=said):
        plugin.place(Demand(mig="1g.5gb"), Ledger().pool(plugin.pool()))


async def test_prepare() -> None:
    """Where the client finds the cards; the image brings the client."""
    edits = await pool("a").prepare(device("a:0", "b@9000:1"), FakeNode.of([]).host(Remote.name))
    assert edits == ContainerEdits(
        env=[
            "RCUDA_DEVICE_COUNT=2",
            "RCUDA_DEVICE_0=a:0",
            "RCUDA_DEVICE_1=b@9000:1",
            "ELASTICGPU_0_CORE=200",
            f"ELASTICGPU_0_MEMORY={32 * GI}",
            "ELASTICGPU_0_ENFORCED=no",
            "NVIDIA_VISIBLE_DEVICES=void",
        ]
    )


async def test_prepare_with_the_nodes_client() -> None:
    """A class that names the client's directory has it mounted, where it is there."""
    node = FakeNode.of([])
    plugin = pool("a", library="/opt/rcuda/lib")
    with pytest.raises(Refused, match=r"node-a has no rCUDA client: .* Install it there"):
        await plugin.prepare(device("a:0"), node.host(Remote.name))
    node.files.directory(Path("/opt/rcuda/lib"))
    edits = await plugin.prepare(device("a:0"), node.host(Remote.name))
    where = "/opt/rcuda/lib"
    assert edits.mounts == [Mount(host_path=where, container_path=where, options=["ro", "rbind"])]
    assert edits.env[-1] == "LD_LIBRARY_PATH=/opt/rcuda/lib"


async def test_a_device_without_cards() -> None:
    """What an admin made of nothing is refused."""
    with pytest.raises(Refused, match="egpu-1 names no card of a server"):
        await pool("a").prepare(device(), FakeNode.of([]).host(Remote.name))


def test_is_installed() -> None:
    """It is found under the name that classes write."""
    assert isinstance(discover()["elasticgpu.io/remote"], Remote)
