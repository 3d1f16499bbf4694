"""Nodes that are lost, silent, or back: what becomes of devices, claims and what was prepared."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from elasticgpu.api.core import Node, NodeCondition, NodeSpec, NodeStatus, Pod, Taint
from elasticgpu.api.elasticgpu import DevicePhase, ElasticGPU
from elasticgpu.api.meta import ObjectMeta, find_condition
from elasticgpu.api.names import NODE_FINALIZER, PODS_LABEL
from elasticgpu.cluster.events import Recorder
from elasticgpu.controllers import nodes
from elasticgpu.controllers.nodes import Nodes
from elasticgpu.controllers.reclaimer import Reclaimer
from elasticgpu.controllers.world import World
from elasticgpu.errors import Retry
from elasticgpu.rules.nodes import OUT_OF_SERVICE
from elasticgpu.rules.transaction import NODE_LOST, READY
from tests.rules import build

from .server import MemoryClient
from .stage import TEAM, Stage


def node(name: str, ready: str = "True", *, off: bool = False) -> Node:
    return Node(
        metadata=ObjectMeta(name=name),
        spec=NodeSpec(taints=[Taint(key=OUT_OF_SERVICE)] if off else []),
        status=NodeStatus(conditions=[NodeCondition(type="Ready", status=ready)]),
    )


async def in_use(stage: Stage) -> ElasticGPU:
    """A claim's device that a pod on its node uses, as its agent wrote it down."""
    stage.ask(of="plain")
    await stage.until(stage.bound)
    (made,) = stage.devices()
    labels = {PODS_LABEL: "true"}
    stage.server.add(build.pod(claims=("train",), node=made.spec.node_name, labels=labels))
    await stage.until(lambda: held(stage))
    stage.server.put(stage.devices()[0].with_status(prepared_for=["uid-web-0"]), "status")
    stage.server.put(stage.devices()[0].with_finalizers(NODE_FINALIZER))
    await stage.until(lambda: stage.devices()[0].status.prepared_for)
    return made


def held(stage: Stage) -> bool:
    claim = stage.claim()
    return claim is not None and bool(claim.status.users)


def moved(stage: Stage, away_from: ElasticGPU) -> bool:
    """It has another device, which is elsewhere. Made for the same claim, it has the same name."""
    there = [(d.status.phase, d.uid != away_from.uid) for d in stage.devices()]
    homes = {d.spec.node_name for d in stage.devices()} - {away_from.spec.node_name}
    return stage.bound() and there == [("Bound", True)] and bool(homes)


@pytest.mark.parametrize("how", ["gone", "out of service"])
async def test_lost(stage: Stage, how: str) -> None:
    """The claim is Lost while its pod is there; then it gets a device elsewhere, by itself."""
    await stage.start()
    old = await in_use(stage)
    if how == "gone":
        stage.server.delete(Node, old.spec.node_name)
    else:
        stage.server.put(node(old.spec.node_name, "Unknown", off=True))
        stage.server.put(node(old.spec.node_name, "Unknown", off=True), "status")
    said = await stage.until(lambda: stage.says("DeviceFailed"))
    assert f"node {old.spec.node_name} is {how}" in said
    await stage.still(lambda: stage.devices()[0].status.prepared_for)
    assert NODE_FINALIZER in stage.devices()[0].metadata.finalizers
    stage.server.delete(Pod, "web-0", TEAM)
    await stage.until(lambda: moved(stage, old))
    assert ("Warning", NODE_LOST) in stage.events()


async def test_lost_and_free(stage: Stage) -> None:
    """A claim that no pod holds moves at once, from a node that never prepared anything."""
    await stage.start()
    stage.ask(of="plain")
    await stage.until(stage.bound)
    (old,) = stage.devices()
    stage.server.delete(Node, old.spec.node_name)
    await stage.until(lambda: moved(stage, old))


async def test_back_before_the_pod_went(stage: Stage) -> None:
    """A node that is made anew under its pods, its cards known, has lost nothing."""
    await stage.start()
    old = await in_use(stage)
    stage.server.delete(Node, old.spec.node_name)
    await stage.until(lambda: stage.says("DeviceFailed"))
    stage.server.add(node(old.spec.node_name))
    await stage.until(stage.bound)
    (now,) = stage.devices()
    assert (now.uid, now.status.phase) == (old.uid, "Bound")
    assert now.status.prepared_for == ["uid-web-0"]


async def test_made_by_an_admin(stage: Stage) -> None:
    """What an admin made is given back to nobody before its node is there again."""
    await stage.start(without="example.com/plain")
    stage.server.add(build.device(class_name="plain", phase="", parts=[], node="node-b"))
    stage.ask(of="plain")
    await stage.until(stage.bound)
    stage.server.delete(Node, "node-b")
    await stage.until(lambda: stage.says("NoProvisioner"))
    (left,) = stage.devices()
    assert (left.status.phase, left.status.reason, left.claim_uid) == ("Failed", NODE_LOST, "")
    stage.server.add(node("node-b"))
    await stage.until(stage.bound)


