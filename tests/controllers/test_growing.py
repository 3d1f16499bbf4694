"""A bound claim asks for more memory: its device is written larger; no card is ever oversold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from elasticgpu.api.elasticgpu import CardSlice, DeviceSource, ElasticGPU, ElasticGPUSpec
from elasticgpu.api.gpu import GPU, GPUSpec, GPUStatus
from elasticgpu.api.meta import KubeObject, ObjectMeta, find_condition
from elasticgpu.api.vocabulary import CORE, MEMORY
from elasticgpu.controllers import binder
from elasticgpu.controllers.world import World
from elasticgpu.errors import ApiError, Conflict, Forbidden, Unavailable

from .fates import strikes
from .plugins import Plain
from .server import Crash, Fate, Json, MemoryClient, Server
from .stage import Stage

GI = 1 << 30
CARD = 800
WRITE = "replace elasticgpus egpu-"


class Growing(Plain):
    """Its devices can grow while they are in use."""

    name = "example.com/growing"
    grows = True


class Grounds:
    """A stage on which no write may ever oversell a card."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.strike: Fate = lambda call, body: None
        stage.add_class(Growing())
        stage.server.fate = self._fate

    def _fate(self, call: str, body: Json | None) -> None:
        held: dict[str, int] = {}
        for device in self.stage.devices():
            for part in device.spec.source.devices:
                held[part.gpu] = held.get(part.gpu, 0) + part.memory_bytes
        assert all(size <= CARD * GI for size in held.values()), held
        self.strike(call, body)

    async def start(self) -> None:
        """The controllers."""
        await self.stage.start(Growing())

    async def bind(self, *names: str) -> None:
        """Claims of 10% and 10Gi, bound."""
        for name in names:
            self.stage.ask(name, of="growing")
            await self.stage.until(lambda name=name: self.stage.bound(name))  # type: ignore[misc]

    def want(self, memory: str, name: str = "train", core: int = 10) -> None:
        """The claim asks for that much from now on."""
        claim = self.stage.claim(name)
        assert claim is not None
        asked = claim.spec.resources.but(requests={CORE: core, MEMORY: memory})
        self.stage.server.put(claim.but(spec=claim.spec.but(resources=asked)))

    def device(self, name: str = "train") -> ElasticGPU:
        """The claim's device."""
        claim = self.stage.claim(name)
        assert claim is not None
        found = self.stage.server.see(ElasticGPU, claim.spec.elastic_gpu_name)
        assert found is not None
        return found

    def has(self, name: str = "train") -> tuple[object, int, object]:
        """What the device's capacity, its parts in GiB and the claim's capacity say."""
        device, claim = self.device(name), self.stage.claim(name)
        assert claim is not None
        capacity = device.spec.capacity.get(MEMORY)
        return capacity, device.memory_bytes // GI, claim.status.capacity.get(MEMORY)

    def says(self, name: str = "train") -> tuple[str, str]:
        """Reason and message of the claim's condition Resized."""
        claim = self.stage.claim(name)
        found = find_condition(claim.status.conditions, "Resized") if claim else None
        return (found.reason, found.message) if found else ("", "")

    async def said(self) -> tuple[str, str]:
        """The same, once there is one."""
        await self.stage.until(lambda: self.says()[0])
        return self.says()


@pytest.fixture
async def grounds(hasty: None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Grounds]:
    monkeypatch.setattr(binder, "PATIENCE", 0.05)
    one = Grounds(Stage())
    yield one
    await one.stage.end()


async def test_grows(grounds: Grounds) -> None:
    """One write of the device, then the claim says what it has; and that is all."""
    stage = grounds.stage
    await grounds.start()
    await grounds.bind("train")
    before = len(stage.server.writes)
    grounds.want("12Gi")
    await stage.until(lambda: grounds.has() == ("12Gi", 12, "12Gi"))
    await stage.still(lambda: grounds.says() == ("", ""))
    mine = [w.split()[1] for w in stage.server.writes[before:] if "elasticgpu" in w]
    assert mine == ["elasticgpus", "elasticgpuclaims/status"]
    assert stage.events() == []


async def test_core_does_not(grounds: Grounds) -> None:
    """Not even its memory, if that is not enough; said with what to do."""
    await grounds.start()
    await grounds.bind("train")
    grounds.want("12Gi", core=20)
    reason, message = await grounds.said()
    assert reason == "DeviceTooSmall"
    assert "has 10% core, not 20%: a bound claim keeps its device, but for its memory" in message
    assert grounds.has() == ("10Gi", 10, "10Gi")
    await grounds.stage.told("DeviceTooSmall")


async def test_waits_for_room(grounds: Grounds) -> None:
    """It says what is missing, and has it once another has gone."""
    stage = grounds.stage
    await grounds.start()
    await grounds.bind("train", "other")
    assert grounds.device().spec.node_name == grounds.device("other").spec.node_name
    grounds.want("795Gi")
    reason, message = await grounds.said()
    assert (reason, grounds.has()[1]) == ("NoRoom", 10)
    assert message.endswith("790Gi of 800Gi memory free, 795Gi wanted")
    stage.delete("other")
    await stage.until(lambda: grounds.has() == ("795Gi", 795, "795Gi"))
    await stage.until(lambda: grounds.says() == ("", ""))


async def test_two_want_the_same_room(grounds: Grounds) -> None:
    """One has it, the other says why not."""
    stage = grounds.stage
    await grounds.start()
    await grounds.bind("train", "other")
    for name in ("train", "other"):
        grounds.want("500Gi", name)
    await stage.until(lambda: {grounds.says(n)[0] for n in ("train", "other")} == {"", "NoRoom"})
    assert sorted(grounds.has(name)[1] for name in ("train", "other")) == [10, 500]


