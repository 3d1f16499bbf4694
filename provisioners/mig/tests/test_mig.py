"""MIG on a node of made-up cards: an instance's life, whatever comes in between."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count

import pytest
from elasticgpu_mig import MIG

from elasticgpu.agent.fleet import Fleet, Row
from elasticgpu.api.elasticgpu import DeviceSource, ElasticGPUSpec
from elasticgpu.api.gpu import GPU
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.api.vocabulary import demand
from elasticgpu.errors import Refused, Retry
from elasticgpu.provisioner import (
    CardSlice,
    ContainerEdits,
    Demand,
    ElasticGPU,
    Slice,
    discover,
)
from elasticgpu.rules import mig
from elasticgpu.rules.fleet import NodeView
from elasticgpu.rules.ledger import Ledger
from elasticgpu.rules.placement import Wish, candidates
from elasticgpu.testing.host import FakeNode

NODE = "node-a"
PLUGIN = MIG()


def cards(*models: str, enabled: bool = False) -> list[GPU]:
    """Cards of these models, in MIG mode from the start or not."""
    rows = [Row(model=model, mig_enabled=enabled) for model in models]
    return Fleet(nodes={NODE: rows}).cards(NODE)


@dataclass
class Town:
    """A node with these cards, and what is asked of it."""

    cards: Sequence[GPU] = field(default_factory=partial(cards, "H100-80GB"))

    def __post_init__(self) -> None:
        self.node = FakeNode.of(self.cards, NODE)
        self.nvml = self.node.nvml
        self.card = self.cards[0]
        self.calls: list[str] = []
        self.nvml.fault = lambda call, _: self.calls.append(call)

    def device(
        self, profile: str = "1g.10gb", start: int = 0, card: GPU | None = None
    ) -> ElasticGPU:
        """A device of this instance."""
        gpu = card or self.card
        row = mig.find(gpu.status.mig, profile)
        assert row is not None
        return of(mig.part(gpu, row, start), f"egpu-{gpu.status.index}-{profile}-{start}")

    async def prepare(self, device: ElasticGPU) -> ContainerEdits:
        """What the plugin answers."""
        return await PLUGIN.prepare(device, self.node.host(MIG.name))

    async def unprepare(self, device: ElasticGPU) -> None:
        """Have the plugin undo it."""
        await PLUGIN.unprepare(device, self.node.host(MIG.name))

    async def there(self) -> list[tuple[int, int]]:
        """Profile and start of what is on the first card, by start."""
        found = await self.nvml.gpu_instances(self.card.name)
        return sorted((one.profile, one.start) for one in found)

    async def mode(self) -> tuple[str, str]:
        """The first card's, now and after a reset."""
        return await self.nvml.mig_mode(self.card.name)


def of(part: CardSlice, name: str = "egpu-1") -> ElasticGPU:
    """A device of this part."""
    source = DeviceSource(driver=MIG.name, devices=[part])
    return ElasticGPU(
        metadata=ObjectMeta(name=name), spec=ElasticGPUSpec(node_name=NODE, source=source)
    )


def uuid(edits: ContainerEdits) -> str:
    """The uuid that the container hears of."""
    (line,) = (line for line in edits.env if line.startswith("ELASTICGPU_0_UUID="))
    return line.partition("=")[2]


CHANGES = (
    "set_mig_mode",
    "create_gpu_instance_with_placement",
    "create_compute_instance",
    "destroy_compute_instance",
    "destroy_gpu_instance",
)


async def test_a_life() -> None:
    """Enable, GPU instance, compute instance, and back: in this order, and nothing is left."""
    town = Town()
    edits = await town.prepare(town.device("3g.40gb", 4))
    assert await town.there() == [(9, 4)]
    assert await town.mode() == ("Enabled", "Enabled")
    await town.unprepare(town.device("3g.40gb", 4))
    assert await town.there() == []
    assert await town.mode() == ("Disabled", "Disabled")
    assert [call for call in town.calls if call in CHANGES] == [*CHANGES, "set_mig_mode"]
    assert uuid(edits).startswith("MIG-")
    assert "NVIDIA_VISIBLE_DEVICES=void" in edits.env
    assert not any(line.startswith("CUDA_VISIBLE_DEVICES") for line in edits.env)


