"""A new process, a new boot, a lost state directory, an API server that is away."""

from __future__ import annotations

import asyncio

import pytest

from elasticgpu.agent.adopt import Adopter
from elasticgpu.agent.ledger import Ledger
from elasticgpu.api.meta import Key
from elasticgpu.api.names import NODE_FINALIZER
from elasticgpu.errors import ElasticGPUError, Refused, Retry, Unavailable
from tests.agent.fake_api import FakeApi, T
from tests.agent.world import Agent, Share, Use, World, failing


async def prepared(world: World) -> Use:
    """A pod that runs with its device; the process that did it is gone."""
    use = world.use("pod", world.claim("want", world.device()))
    await (await world.start()).prepare(use)
    return use


def away(point: str) -> None:
    """The API server does not answer."""
    if point.split()[1] in ("get", "list", "replace", "create", "apply"):
        raise Unavailable(0, "NoAnswer", "away")


async def test_cdi_files_before_anything_else(world: World) -> None:
    """What is in use has its CDI file again before the API server was asked anything."""
    use = await prepared(world)
    file = world.root / "cdi" / f"elasticgpu.io-claim_{use.uid}.json"
    before = file.read_text()
    file.unlink()
    (world.root / "cdi" / ".elasticgpu.io-claim_torn.new").write_text("{")
    world.fate = away
    await world.start_without_api()
    assert [f.name for f in (world.root / "cdi").iterdir()] == [file.name]
    assert file.read_text() == before


async def test_restart_writes_nothing(world: World) -> None:
    """A restart with everything as it was writes nothing."""
    use = await prepared(world)
    before = list(world.api.writes)
    ledger = world.ledger_file.read_bytes()
    agent = await world.start()
    assert world.api.writes == before
    assert world.ledger_file.read_bytes() == ledger
    assert (await agent.prepare(use))[0].device == "egpu-one"
    assert world.made == {"egpu-one": 1}


async def test_api_server_away(world: World) -> None:
    """Unprepare needs no API server; it hears of it once it is back, even after a restart."""
    use = await prepared(world)
    agent = await world.start()
    world.fate = away
    await agent.unprepare(use)
    assert not world.made
    assert agent.node.folder.uids() == []
    assert await agent.settler.round() == 1
    assert world.see().status.prepared_for == [use.pod.uid]
    again = await world.start_without_api()
    assert await again.settler.round() == 1
    world.fate = lambda _: None
    assert await again.settler.round() == 0
    assert world.is_clean()


async def test_device_gone(world: World) -> None:
    """A device whose object is gone is undone all the same; its namesake is left alone."""
    use = await prepared(world)
    world.api.remove(world.see())
    namesake = world.device().with_metadata(uid="another").with_finalizers(NODE_FINALIZER)
    world.api.set(namesake)
    agent = await world.start_without_api()
    await agent.unprepare(use)
    assert await agent.settler.round() == 0
    assert not world.made
    assert agent.node.ledger.all() == []
    assert world.see().metadata.finalizers == [NODE_FINALIZER]


async def test_name_made_anew(world: World) -> None:
    """A device that has the name of one still in use is refused until that is given back."""
    old = await prepared(world)
    world.api.remove(world.see())
    fresh = world.device()
    world.api.set(fresh.with_metadata(uid="another"))
    new = world.use("new", world.claim("wants", world.see()))
    agent = await world.start()
    with pytest.raises(Refused, match="pod pod still uses the one that had this name before"):
        await agent.prepare(new)
    await agent.unprepare(old)
    assert (await agent.prepare(new))[0].device == "egpu-one"


async def test_reboot(world: World) -> None:
    """After a reboot nothing is in use, whoever forgot to say so; the kubelet asks anew."""
    use = await prepared(world)
    world.boot = "boot-2"
    agent = await world.start()
    assert world.is_clean()
    await agent.prepare(use)
    assert world.see().status.prepared_for == [use.pod.uid]
    (record,) = agent.node.ledger.all()
    assert (record.state, record.boot_id) == ("ready", "boot-2")


