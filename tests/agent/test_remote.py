"""A device that is on no node: this one prepares it, and leaves no mark on it."""

from __future__ import annotations

import pytest

from elasticgpu.api.core import ResourceClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.errors import Refused
from elasticgpu.provisioner import ContainerEdits, Host
from tests.agent.world import DRIVER, Share, Use, World


@pytest.fixture(autouse=True)
def plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that needs no card of the node."""

    async def prepare(self: Share, device: ElasticGPU, host: Host) -> ContainerEdits:
        self.world.made[device.name] = 1
        return ContainerEdits(env=["FAR=yes"])

    monkeypatch.setattr(Share, "prepare", prepare)


def remote(world: World, gpu: str = "far:0", core: int = 100) -> Use:
    """A pod with a device of this card, on no node."""
    source = {"driver": DRIVER, "devices": [{"gpu": gpu, "core": core}]}
    body = {"metadata": {"name": "egpu-one"}, "spec": {"source": source}}
    use = world.use("pod", world.claim("want", world.api.add(ElasticGPU.model_validate(body))))
    made = use.resource_claim.wire()
    made["status"]["allocation"]["devices"]["results"][0]["pool"] = "remote"
    world.api.set(ResourceClaim.model_validate(made))
    return use


async def test_prepared_and_undone(world: World) -> None:
    """The kubelet hears of the pool it is in; nothing is written to the API server."""
    use = remote(world)
    agent = await world.start()
    (answer,) = await agent.prepare(use)
    assert (answer.pool, answer.device) == ("remote", "egpu-one")
    record = agent.node.ledger.get(use.uid)
    assert record is not None
    assert record.edits is not None
    assert "FAR=yes" in record.edits.env
    await agent.unprepare(use)
    await agent.settler.round()
    assert world.api.writes == []
    assert world.is_clean()


async def test_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pod hears why; the device is not this node's to write on."""

    async def refuse(*_: object) -> ContainerEdits:
        raise Refused("no client here")

    monkeypatch.setattr(Share, "prepare", refuse)
    use = remote(world)
    agent = await world.start()
    with pytest.raises(Refused, match="no client here"):
        await agent.prepare(use)
    assert world.told == ["no client here"]
    assert world.api.writes == []


async def test_taken_from_the_pod_meanwhile(world: World) -> None:
    """What is not the claim's any more is not prepared."""
    use = remote(world)
    agent = await world.start()
    world.api.set(world.see().with_status(phase="Released"))
    with pytest.raises(Refused, match="is Released"):
        await agent.prepare(use)
    assert not world.made


async def test_a_card_of_this_node(world: World) -> None:
    """One that says no node, but is cut from a card that is here, is judged like any other."""
    taken = world.use("first", world.claim("other", world.device("egpu-two", core=60)))
    agent = await world.start()
    await agent.prepare(taken)
    with pytest.raises(Refused, match="does not fit: card-0: 40% of 100% core free"):
        await agent.prepare(remote(world, "card-0"))
