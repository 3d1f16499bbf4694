"""A device that grows while pods use it: judged, written down, given, told; after any crash too."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from elasticgpu.agent.ledger import Ledger
from elasticgpu.agent.resize import Resizer
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import find_condition
from elasticgpu.api.quantity import to_int
from elasticgpu.errors import ElasticGPUError, NotFound, Refused, Unavailable
from elasticgpu.provisioner import ContainerEdits, Host
from tests.agent.world import Agent, Died, Share, World

GI = 1 << 30


class Growing(Share):
    """A provisioner whose devices have a limit on the node, which can be raised."""

    name = "test.io/growing"
    grows = True

    def __init__(self, world: World, limits: dict[str, int]) -> None:
        super().__init__(world)
        self.limits = limits

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        edits = await super().prepare(device, host)
        self.limits[device.name] = device.memory_bytes // GI
        return edits

    async def resize(self, device: ElasticGPU, host: Host) -> None:
        assert host.variable("CORE") == "ELASTICGPU_0_CORE"
        self.world.fate(f"before plugin resize {device.name}")
        self.limits[device.name] = device.memory_bytes // GI
        self.world.fate(f"after plugin resize {device.name}")


class Home:
    """A node with a device of 4 GiB of a card of 24, and agents that are started there."""

    def __init__(self, root: Path) -> None:
        self.world = World(root)
        self.limits: dict[str, int] = {}
        self.claim = self.world.claim("one", self.world.device(driver=Growing.name), shared=True)
        self.use = self.world.use("pod", self.claim)

    async def start(self) -> tuple[Agent, Resizer]:
        """The agent's process."""
        agent = Agent(self.world)
        plugins = {**agent.node.provisioners, Growing.name: Growing(self.world, self.limits)}
        agent.node.provisioners = plugins
        await agent.adopter.compare()
        await agent.settler.round()
        return agent, Resizer(agent.node, lambda: [self.device])

    @property
    def device(self) -> ElasticGPU:
        """As it is."""
        return self.world.see()

    def grow(self, memory: str, name: str = "egpu-one") -> None:
        """The controller writes a larger device."""
        now = self.world.see(name)
        parts = [part.but(memory=memory) for part in now.spec.source.devices]
        self.world.api.set(now.but(spec=now.spec.but(source=now.spec.source.but(devices=parts))))

    @property
    def recorded(self) -> set[int]:
        """GiB of the device by the ledger's records on disk."""
        records = Ledger.load(self.world.ledger_file, self.world.boot).live()
        found = [r for r in records if r.device.name == "egpu-one"]
        return {r.device.memory_bytes // GI for r in found}

    @property
    def told(self) -> int | None:
        """GiB that the pods have, by the API server."""
        have = self.device.status.prepared_memory
        return None if have is None else to_int(have) // GI

    @property
    def refused(self) -> str:
        """Why it was not resized, by the API server."""
        found = find_condition(self.device.status.conditions, "Resized")
        return found.message if found else ""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def test_grows_and_goes(home: Home) -> None:
    """Pods have what the device has, once it is judged; the last takes all traces along."""
    agent, resizer = await home.start()
    await agent.prepare(home.use)
    assert (home.limits["egpu-one"], home.told, home.recorded) == (4, 4, {4})
    assert await resizer.round() == 0
    home.grow("20Gi")
    assert await resizer.round() == 0
    assert (home.limits["egpu-one"], home.told, home.recorded) == (20, 20, {20})
    writes = len(home.world.api.writes)
    assert await resizer.round() == 0
    assert len(home.world.api.writes) == writes
    await agent.unprepare(home.use)
    await agent.settler.round()
    assert home.told is None
    assert home.world.is_clean()


async def test_nobody_uses_it(home: Home) -> None:
    """Then there is nothing to resize: the next Prepare has the new size."""
    home.grow("20Gi")
    agent, resizer = await home.start()
    assert await resizer.round() == 0
    await agent.prepare(home.use)
    assert (home.limits["egpu-one"], home.told, home.recorded) == (20, 20, {20})


async def test_no_room_here(home: Home) -> None:
    """Whoever oversold the card: who is there keeps what it has, and the device says why; once the
    other is gone it gets the rest."""
    world = home.world
    other = world.claim("two", world.device("egpu-two", core=20, driver=Growing.name))
    second = world.use("second", other)
    agent, resizer = await home.start()
    await agent.prepare(home.use)
    await agent.prepare(second)
    home.grow("21Gi")
    assert await resizer.round() == 1
    assert (home.limits["egpu-one"], home.told, home.recorded) == (4, 4, {4})
    said = "node node-a has no room: card-0: 20Gi of 24Gi memory free, 21Gi wanted"
    assert home.refused == said
    writes = len(world.api.writes)
    assert await resizer.round() == 1
    assert len(world.api.writes) == writes
    await agent.unprepare(second)
    await agent.settler.round()
    world.api.remove(world.see("egpu-two"))
    assert await resizer.round() == 0
    assert (home.limits["egpu-one"], home.told, home.refused) == (21, 21, "")


async def test_what_grew_counts_for_others(home: Home) -> None:
    """From the moment the API server has it, also before it is resized here."""
    world = home.world
    agent, _ = await home.start()
    await agent.prepare(home.use)
    home.grow("20Gi")
    late = world.claim("late", world.device("egpu-late", core=20, driver=Growing.name))
    grown = world.see("egpu-late")
    parts = [part.but(memory="5Gi") for part in grown.spec.source.devices]
    world.api.set(grown.but(spec=grown.spec.but(source=grown.spec.source.but(devices=parts))))
    with pytest.raises(Refused, match="4Gi of 24Gi memory free, 5Gi wanted"):
        await agent.prepare(world.use("late", late))
    assert world.see("egpu-late").status.reason == "Overcommitted"


async def test_a_second_pod_comes_in_between(home: Home) -> None:
    """It shares what is there, and no more before that is judged."""
    agent, resizer = await home.start()
    await agent.prepare(home.use)
    home.grow("20Gi")
    second = home.world.use("second", home.claim)
    await agent.prepare(second)
    assert (home.limits["egpu-one"], home.told, home.recorded) == (4, 4, {4})
    assert await resizer.round() == 0
    assert (home.limits["egpu-one"], home.told, home.recorded) == (20, 20, {20})


@pytest.mark.parametrize("error", [Refused("broken"), Unavailable(0, "Down", "no answer")])
async def test_the_provisioner_fails(home: Home, error: ElasticGPUError) -> None:
    """Tried again; a refusal is said on the device."""
    agent, resizer = await home.start()
    await agent.prepare(home.use)
    home.grow("20Gi")
    home.world.fate = _once("before plugin resize egpu-one", error)
    assert await resizer.round() == 1
    assert (home.told, home.refused) == (4, "broken" if isinstance(error, Refused) else "")
    assert await resizer.round() == 0
    assert (home.limits["egpu-one"], home.told, home.refused) == (20, 20, "")


async def test_the_device_is_gone(home: Home) -> None:
    """Seen too late: nothing is left to do."""
    agent, resizer = await home.start()
    await agent.prepare(home.use)
    home.grow("20Gi")
    home.world.fate = _once("before get ElasticGPU egpu-one", NotFound(404, "NotFound", "gone"))
    assert await resizer.round() == 0


async def test_a_lost_ledger(home: Home) -> None:
    """What it does not know it does not touch, until it was compared with the API server."""
    agent, _ = await home.start()
    await agent.prepare(home.use)
    home.grow("20Gi")
    home.world.ledger_file.unlink()
    blind = Agent(home.world)
    resizer = Resizer(blind.node, lambda: [home.device])
    assert await resizer.round() == 1
    assert (home.told, home.limits["egpu-one"]) == (4, 4)
    _, resizer = await home.start()
    assert await resizer.round() == 0
    assert home.told == 20


async def test_a_crash_anywhere(tmp_path: Path) -> None:
    """Before and after every step: the next process ends where one without a crash does."""
    for at in count(1):
        root = tmp_path / str(at)
        root.mkdir()
        home = Home(root)
        agent, resizer = await home.start()
        await agent.prepare(home.use)
        home.grow("20Gi")
        points: list[str] = []
        home.world.fate = _dies(points, at)
        try:
            await resizer.round()
        except Died:
            home.world.fate = lambda _: None
            assert home.limits["egpu-one"] <= max(home.recorded)
            assert (home.told or 0) <= home.limits["egpu-one"]
            _, resizer = await home.start()
            await resizer.round()
        else:
            break
        assert (home.limits["egpu-one"], home.told, home.recorded) == (20, 20, {20})
    assert at > 6


def _once(point: str, error: Exception) -> Callable[[str], None]:
    left = [error]

    def fate(now: str) -> None:
        if now == point and left:
            raise left.pop()

    return fate


def _dies(points: list[str], at: int) -> Callable[[str], None]:
    def fate(now: str) -> None:
        points.append(now)
        if len(points) == at:
            raise Died

    return fate