async def test_reboot_that_cannot_be_undone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a provisioner cannot undo after a reboot stays taken, without its CDI file's promise."""
    use = await prepared(world)
    world.boot = "boot-2"
    with monkeypatch.context() as patched:
        patched.setattr(Share, "unprepare", failing(Refused("busy")))
        agent = await world.start()
    (record,) = agent.node.ledger.all()
    assert (record.state, record.edits) == ("preparing", None)
    assert world.see().status.prepared_for == [use.pod.uid]
    await agent.unprepare(use)
    await agent.settler.round()
    assert world.is_clean()


async def test_ledger_lost_pod_there(world: World) -> None:
    """A lost ledger is found again for a pod that is there, and its Unprepare ends it."""
    use = await prepared(world)
    world.ledger_file.unlink()
    agent = await world.start()
    (record,) = agent.node.ledger.all()
    assert (record.uid, record.state, record.pod.uid) == (use.uid, "ready", use.pod.uid)
    assert world.told == []
    await agent.unprepare(use)
    await agent.settler.round()
    assert world.is_clean()


@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("lost", ["pod", "claim", "resource_claim"])
async def test_ledger_lost_pod_gone(world: World, lost: str, anew: bool) -> None:
    """Where the pod's objects are gone too, a container may still run: it is kept, and reported."""
    use = await prepared(world)
    world.ledger_file.unlink()
    old = getattr(use, lost)
    world.api.remove(old)
    if anew and lost != "resource_claim":
        now = world.api.add(old.with_metadata(uid="another"))
        if lost == "claim":
            world.hand(now, use.pod)
    agent = await world.start()
    assert [record.state for record in agent.node.ledger.all()] == ["stranded"]
    (said,) = world.told
    assert f"prepared for pod {use.pod.uid}, which is gone" in said
    assert "remove the uid from status.preparedFor" in said
    await agent.adopter.look_after_stranded()
    assert world.see().status.prepared_for == [use.pod.uid]
    assert NODE_FINALIZER in world.see().metadata.finalizers
    assert agent.node.folder.uids() == [use.uid]


