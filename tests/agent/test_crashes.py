"""The process dies, or an answer is lost, at every single step: nothing leaks, nothing doubles."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from elasticgpu.api.names import NODE_FINALIZER
from elasticgpu.errors import ElasticGPUError, Unavailable
from tests.agent.world import Agent, Died, Use, World

Life = Callable[["Kubelet"], Awaitable[None]]


class Kubelet:
    """Calls until it is answered, as the kubelet does, over the deaths of the agent."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.agent: Agent | None = None
        self.deaths = 0

    async def until_done(self, call: Callable[[Agent], Awaitable[object]]) -> None:
        """Call; a dead agent is started anew, an error is tried again."""
        for _ in range(20):
            try:
                self.agent = self.agent or await self.world.start()
                await call(self.agent)
                return
            except Died:
                self.deaths += 1
                self.agent = None
            except ElasticGPUError:
                self.deaths += 1
        raise AssertionError("never answered")

    async def prepare(self, use: Use) -> None:
        await self.until_done(lambda agent: agent.prepare(use))

    async def unprepare(self, use: Use) -> None:
        await self.until_done(lambda agent: agent.unprepare(use))

    async def settle(self) -> None:
        """Until nothing is left to be told to the API server."""

        async def settled(agent: Agent) -> None:
            if await agent.settler.round():
                raise Unavailable(0, "NoAnswer", "not yet")

        await self.until_done(settled)

    async def try_to_prepare(self, use: Use) -> None:
        """One Prepare, whatever comes of it: then the pod is deleted."""
        try:
            self.agent = self.agent or await self.world.start()
            await self.agent.prepare(use)
        except Died:
            self.deaths += 1
            self.agent = None
        except ElasticGPUError:
            self.deaths += 1


async def served(kubelet: Kubelet) -> None:
    """A pod comes, runs and goes."""
    world = kubelet.world
    use = world.use("pod", world.claim("want", world.device()))
    await kubelet.prepare(use)
    assert world.see().status.prepared_for == [use.pod.uid]
    assert world.see().metadata.finalizers == [NODE_FINALIZER]
    assert list(world.made) == ["egpu-one"]
    await kubelet.unprepare(use)
    await kubelet.settle()


async def given_up(kubelet: Kubelet) -> None:
    """A pod is deleted before its Prepare was ever answered."""
    world = kubelet.world
    use = world.use("pod", world.claim("want", world.device()))
    await kubelet.try_to_prepare(use)
    world.api.remove(use.pod)
    await kubelet.unprepare(use)
    await kubelet.settle()


async def shared(kubelet: Kubelet) -> None:
    """Two pods share a device; the first one goes, then the second."""
    world = kubelet.world
    claim = world.claim("both", world.device(), shared=True)
    one, two = world.use("one", claim), world.use("two", claim)
    await kubelet.prepare(one)
    await kubelet.prepare(two)
    await kubelet.unprepare(one)
    await kubelet.settle()
    assert list(world.made) == ["egpu-one"]
    assert world.see().status.prepared_for == [two.pod.uid]
    await kubelet.unprepare(two)
    await kubelet.settle()


async def handed_on(kubelet: Kubelet) -> None:
    """The claim is taken away between reading and writing: withdrawn."""
    world = kubelet.world
    claim = world.claim("want", world.device())
    use = world.use("pod", claim)
    through, taken = world.fate, False

    def take(point: str) -> None:
        nonlocal taken
        if point == "after replace ElasticGPU/status egpu-one" and not taken:
            taken = True
            world.hand(claim)
        through(point)

    world.fate = take
    await kubelet.try_to_prepare(use)
    await kubelet.unprepare(use)
    await kubelet.settle()


LIVES: dict[str, Life] = {f.__name__: f for f in (served, given_up, shared, handed_on)}


async def live(life: Life, root: Path, fate: Callable[[str], None]) -> tuple[World, Kubelet]:
    """Live a life under a fate; the world it leaves."""
    world = World(root)
    world.fate = fate
    kubelet = Kubelet(world)
    await life(kubelet)
    return world, kubelet


def points(life: Life) -> list[str]:
    """Every point of an undisturbed life where something has an effect."""
    seen: list[str] = []
    with TemporaryDirectory() as root:
        asyncio.run(live(life, Path(root), seen.append))
    return seen


def cases() -> list[tuple[str, int, str]]:
    return [
        (name, n, point) for name, life in LIVES.items() for n, point in enumerate(points(life))
    ]


CASES = [pytest.param(name, n, id=f"{name}-{n}-{point}") for name, n, point in cases()]


def nth(n: int, failure: BaseException, only: str = "") -> Callable[[str], None]:
    """A fate that strikes once, at the n-th point."""
    seen = 0

    def fate(point: str) -> None:
        nonlocal seen
        seen += 1
        if seen == n + 1 and only in point:
            raise failure

    return fate


@pytest.mark.parametrize(("name", "n"), CASES)
async def test_process_dies(tmp_path: Path, name: str, n: int) -> None:
    """Wherever the process dies, the kubelet's next calls end in a clean world."""
    world, kubelet = await live(LIVES[name], tmp_path, nth(n, Died()))
    assert kubelet.deaths == 1
    assert world.is_clean()


@pytest.mark.parametrize(("name", "n"), CASES)
async def test_answer_is_lost(tmp_path: Path, name: str, n: int) -> None:
    """Whichever request was not done, or was and nobody heard, the world ends clean."""
    lost = Unavailable(0, "NoAnswer", "the connection broke")
    world, _ = await live(LIVES[name], tmp_path, nth(n, lost))
    assert world.is_clean()


@pytest.mark.parametrize("n", range(len(points(served))))
async def test_dies_at_every_second_start(tmp_path: Path, n: int) -> None:
    """A process that dies again, ever one step further, still gets through."""
    seen, next_death = 0, n

    def fate(_: str) -> None:
        nonlocal seen, next_death
        seen += 1
        if seen > next_death:
            seen, next_death = 0, next_death + 1
            raise Died

    world, _ = await live(served, tmp_path, fate)
    world.fate = lambda _: None
    agent = await world.start()
    await agent.settler.round()
    assert world.is_clean()
