"""What happens at the same moment: pods, kubelet, controller and settler on one device."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from elasticgpu.agent import prepare
from elasticgpu.agent.ledger import Record
from elasticgpu.agent.materialise import materialise
from elasticgpu.agent.node import Node
from elasticgpu.agent.resolve import Asked
from elasticgpu.agent.settle import finish
from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import ResourceClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.names import NODE_FINALIZER
from elasticgpu.errors import ElasticGPUError, Refused, Unavailable
from tests.agent.world import NAMESPACE, Share, Use, World, failing


def away(point: str) -> None:
    """The API server does not answer."""
    if point.split()[1] in ("get", "replace"):
        raise Unavailable(0, "NoAnswer", "away")


def becomes(world: World, **status: Any) -> None:
    """Somebody else writes the device's status."""
    world.api.set(world.see().with_status(**status))


@pytest.mark.parametrize(
    "moment", ["before replace ElasticGPU egpu-one", "after replace ElasticGPU egpu-one"]
)
async def test_device_fails_meanwhile(world: World, moment: str) -> None:
    """A device that fails between our read and either of our writes is refused, and left clean."""
    use = world.use("pod", world.claim("want", world.device()))
    agent = await world.start()

    def fate(point: str) -> None:
        if point == moment:
            world.fate = lambda _: None
            becomes(world, phase="Failed", message="broken")

    world.fate = fate
    with pytest.raises(Refused, match="is Failed: broken"):
        await agent.prepare(use)
    assert not any(write.startswith("replace ElasticGPU/status") for write in world.api.writes)
    assert bool(world.api.writes) == moment.startswith("after")
    assert world.is_clean()


async def test_others_write_too(world: World) -> None:
    """Writes of others between our reads and writes cost a repetition, and lose nothing."""
    use = world.use("pod", world.claim("want", world.device()))
    agent = await world.start()
    written = 0

    def fate(point: str) -> None:
        nonlocal written
        if point.startswith("before replace ElasticGPU") and written < 3:
            written += 1
            becomes(world, message=f"write {written}")

    world.fate = fate
    await agent.prepare(use)
    assert world.see().status.message == "write 3"
    assert world.see().status.prepared_for == [use.pod.uid]
    assert world.see().metadata.finalizers == [NODE_FINALIZER]


async def test_last_one_leaves_as_another_comes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pod that comes to a shared device while its last user is undone has it afterwards."""
    leaving, tried, at_once = asyncio.Event(), asyncio.Event(), Share.unprepare

    async def slow(self: Share, device: ElasticGPU, host: Any) -> None:
        leaving.set()
        await tried.wait()
        await at_once(self, device, host)

    monkeypatch.setattr(Share, "unprepare", slow)
    claim = world.claim("both", world.device(), shared=True)
    one, two = world.use("one", claim), world.use("two", claim)
    agent = await world.start()
    await agent.prepare(one)
    undone = asyncio.create_task(agent.unprepare(one))
    await leaving.wait()
    coming = asyncio.create_task(agent.prepare(two))
    await asyncio.wait((coming,), timeout=0.1)  # it has to wait; if it does not, it is done by then
    tried.set()
    await asyncio.gather(undone, coming)
    await agent.settler.round()
    assert list(world.made) == ["egpu-one"]
    assert world.see().status.prepared_for == [two.pod.uid]
    assert world.see().metadata.finalizers == [NODE_FINALIZER]


async def test_left_between_read_and_lock(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod that left after we read the device took the finalizer along: it is put there again."""
    claim = world.claim("both", world.device(), shared=True)
    one, two = world.use("one", claim), world.use("two", claim)
    agent = await world.start()
    await agent.prepare(one)
    await agent.unprepare(one)

    async def left_first(node: Node, asked: Asked) -> Record:
        released = node.ledger.get(one.uid)
        assert released is not None
        await finish(node, released)
        return await materialise(node, asked)

    monkeypatch.setattr(prepare, "materialise", left_first)
    await agent.prepare(two)
    assert world.see().status.prepared_for == [two.pod.uid]
    assert world.see().metadata.finalizers == [NODE_FINALIZER]


async def test_device_made_anew(world: World) -> None:
    """A namesake that takes the device's place before we write is not written."""
    use = world.use("pod", world.claim("want", world.device()))
    agent = await world.start()

    def anew(point: str) -> None:
        if point == "before replace ElasticGPU egpu-one":
            world.fate = lambda _: None
            world.api.set(world.see().with_metadata(uid="another"))

    world.fate = anew
    with pytest.raises(Refused, match="ElasticGPU egpu-one is gone"):
        await agent.prepare(use)
    assert world.api.writes == []
    assert world.is_clean()