async def test_compared_while_settling(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is being finished in the same moment is not taken for lost, however old an answer is."""
    use = await prepared(world)
    world.fate = away
    await (await world.start_without_api()).unprepare(use)
    world.fate = lambda _: None
    agent = await world.start_without_api()
    at_once = FakeApi.get
    settling: asyncio.Task[object] = asyncio.create_task(asyncio.sleep(0))

    async def late(self: FakeApi, kind: type[T], key: Key) -> T:
        nonlocal settling
        monkeypatch.setattr(FakeApi, "get", at_once)
        found = await at_once(self, kind, key)
        settling = asyncio.create_task(agent.settler.round())
        await asyncio.wait((settling,), timeout=0.1)  # it has to wait for us
        return found

    monkeypatch.setattr(FakeApi, "get", late)
    await agent.adopter.compare()
    await settling
    assert world.told == []
    assert world.is_clean()


async def test_stranded_takes_room(world: World) -> None:
    """What is stranded still fills its card."""
    use = await prepared(world)
    world.ledger_file.unlink()
    world.api.remove(use.pod)
    other = world.use("two", world.claim("b", world.device("egpu-two")))
    agent = await world.start()
    with pytest.raises(Refused, match="40% of 100% core free, 60% wanted"):
        await agent.prepare(other)


@pytest.mark.parametrize("how", ["row", "device", "reboot"])
async def test_stranded_is_freed(world: World, how: str) -> None:
    """A person who takes the row away, a device that is gone, or a reboot ends it."""
    use = await prepared(world)
    world.ledger_file.unlink()
    world.api.remove(use.pod)
    agent = await world.start()
    if how == "row":
        world.api.set(world.see().with_status(prepared_for=[]))
    elif how == "device":
        world.api.remove(world.see())
    else:
        world.boot = "boot-2"
        agent = await world.start()
    await agent.adopter.look_after_stranded()
    assert world.is_clean()


async def test_finalizer_without_row(world: World) -> None:
    """Our finalizer on a device that nobody has prepared is from a lost beginning: it goes."""
    world.claim("want", world.device())
    world.api.set(world.see().with_finalizers("other.io/keep", NODE_FINALIZER))
    await world.start()
    assert world.see().metadata.finalizers == ["other.io/keep"]


async def test_not_compared_yet(world: World) -> None:
    """Until ledger and API server are compared nothing new is prepared, nothing unknown undone."""
    use = await prepared(world)
    other = world.use("two", world.claim("b", world.device("egpu-two", gpu=1)))
    agent = Agent(world)
    with pytest.raises(Retry, match="has not compared"):
        await agent.prepare(other)
    with pytest.raises(Retry, match="has not compared"):
        await agent.unprepare(other)
    await agent.prepare(use)
    await agent.unprepare(use)
    assert not world.made


async def test_comparison_fails(world: World) -> None:
    """A comparison that breaks off half-way lets nothing through, and is done again."""
    use = await prepared(world)
    world.ledger_file.unlink()
    world.fate = away
    agent = Agent(world)
    with pytest.raises(ElasticGPUError):
        await agent.adopter.compare()
    assert not agent.node.listed.is_set()
    world.fate = lambda _: None
    await Adopter(agent.node, agent.preparer, lambda *_: None).compare()
    assert [r.uid for r in Ledger.load(world.ledger_file, "b").all()] == [use.uid]


async def test_one_that_cannot_be_compared_holds_up_no_other(world: World) -> None:
    """Others are compared and served; it waits, what it may have prepared counts, and nothing
    unknown is undone. The next comparison goes on with it alone."""
    use = await prepared(world)
    world.ledger_file.unlink()
    other = world.use("two", world.claim("b", world.device("egpu-two", gpu=1)))
    crowd = world.use("three", world.claim("c", world.device("egpu-three")))
    unreachable = "before get ElasticGPU egpu-one"

    def fate(point: str) -> None:
        if point == unreachable and agent.node.listed.is_set():
            raise Unavailable(0, "NoAnswer", "away")

    agent = Agent(world)
    world.fate = fate
    with pytest.raises(Unavailable):
        await agent.adopter.compare()
    assert [device.name for device in agent.node.unsure.values()] == ["egpu-one"]
    await agent.prepare(other)
    with pytest.raises(Refused, match="egpu-three does not fit"):
        await agent.prepare(crowd)
    with pytest.raises(Retry, match="has not compared"):
        await agent.unprepare(use)
    world.fate = lambda _: None
    await agent.adopter.compare()
    assert agent.node.unsure == {}
    await agent.unprepare(use)
    assert list(world.made) == ["egpu-two"]


async def test_other_finalizers_stay(world: World) -> None:
    """A device that is being deleted loses our finalizer last, and only ours."""
    use = await prepared(world)
    leaving = world.see().with_finalizers("other.io/keep")
    world.api.set(leaving.with_metadata(deletion_timestamp="2026-01-01T00:00:00Z"))
    agent = await world.start()
    await agent.unprepare(use)
    await agent.settler.round()
    assert world.see().metadata.finalizers == ["other.io/keep"]
    assert world.is_clean()


async def test_stranded_is_claimed_after_all(world: World) -> None:
    """The kubelet asks for what was taken for stranded: then it has its proper record, once."""
    use = await prepared(world)
    world.ledger_file.unlink()
    world.api.remove(use.resource_claim)
    agent = await world.start()
    world.api.add(use.resource_claim)
    await agent.prepare(use)
    assert [record.state for record in agent.node.ledger.all()] == ["ready"]
    await agent.unprepare(use)
    await agent.settler.round()
    assert world.is_clean()