async def test_device_files() -> None:
    """The card's own, the control devices, and the two capabilities of the very instance."""
    town = Town(cards("H100-80GB", "H100-80GB"))
    await town.prepare(town.device("1g.10gb", 0))
    other = town.device("2g.20gb", 2, town.cards[1])
    edits = await town.prepare(other)
    paths = [node.path for node in edits.device_nodes]
    assert paths[:2] == ["/dev/nvidia1", "/dev/nvidiactl"]
    caps = [node for node in edits.device_nodes if "nvidia-cap" in node.path]
    assert [(node.path, node.minor) for node in caps] == [
        ("/dev/nvidia-caps/nvidia-cap138", 138),
        ("/dev/nvidia-caps/nvidia-cap139", 139),
    ]
    second = await town.prepare(town.device("1g.10gb", 1))
    assert {n.path for n in second.device_nodes if "-cap" in n.path}.isdisjoint(paths)


async def test_another_uuid_each_time() -> None:
    """An instance that is made anew has the id of an earlier one, and never its uuid."""
    town = Town()
    first = await town.prepare(town.device())
    assert await town.prepare(town.device()) == first
    await town.unprepare(town.device())
    assert uuid(await town.prepare(town.device())) != uuid(first)


async def test_the_last_one_turns_the_mode_off() -> None:
    """Not before; and what is gone already is undone."""
    town = Town()
    await town.prepare(town.device(start=0))
    await town.prepare(town.device(start=1))
    await town.unprepare(town.device(start=0))
    assert await town.mode() == ("Enabled", "Enabled")
    await town.unprepare(town.device(start=0))
    await town.unprepare(town.device(start=1))
    assert await town.mode() == ("Disabled", "Disabled")


@pytest.mark.parametrize("way", ["begin", "end"])
async def test_cut_short_anywhere(way: str) -> None:
    """The process dies before any call of the library: asked again, it comes to the same end; and
    a neighbour's instance is never touched."""
    for at in count():
        town = Town()
        await town.prepare(town.device("1g.10gb", 6))
        if way == "end":
            await town.prepare(town.device("2g.20gb", 4))
        steps = count()

        def die(call: str, gpu: str, at: int = at, steps: count[int] = steps) -> None:
            if next(steps) == at:
                raise asyncio.CancelledError

        town.nvml.fault = die
        ask = town.prepare if way == "begin" else town.unprepare
        try:
            await ask(town.device("2g.20gb", 4))
            break
        except asyncio.CancelledError:
            await ask(town.device("2g.20gb", 4))
        left = [(14, 4), (19, 6)] if way == "begin" else [(19, 6)]
        assert await town.there() == left
    assert at > 2


async def test_a_crash_leaves_a_gpu_instance_alone() -> None:
    """Without a compute instance it is completed, and undone as well."""
    town = Town()
    await town.nvml.set_mig_mode(town.card.name, "Enabled")
    made = await town.nvml.create_gpu_instance_with_placement(town.card.name, 9, 0)
    await town.prepare(town.device("3g.40gb", 0))
    assert await town.nvml.gpu_instances(town.card.name) == [made]
    assert len(await town.nvml.compute_instances(town.card.name, made.id)) == 1
    town = Town()
    await town.nvml.set_mig_mode(town.card.name, "Enabled")
    await town.nvml.create_gpu_instance_with_placement(town.card.name, 9, 0)
    await town.unprepare(town.device("3g.40gb", 0))
    assert await town.there() == []