async def test_two_devices_of_a_card(world: World) -> None:
    """Undoing one device undoes it, though another one of the same card is in use."""
    one = world.use("one", world.claim("a", world.device("egpu-one", core=10)))
    two = world.use("two", world.claim("b", world.device("egpu-two", core=10)))
    agent = await world.start()
    await asyncio.gather(agent.prepare(one), agent.prepare(two))
    await agent.unprepare(one)
    assert list(world.made) == ["egpu-two"]
    assert agent.node.folder.uids() == [two.uid]


async def test_first_stays(world: World) -> None:
    """What is materialised is not judged again: a second pod shares it on a card that shrank."""
    claim = world.claim("both", world.device(core=60), shared=True)
    one, two = world.use("one", claim), world.use("two", claim)
    agent = await world.start()
    await agent.prepare(one)
    card = world.cards["card-0"]
    world.cards["card-0"] = card.but(status=card.status.but(memory="1Gi"))
    await agent.prepare(two)
    assert world.see().status.phase == "Bound"
    assert len(agent.node.ledger.live()) == 2


async def test_same_pod_twice(world: World) -> None:
    """Two ResourceClaims of one pod on one device: its row goes with the second, not the first."""
    claim = world.claim("want", world.device(), shared=True)
    first = world.use("pod", claim)
    again = first.resource_claim.wire()
    again["metadata"] |= {"name": "again", "uid": "uid-of-again"}
    second = Use(first.pod, claim, world.api.add(ResourceClaim.model_validate(again)))
    pod = first.pod.wire()
    pod["spec"]["resourceClaims"] += [{"name": "x", "resourceClaimTemplateName": "egpuc-want"}]
    pod["status"]["resourceClaimStatuses"] += [{"name": "x", "resourceClaimName": "again"}]
    world.api.set(type(first.pod).model_validate(pod))
    agent = await world.start()
    await agent.prepare(first)
    await agent.prepare(second)
    await agent.unprepare(first)
    await agent.settler.round()
    assert world.see().status.prepared_for == [first.pod.uid]
    await agent.unprepare(second)
    await agent.settler.round()
    assert world.is_clean()


async def test_prepared_again_before_it_was_settled(world: World) -> None:
    """The settler, late, does not finish what was prepared anew meanwhile."""
    use = world.use("pod", world.claim("want", world.device()))
    agent = await world.start()
    await agent.prepare(use)
    await agent.unprepare(use)
    again = asyncio.create_task(agent.prepare(use))
    await asyncio.sleep(0)
    late = asyncio.create_task(agent.settler.round())
    await asyncio.gather(again, late)
    record = agent.node.ledger.get(use.uid)
    assert record is not None
    assert record.live
    assert world.see().status.prepared_for == [use.pod.uid]


@pytest.mark.parametrize("left", ["preparing", "released"])
async def test_allocated_anew(world: World, left: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ResourceClaim that was allocated another device: nothing of the first one is left."""
    claim = world.claim("want", world.device(core=40))
    use = world.use("pod", claim)
    agent = await world.start()
    if left == "preparing":
        with monkeypatch.context() as patched:
            patched.setattr(Share, "prepare", failing(Refused("broken")))
            with pytest.raises(ElasticGPUError):
                await agent.prepare(use)
    else:
        await agent.prepare(use)
        world.fate = away
        await agent.unprepare(use)
        world.fate = lambda _: None
    second = world.device("egpu-two", core=40)
    bound = world.see().wire()
    world.api.set(
        ElasticGPU.model_validate(
            {**second.wire(), "spec": {**bound["spec"]}, "status": {"phase": "Bound"}}
        )
    )
    now = world.api.see(ElasticGPUClaim, "want", NAMESPACE)
    assert now is not None
    world.api.set(now.but(spec=now.spec.but(elastic_gpu_name="egpu-two")))
    made = use.resource_claim.wire()
    made["status"]["allocation"]["devices"]["results"][0]["device"] = "egpu-two"
    world.api.set(ResourceClaim.model_validate(made))
    (answer,) = await agent.prepare(use)
    assert answer.device == "egpu-two"
    assert list(world.made) == ["egpu-two"]
    assert world.see("egpu-one").status.prepared_for == []
    assert world.see("egpu-one").metadata.finalizers == []
    await agent.unprepare(use)
    await agent.settler.round()
    assert world.is_clean()
