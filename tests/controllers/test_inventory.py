"""The view of a card: who holds what of it, written no more often than once in a while."""

from __future__ import annotations

import asyncio

import pytest

from elasticgpu.api.elasticgpu import (
    CardSlice,
    DeviceSource,
    ElasticGPU,
    ElasticGPUSpec,
    ElasticGPUStatus,
)
from elasticgpu.api.gpu import GPU, Holding
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.controllers import inventory
from elasticgpu.controllers.inventory import Inventory
from elasticgpu.controllers.world import World

from .server import Json, MemoryClient, no_answer
from .stage import TEAM, Stage

GATHER = 0.2


class Watch:
    """When each attempt to write the card began; the first so many get no answer."""

    def __init__(self, stage: Stage, *, failures: int = 0) -> None:
        self.attempts: list[float] = []
        self.failures = failures
        stage.server.fate = self.fate

    def fate(self, call: str, body: Json | None) -> None:
        if call == "before patch gpus/status card-a":
            self.attempts.append(asyncio.get_running_loop().time())
            if len(self.attempts) <= self.failures:
                raise no_answer()


def rows(stage: Stage) -> list[Holding]:
    card = stage.server.see(GPU, "card-a")
    return card.status.allocated if card else []


@pytest.mark.looptime(noop_cycles=0)  # nothing comes from outside of the loop
@pytest.mark.parametrize("failures", [0, 3])
async def test_no_card_is_written_more_often(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    """However many changes come, and however often a write fails, there is a pause between two."""
    monkeypatch.setattr(inventory, "GATHER", GATHER)
    watch = Watch(stage, failures=failures)
    await stage.start()
    for number in range(8):
        stage.ask(f"claim-{number}", of="plain", core=2)
        await asyncio.sleep(GATHER / 4)
    await stage.until(lambda: len(rows(stage)) == 8)
    pauses = [b - a for a, b in zip(watch.attempts, watch.attempts[1:], strict=False)]
    assert len(watch.attempts) > failures
    assert min(pauses) >= GATHER - 1e-5  # by the loop's own time, which has that grain


async def test_what_is_released_is_still_there(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Released device holds its room and is seen to; 31: a new claim of the name is not its."""
    monkeypatch.setattr(inventory, "GATHER", 0.01)
    stage.add_class(stage.plain, "kept", "Retain")
    await stage.start()
    stage.ask(of="kept")
    await stage.until(stage.bound)
    stage.delete()
    await stage.until(lambda: stage.claim() is None)
    stage.ask(of="kept", core=5)
    await stage.until(lambda: stage.bound() and len(rows(stage)) == 2)
    phases = {device.name: device.status.phase for device in stage.devices()}
    found = sorted((phases[row.elastic_gpu], row.claim, row.core) for row in rows(stage))
    assert found == [("Bound", f"{TEAM}/train", 5), ("Released", f"{TEAM}/train", 10)]


HELD = ElasticGPU(
    metadata=ObjectMeta(name="egpu-a"),
    spec=ElasticGPUSpec(source=DeviceSource(driver="x", devices=[CardSlice(gpu="card-a")])),
    status=ElasticGPUStatus(phase="Available"),
)


@pytest.mark.parametrize("latest", [0.1, 60.0], ids=["not for ever", "while there are any"])
async def test_claims_go_first(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, latest: float
) -> None:
    """A card is not written while claims wait to be looked at, but not for ever either."""
    monkeypatch.setattr(inventory, "GATHER", 0.01)
    monkeypatch.setattr(inventory, "LATEST", latest)
    stage.server.add(HELD)
    waiting = [True]
    world = World(MemoryClient(stage.server), {})
    loop = Inventory(world, busy=lambda: bool(waiting))
    loop.subscribe()
    async with world.watching(), asyncio.TaskGroup() as group:
        work = group.create_task(loop.queue.run(loop.reconcile))
        if latest > 1:
            await stage.still(lambda: not rows(stage))
            waiting.clear()
        await stage.until(lambda: [row.elastic_gpu for row in rows(stage)] == ["egpu-a"])
        work.cancel()