async def test_a_stranger_is_named_and_left() -> None:
    """What somebody else made is in the way: it is said, never destroyed, and keeps the mode."""
    town = Town()
    await town.nvml.set_mig_mode(town.card.name, "Enabled")
    await town.nvml.create_gpu_instance_with_placement(town.card.name, 9, 4)
    with pytest.raises(Refused, match=r"1g.10gb at 5 overlaps 3g.40gb at 4 \(GPU instance 0\)"):
        await town.prepare(town.device("1g.10gb", 5))
    await town.prepare(town.device("1g.10gb", 0))
    await town.unprepare(town.device("1g.10gb", 0))
    assert await town.there() == [(9, 4)]
    assert await town.mode() == ("Enabled", "Enabled")


async def test_a_table_that_was_lost() -> None:
    """A card that does not tell its profiles any more keeps what it has until it does; what is
    no instance of its is undone all the same."""
    town = Town()
    device = town.device("3g.40gb", 4)
    await town.prepare(device)
    bare = town.card.but(status=town.card.status.but(mig=[]))
    town.node.cards = {bare.name: bare}
    with pytest.raises(Retry, match=r"does not know the profile of 3g\.40gb at 4 any more"):
        await town.unprepare(device)
    await town.unprepare(of(CardSlice(gpu=bare.name, mig_profile="3g.40gb", mig_start=0)))
    town.node.cards = {town.card.name: town.card}
    await town.unprepare(of(CardSlice(gpu=bare.name, mig_profile="9g.40gb", mig_start=4)))
    await town.unprepare(device)
    assert await town.there() == []


async def test_one_worker() -> None:
    """Many at once, on several cards: one change after the other, and each gets its own."""
    town = Town(cards("H100-80GB", "H200"))
    town.nvml.latency = 0.001
    wanted = [town.device("1g.10gb", start) for start in range(7)]
    wanted += [town.device("1g.18gb", start, town.cards[1]) for start in range(7)]
    edits = await asyncio.gather(*map(town.prepare, wanted))
    assert len({uuid(one) for one in edits}) == 14
    await asyncio.gather(*map(town.unprepare, wanted))
    for card in town.cards:
        assert await town.nvml.mig_mode(card.name) == ("Disabled", "Disabled")


async def test_in_use() -> None:
    """What computes on an instance holds it: undone later, and the answer says so."""
    town = Town()
    await town.prepare(town.device())
    town.nvml.clients[town.card.name] = [4711]
    with pytest.raises(Retry, match="in use"):
        await town.unprepare(town.device())
    town.nvml.clients.clear()
    await town.unprepare(town.device())
    assert await town.there() == []
    town.nvml.clients[town.card.name] = [4711]
    with pytest.raises(Retry, match="in use"):
        await town.prepare(town.device())


async def test_ampere_off() -> None:
    """A mode that needs a reset is not changed, and not made pending; it is said what to do."""
    town = Town(cards("A100-40GB"))
    with pytest.raises(Refused, match=r"needs a reset .* nvidia-smi -i 0 -mig 1, then .*-reset"):
        await town.prepare(town.device("1g.5gb"))
    assert await town.mode() == ("Disabled", "Disabled")
    with pytest.raises(Refused, match="pending until the card is reset"):
        await town.nvml.set_mig_mode(town.card.name, "Enabled")
    with pytest.raises(Refused, match="is pending until a reset"):
        await town.prepare(town.device("1g.5gb"))
    await town.unprepare(town.device("1g.5gb"))
    town.nvml.reset(town.card.name)
    await town.prepare(town.device("1g.5gb"))
    assert await town.there() == [(19, 0)]


async def test_ampere_on() -> None:
    """It stays in MIG mode when the last instance is gone, and over a reboot."""
    town = Town(cards("A30", enabled=True))
    await town.prepare(town.device("2g.12gb", 2))
    town.nvml.reload()
    assert await town.there() == []
    await town.prepare(town.device("2g.12gb", 2))
    await town.unprepare(town.device("2g.12gb", 2))
    assert await town.mode() == ("Enabled", "Enabled")


