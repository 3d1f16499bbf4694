"""Cards become GPU objects, once; then only what changed is written."""

from __future__ import annotations

import pytest

from elasticgpu.agent.inventory import Inventory
from elasticgpu.api.core import Node
from elasticgpu.api.gpu import GPU, Holding, Link
from elasticgpu.api.meta import ObjectMeta, OwnerReference
from elasticgpu.errors import Retry
from tests.agent.fake_api import FakeApi
from tests.agent.world import World, card_of


class Cards:
    """A source whose cards a test changes."""

    def __init__(self, *cards: GPU) -> None:
        self.found = list(cards)

    async def cards(self) -> list[GPU]:
        return self.found


class Home:
    """An inventory of two cards over a fake API server."""

    def __init__(self) -> None:
        self.api, self.modes = FakeApi(), dict[str, str]()
        self.source = Cards(card_of(0), card_of(1))
        self.node = self.api.add(Node(metadata=ObjectMeta(name="node-a")))
        self.inventory = self.new()

    def new(self) -> Inventory:
        """The inventory of a new process."""
        return Inventory(self.api, "node-a", self.source, self, lambda: self.modes)

    def values(self) -> list[GPU]:
        """What is published: here the cache is the server itself."""
        objects = self.api.objects.items()
        return [GPU.model_validate(body) for (kind, _), body in objects if kind == "GPU"]

    def observed(self, obj: GPU) -> None:
        assert obj in self.values()

    async def look(self) -> list[str]:
        """Look and publish; what was written."""
        self.api.writes.clear()
        await self.inventory.look()
        await self.inventory.publish()
        return self.api.writes

    def card(self, index: int = 0) -> GPU:
        found = self.api.see(GPU, f"card-{index}")
        assert found is not None
        return found


async def test_published() -> None:
    """Every card found gets its object: the node in its spec, what was found in its status."""
    home = Home()
    await home.look()
    assert home.card().spec.node_name == "node-a"
    assert home.card().status.uuid == "GPU-0"
    assert home.card().status.health == "Healthy"
    assert home.card(1).memory == 24 << 30


async def test_a_card_goes_with_its_node() -> None:
    """Its object is the Node's; a Node made anew takes over what is there; without one nothing is
    written."""
    home = Home()
    await home.look()
    assert [(o.kind, o.name, o.uid) for o in home.card().metadata.owner_references] == [
        ("Node", "node-a", home.node.uid)
    ]
    stranger = OwnerReference(api_version="v1", kind="Other", name="x", uid="x")
    mine = home.card().metadata.owner_references
    home.api.set(home.card().with_metadata(owner_references=[stranger, *mine]))
    home.api.remove(home.node)
    with pytest.raises(Retry, match="there is no node node-a"):
        await home.look()
    assert home.api.writes == []
    home.api.add(home.node.with_metadata(uid="another"))
    assert await home.look() == ["replace GPU card-0", "replace GPU card-1"]
    assert [o.uid for o in home.card().metadata.owner_references] == ["x", "another"]
    assert await home.look() == []


async def test_quiet() -> None:
    """Nothing changed, nothing written: not on a second look, nor by a new process."""
    home = Home()
    linked = card_of(0)
    links = [Link(peer="card-1", kind="NVLink", bandwidth=5)]
    home.source.found[0] = linked.but(status=linked.status.but(links=links))
    assert await home.look()
    assert await home.look() == []
    home.inventory = home.new()
    assert await home.look() == []


async def test_only_what_changed() -> None:
    """One card's health changes: one write, of that card."""
    home = Home()
    await home.look()
    sick = card_of(1)
    status = sick.status.but(health="Unhealthy", health_message="XID 79")
    home.source.found[1] = sick.but(status=status)
    assert await home.look() == ["apply GPU/status card-1"]
    assert home.card(1).status.health_message == "XID 79"
    home.source.found[1] = card_of(1)
    await home.look()
    assert home.card(1).status.health == "Healthy"
    assert home.card(1).status.health_message == ""


async def test_other_writers() -> None:
    """What the controller placed and an admin allowed is neither overwritten nor a change."""
    home = Home()
    await home.look()
    card = home.card()
    rows = [Holding(elastic_gpu="egpu-one", core=10)]
    spec = card.spec.but(unschedulable=True, modes=["a"])
    home.api.set(card.but(spec=spec, status=card.status.but(allocated=rows)))
    assert await home.look() == []
    home.modes["card-0"] = "test.io/share"
    await home.look()
    assert home.card().status.allocated == rows
    assert home.card().spec == spec


async def test_mode() -> None:
    """The card says which backend has it while a device of it is materialised."""
    home = Home()
    await home.look()
    home.modes["card-1"] = "test.io/share"
    assert await home.look() == ["apply GPU/status card-1"]
    assert home.card(1).status.mode == "test.io/share"
    del home.modes["card-1"]
    await home.look()
    assert home.card(1).status.mode == ""


async def test_mode_of_ledger(world: World) -> None:
    """A card's mode is the provisioner of what is live on it, until all of it is undone."""
    use = world.use("pod", world.claim("want", world.device()))
    agent = await world.start()
    await agent.prepare(use)
    assert agent.node.ledger.modes() == {"card-0": "test.io/share"}
    await agent.unprepare(use)
    assert agent.node.ledger.modes() == {}


async def test_card_gone() -> None:
    """A card that is not found any more keeps its object, is Unknown, and says why; then quiet."""
    home = Home()
    await home.look()
    home.source.found.pop()
    assert await home.look() == ["apply GPU/status card-1"]
    assert home.card(1).status.health == "Unknown"
    assert "not found on its node" in home.card(1).status.health_message
    assert home.card(1).status.uuid == "GPU-1"
    assert await home.look() == []
    home.source.found.append(card_of(1))
    await home.look()
    assert home.card(1).status.health == "Healthy"


async def test_object_deleted() -> None:
    """A GPU object that somebody deleted comes back whole."""
    home = Home()
    await home.look()
    home.api.remove(home.card())
    assert await home.look() == ["create GPU card-0", "apply GPU/status card-0"]
    assert home.card().status.uuid == "GPU-0"


async def test_half_published() -> None:
    """An object without its status is completed, be it old or made by another in this moment."""
    home = Home()
    home.api.add(GPU(metadata=ObjectMeta(name="card-0"), spec=card_of(0).spec))
    bare = GPU(metadata=ObjectMeta(name="card-1"), spec=card_of(1).spec)

    def other_agent(point: str) -> None:
        if point == "before create GPU card-1":
            home.api.add(bare)

    home.api.fate = other_agent
    await home.look()
    assert home.card().status.health == "Healthy"
    assert home.card(1).status.health == "Healthy"
