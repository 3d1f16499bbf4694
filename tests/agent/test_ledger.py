"""The ledger's file: what survives, and what is refused."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from elasticgpu.agent.ledger import Ledger
from elasticgpu.errors import Refused
from tests.agent.world import Died, World


async def test_survives(world: World) -> None:
    """What was written is there after a restart, card parts and edits included."""
    use = world.use("pod", world.claim("want", world.device()))
    agent = await world.start()
    await agent.prepare(use)
    (record,) = Ledger.load(world.ledger_file, world.boot).all()
    assert record == agent.node.ledger.get(use.uid)
    assert (record.state, record.pod.uid, record.claim.name) == ("ready", use.pod.uid, "want")
    (part,) = record.device.spec.source.devices
    assert (part.gpu, part.core, part.memory_bytes) == ("card-0", 60, 4 << 30)
    assert record.edits is not None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file: Invalid JSON"),
        ('{"version": 1, "records": [', "the file: Invalid JSON"),
        ('{"version": 2, "records": []}', "version: Input should be 1"),
        ('{"version": 1, "records": [{"state": "ready"}]}', "records.0.resourceClaim"),
    ],
)
async def test_corrupt(world: World, text: str, said: str) -> None:
    """A file that cannot be understood stops the agent, which says where and what to do."""
    world.ledger_file.write_text(text)
    with pytest.raises(Refused) as refused:
        Ledger.load(world.ledger_file, "boot")
    assert str(world.ledger_file) in refused.value.reason
    assert said in refused.value.reason
    assert "restore it" in refused.value.reason
    assert world.ledger_file.read_text() == text


async def test_torn_write(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that dies before its rename leaves the old ledger, which the next write replaces."""
    one = world.use("one", world.claim("a", world.device("egpu-one", core=10)))
    two = world.use("two", world.claim("b", world.device("egpu-two", core=10)))
    agent = await world.start()
    await agent.prepare(one)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", _die)
        with pytest.raises(Died):
            await agent.prepare(two)
    assert [r.device.name for r in Ledger.load(world.ledger_file, "b").all()] == ["egpu-one"]
    agent = await world.start()
    await agent.prepare(two)
    assert len(Ledger.load(world.ledger_file, "b").all()) == 2


def _die(*_: object) -> None:
    raise Died


async def test_cancelled_write(world: World) -> None:
    """A caller that is cancelled in the middle of a write leaves file and memory the same."""
    use = world.use("pod", world.claim("want", world.device()))
    agent = await world.start()
    await agent.prepare(use)
    record = agent.node.ledger.get(use.uid)
    assert record is not None
    ledger = agent.node.ledger
    for state in ("preparing", "released"):
        writing = asyncio.create_task(ledger.put(record.but(state=state)))
        await asyncio.sleep(0)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        written = ledger.get(use.uid)
        assert written is not None
        assert written.state == state
        await ledger.put(record.but(resource_claim=record.resource_claim.but(uid="another")))
        assert Ledger.load(world.ledger_file, "b").all() == ledger.all()


async def test_hang_up(world: World) -> None:
    """A Prepare whose kubelet hangs up is done all the same, so that its retry finds it."""
    use = world.use("pod", world.claim("want", world.device()))
    agent = await world.start()
    begun = asyncio.Event()
    world.fate = lambda point: begun.set() if point.startswith("after ledger") else None
    first = asyncio.create_task(agent.prepare(use))
    await begun.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    async with agent.node.claims.of(use.uid):
        record = agent.node.ledger.get(use.uid)
    assert record is not None
    assert record.state == "ready"


async def test_unprepare_during_prepare(world: World) -> None:
    """An Unprepare that overtakes its Prepare waits for it, and then leaves nothing."""
    use = world.use("pod", world.claim("want", world.device()))
    agent = await world.start()
    asked = asyncio.create_task(agent.prepare(use))
    await asyncio.sleep(0)
    await agent.unprepare(use)
    await asked
    await agent.settler.round()
    assert world.is_clean()