async def test_until_its_node_has_done_it(grounds: Grounds) -> None:
    """The pods that use it have the old size until the node says otherwise."""
    stage = grounds.stage
    await grounds.start()
    await grounds.bind("train")
    used = grounds.device().with_status(prepared_for=["pod"], prepared_memory="10Gi")
    stage.server.put(used, "status")
    grounds.want("12Gi")
    said = "has 12Gi memory, the pods that use it have 10Gi of it"
    await stage.until(lambda: said in grounds.says()[1])
    assert grounds.says()[0] == "Resizing"
    stage.server.put(grounds.device().with_status(prepared_memory="12Gi"), "status")
    await stage.until(lambda: grounds.says() == ("", ""))
    assert grounds.has() == ("12Gi", 12, "12Gi")


LOST = Unavailable(0, "NoAnswer", "the answer was lost")
CONFLICT = Conflict(409, "Conflict", "somebody was faster")
FORBIDDEN = Forbidden(403, "Forbidden", "not now")


@pytest.mark.parametrize(
    ("call", "errors"),
    [
        ("before", [LOST, LOST]),
        ("after", [LOST]),
        ("before", [CONFLICT, CONFLICT]),
        ("before", [FORBIDDEN]),
    ],
    ids=["unsent", "lost", "conflict", "forbidden"],
)
async def test_a_write_that_fails(grounds: Grounds, call: str, errors: list[ApiError]) -> None:
    """It is written in the end, once."""
    await grounds.start()
    await grounds.bind("train")
    grounds.strike = strikes(f"{call} {WRITE}", *errors)
    grounds.want("12Gi")
    await grounds.stage.until(lambda: grounds.has() == ("12Gi", 12, "12Gi"))


async def test_nobody_gets_the_room_of_a_growth_nobody_knows_of(grounds: Grounds) -> None:
    """Its answer was lost, so it counts, though the cache shows room."""
    stage = grounds.stage
    await grounds.start()
    await grounds.bind("train")
    home = grounds.device().spec.node_name
    for card in stage.server.all(GPU):
        if card.spec.node_name != home:
            stage.server.put(card.but(spec=card.spec.but(unschedulable=True)))
    grounds.strike = strikes(f"before {WRITE}", *[LOST] * 1000)
    grounds.want("795Gi")
    await asyncio.sleep(0.1)
    stage.ask("late", of="growing")
    await stage.until(lambda: "5Gi of 800Gi memory free" in stage.says("NoCapacity", "late"))
    await stage.still(lambda: not stage.bound("late"))
    grounds.strike = lambda call, body: None
    await stage.until(lambda: grounds.has() == ("795Gi", 795, "795Gi"))


async def test_a_refused_growth_holds_nothing(grounds: Grounds) -> None:
    """For certain it is not there: others may have the room."""
    await grounds.start()
    await grounds.bind("train")
    grounds.strike = strikes(f"before {WRITE}", *[FORBIDDEN] * 1000)
    grounds.want("795Gi")
    await asyncio.sleep(0.1)
    await grounds.bind("late")
    assert grounds.has()[1] == 10


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("what", ["elasticgpus egpu-", "elasticgpuclaims/status train"])
async def test_a_crash(grounds: Grounds, when: str, what: str) -> None:
    """Before or after either write: the next process ends where one without a crash does."""
    stage = grounds.stage
    await grounds.start()
    await grounds.bind("train")
    crashed = asyncio.Event()

    def strike(call: str, body: Json | None) -> None:
        if call.startswith(f"{when} replace {what}") and not crashed.is_set():
            crashed.set()
            raise Crash

    grounds.strike = strike
    grounds.want("12Gi")
    await asyncio.wait_for(crashed.wait(), 30)
    await stage.kill()
    await grounds.start()
    await stage.until(lambda: grounds.has() == ("12Gi", 12, "12Gi"))


async def test_a_list_that_knows_no_more_frees_nothing() -> None:
    """Only another version of the device tells what became of a growth without an answer."""
    server = Server()
    server.fate = strikes(f"before {WRITE}", LOST)
    world = World(MemoryClient(server), {})
    status = GPUStatus(memory="80Gi", health="Healthy")
    spec = GPUSpec(node_name="node-a")
    world.gpus.replace(
        [numbered(GPU(metadata=ObjectMeta(name="c"), spec=spec, status=status), 1)], 1
    )
    device = of_size("10Gi")
    world.devices.replace([numbered(device, 2)], 2)
    larger = of_size("70Gi").with_metadata(resource_version="2")
    with pytest.raises(Unavailable):
        await world.grow(larger)
    free = [free_of(world)]
    world.devices.replace([numbered(device, 2)], 3)
    free.append(free_of(world))
    world.devices.put(numbered(device, 4))
    free.append(free_of(world))
    assert free == [10, 10, 70]


def of_size(memory: str) -> ElasticGPU:
    """A device of that much of the card c."""
    parts = [CardSlice(gpu="c", memory=memory)]
    spec = ElasticGPUSpec(node_name="node-a", source=DeviceSource(driver="d", devices=parts))
    meta = ObjectMeta(name="egpu-one", uid="one")
    return ElasticGPU(metadata=meta, spec=spec).with_status(phase="Bound")


def numbered(obj: KubeObject, version: int) -> Json:
    """The object as a server sends it."""
    return obj.with_metadata(resource_version=str(version)).wire()


def free_of(world: World) -> int:
    """GiB that are free of the card c."""
    card = world.ledger.card("c")
    assert card is not None
    return card.memory_free // GI