async def test_not_ready(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that is not ready frees nothing; the claim says so, once, and when it is over."""
    monkeypatch.setattr(nodes, "UNREADY", 0.05)
    await stage.start()
    old = await in_use(stage)
    stage.server.put(node(old.spec.node_name, "Unknown"), "status")
    await stage.until(lambda: ready(stage) == ("False", "NodeNotReady"))
    before = len(stage.server.writes)
    await stage.still(lambda: stage.bound() and stage.devices()[0].status.prepared_for)
    assert len(stage.server.writes) == before
    stage.server.put(node(old.spec.node_name), "status")
    await stage.until(lambda: ready(stage) == ("True", READY))


async def test_flapping(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that is away for a moment, again and again, causes no write at all."""
    monkeypatch.setattr(nodes, "UNREADY", 0.5)
    await stage.start()
    old = await in_use(stage)
    before = len(stage.server.writes)
    for _ in range(3):
        for state in ("Unknown", "True"):
            stage.server.put(node(old.spec.node_name, state), "status")
            await stage.still(stage.bound, 0.05)
    await stage.still(lambda: len(stage.server.writes) == before, 0.6)


async def test_agent_gone_for_good(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a living node nothing is undone in the agent's place; the device says who must act."""
    monkeypatch.setattr(nodes, "OVERDUE", 0.05)
    await stage.start()
    await in_use(stage)
    stage.server.delete(Pod, "web-0", TEAM)
    said = await stage.until(lambda: told(stage.devices()[0]))
    assert "has not undone it for pod uid-web-0, which is gone" in said
    await stage.still(lambda: stage.devices()[0].status.prepared_for)
    stage.server.put(stage.devices()[0].with_status(prepared_for=[]), "status")
    stage.server.put(stage.devices()[0].without_finalizers(NODE_FINALIZER))
    await stage.until(lambda: not told(stage.devices()[0]))


async def test_a_pod_no_cache_shows(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod whose label was taken away is not taken for gone: neither said nor undone."""
    monkeypatch.setattr(nodes, "OVERDUE", 0.05)
    monkeypatch.setattr(nodes, "AGAIN", 0.05)
    await stage.start()
    old = await in_use(stage)
    hidden = build.pod(claims=("train",), node=old.spec.node_name)
    stage.server.delete(Pod, "web-0", TEAM)
    stage.server.objects["pods", TEAM, "web-0"] = hidden.wire()  # no watch tells of it
    await stage.still(lambda: not told(stage.devices()[0]), 0.3)
    stage.server.delete(Node, old.spec.node_name)
    await stage.until(lambda: stage.says("DeviceFailed"))
    await stage.still(lambda: stage.devices()[0].status.prepared_for, 0.3)
    del stage.server.objects["pods", TEAM, "web-0"]
    await stage.until(lambda: moved(stage, old))


def told(device: ElasticGPU) -> str:
    """What its Ready condition complains of."""
    found = find_condition(device.status.conditions, READY)
    return found.message if found and found.status == "False" else ""


def ready(stage: Stage) -> tuple[str, str]:
    claim = stage.claim()
    found = find_condition(claim.status.conditions, READY) if claim else None
    return (found.status, found.reason) if found else ("", "")


def reclaimer(world: World) -> Reclaimer:
    return Reclaimer(world, Recorder(world.client, controller="x", instance="y"))


@pytest.mark.parametrize("loop", [reclaimer, Nodes])
async def test_nothing_is_lost_on_the_word_of_a_cache(
    stage: Stage, loop: Callable[[World], Reclaimer | Nodes]
) -> None:
    """A node that no cache shows is looked up: it is there, and nothing is written."""
    world = World(MemoryClient(stage.server), {})
    phase: DevicePhase = "Failed" if loop is Nodes else "Bound"
    owner = stage.server.add(build.claim(named="egpu-a", completed=True))
    made = build.device(phase=phase, of=build.ref(owner), finalizers=[NODE_FINALIZER])
    found = stage.server.add(made.with_status(reason=NODE_LOST if loop is Nodes else ""))
    stage.server.put(found.with_status(prepared_for=["gone"]), "status")
    world.devices.replace([stage.devices()[0].wire()], stage.server.version)
    world.claims.replace([owner.wire()], stage.server.version)
    one = loop(world)
    with pytest.raises(Retry, match="node node-a is there after all"):
        await one.reconcile(("", "egpu-a"))
    assert stage.server.writes == []