async def test_hopper_forgets() -> None:
    """After a reboot there is neither mode nor instance; both are made anew."""
    town = Town()
    first = await town.prepare(town.device())
    town.node.reboot()
    assert (await town.mode(), await town.there()) == (("Disabled", "Disabled"), [])
    await town.unprepare(town.device())
    assert uuid(await town.prepare(town.device())) != uuid(first)


async def test_what_is_no_instance() -> None:
    """A device that an admin wrote wrongly is refused in words, and undone without any."""
    town = Town()
    bare = of(CardSlice(gpu=town.card.name, core=10))
    odd = of(CardSlice(gpu=town.card.name, mig_profile="1g.5gb"))
    empty = bare.but(spec=bare.spec.but(source=DeviceSource(driver=MIG.name)))
    for device, said in (
        (bare, "with migProfile"),
        (empty, "one part"),
        (odd, "no profile 1g.5gb"),
    ):
        with pytest.raises(Refused, match=said):
            await town.prepare(device)
        await town.unprepare(device)
    start = of(CardSlice(gpu=town.card.name, mig_profile="2g.20gb", mig_start=1))
    with pytest.raises(Refused, match="starts at 0, 2, 4, not at 1"):
        await town.prepare(start)
    await town.unprepare(of(CardSlice(gpu="card-x", mig_profile="1g.10gb")))


def view(*models: str, wish: Demand, enabled: bool = False) -> NodeView:
    """What the plugin is shown of a node with these cards."""
    ledger = Ledger(cards(*models, enabled=enabled))
    return candidates(Wish(wish, mig=True), MIG.name, ledger.node(NODE))


PLACES = [
    ("by-profile", {"nvidia.com/mig-1g.10gb": 1}, ("H100-80GB",), ("1g.10gb", 6)),
    ("with-media", {"elasticgpu.io/mig-1g.10gb.me": 1}, ("H100-80GB",), ("1g.10gb+me", 6)),
    ("by-size", {"elasticgpu.io/gpu-memory": "30Gi"}, ("H100-80GB",), ("3g.40gb", 4)),
    ("another-card", {"elasticgpu.io/mig-1g.18gb": 1}, ("H100-80GB", "H200"), ("1g.18gb", 6)),
    ("no-card", {"elasticgpu.io/mig-1g.18gb": 1}, ("L4", "RTX-4090", "T4", "A30"), None),
    ("not-in-mode", {"elasticgpu.io/mig-1g.5gb": 1}, ("A100-40GB",), None),
]


@pytest.mark.parametrize(
    ("requests", "models", "found"), [pytest.param(*row, id=name) for name, *row in PLACES]
)
def test_place(
    requests: dict[str, int | str], models: tuple[str, ...], found: tuple[str, int] | None
) -> None:
    """An instance of the first card that may serve, or none."""
    want = demand(requests)
    place = PLUGIN.place(want, view(*models, wish=want))
    parts = [(p.mig_profile, p.mig_start) for p in (place or Slice(())).devices]
    assert parts == ([found] if found else [])


@pytest.mark.parametrize(
    ("want", "said"),
    [
        (Demand(gpus=1), "whole cards need a class of another"),
        (Demand(core=20, count=2), "one MIG instance of one card"),
        (Demand(), "how large a MIG instance"),
    ],
    ids=["whole-card", "two-cards", "no-size"],
)
def test_refuses_what_is_no_instance(want: Demand, said: str) -> None:
    """In words, whatever is free."""
    with pytest.raises(Refused, match=said):
        PLUGIN.place(want, view("H200", wish=want))


def test_is_installed() -> None:
    """It is found under the name that classes write, and says that it cuts by MIG."""
    found = discover()
    assert isinstance(found[MIG.name], MIG)
    assert [name for name, plugin in found.items() if plugin.mig] == [MIG.name]
