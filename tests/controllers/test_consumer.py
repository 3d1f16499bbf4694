"""Claims that wait for their first pod, and claims that go together, over a server in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest

from elasticgpu.api.core import Event, Pod
from elasticgpu.api.elasticgpu import CardSlice, DeviceSource, ElasticGPU, ElasticGPUSpec
from elasticgpu.api.meta import ObjectMeta, find_condition
from elasticgpu.api.vocabulary import CORE, MEMORY
from elasticgpu.cluster.clock import microtime
from elasticgpu.cluster.events import Recorder
from elasticgpu.controllers import binder, companies, placing, pods, views, waking
from elasticgpu.rules import withdrawing

from .server import Crash
from .stage import TEAM, Stage
from .yard import Yard


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing takes long, and times are finer than a second."""
    monkeypatch.setattr(withdrawing, "PATIENCE", 0.04)
    monkeypatch.setattr(withdrawing, "RESOLUTION", 0.0)
    monkeypatch.setattr(views, "timestamp", microtime)
    monkeypatch.setattr(pods, "timestamp", microtime)
    monkeypatch.setattr(placing, "FIRST", 0.05)
    monkeypatch.setattr(binder, "LATER", 0.01)
    monkeypatch.setattr(waking, "SELDOM", 0.01)
    monkeypatch.setattr(waking, "WAKE_AFTER", 0.01)
    monkeypatch.setattr(companies, "SOON", 0.01)


@pytest.fixture
async def yard(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Yard]:
    """The stage with a class that waits for pods, and a scheduler."""
    hurry(monkeypatch)
    one = Yard(stage)
    work = asyncio.create_task(one.schedule())
    yield one
    work.cancel()
    await asyncio.wait((work,))


def notes(stage: Stage, about: str) -> list[str]:
    """Messages of the events about an object."""
    wires: list[dict[str, Any]] = [event.wire() for event in stage.server.all(Event)]
    return [wire["note"] for wire in wires if wire["regarding"]["name"] == about]


async def test_no_consumer_no_device(stage: Stage, yard: Yard) -> None:
    """Nothing is made before a pod names the claim; then it is bound, and the pod gets it."""
    await stage.start()
    yard.claim()
    await stage.until(lambda: stage.says("WaitForFirstConsumer"))
    assert stage.devices() == []
    await stage.until(lambda: ("Normal", "WaitForFirstConsumer") in stage.events())
    yard.pod()
    await stage.until(yard.scheduled)
    (device,) = stage.devices()
    assert yard.allocated() == [device.name]
    assert [e for e in stage.events() if e[0] == "Warning"] == []


async def test_pods_placed_at_once_are_counted_before_they_are_scheduled(
    stage: Stage, yard: Yard
) -> None:
    """Two pods that each take most of a node's CPU are not sent to the same one."""
    yard.takes = {"one": (), "two": ()}  # the scheduler is slow: it has not looked at them yet
    await stage.start()
    for name in ("one", "two"):
        yard.claim(name)
        yard.pod(name, claims=[name], cpu="3")
    nodes = await stage.until(lambda: _both(yard, "one", "two"))
    assert set(nodes) == {"node-a", "node-b"}


def _both(yard: Yard, *claims: str) -> list[str]:
    nodes = [yard.node_of(claim) for claim in claims]
    return nodes if all(nodes) else []


async def test_withdrawn_and_placed_on_the_next_node(stage: Stage, yard: Yard) -> None:
    """A node that the scheduler does not have the pod on is left; its words are on the pod."""
    yard.takes = {"web": ("node-b",)}
    await stage.start()
    yard.claim()
    yard.pod()
    assert await stage.until(yard.scheduled) == "node-b"
    assert yard.node_of() == "node-b"
    said = "node node-a does not take it (no free ports): its devices move to another node"
    await stage.until(lambda: said in notes(stage, "web"))
    await stage.until(lambda: len(stage.devices()) == 1)
    await stage.until(
        lambda: not excluded(stage),
    )


def excluded(stage: Stage, name: str = "train") -> list[str]:
    claim = stage.claim(name)
    return claim.status.excluded_nodes if claim else []


async def test_all_nodes_tried_in_vain(stage: Stage, yard: Yard) -> None:
    """Each node is named with the scheduler's words; after a pause all are tried again."""
    yard.takes = {"web": ()}
    await stage.start()
    yard.claim()
    yard.pod()
    said = await stage.until(lambda: stage.says("TriedInVain"))
    assert said.startswith(
        "every node that would do was tried in vain: node-a: no free ports; node-b: no free ports; "
        "all are tried again after"
    )
    await stage.until(lambda: any("tried in vain" in note for note in notes(stage, "web")))
    yard.takes = {"web": ("node-a",)}
    assert await stage.until(yard.scheduled) == "node-a"
    await stage.until(lambda: not excluded(stage))


async def test_an_immediate_claim_stays(stage: Stage, yard: Yard) -> None:
    """It is not moved for a pod, and the pod reads why it cannot run."""
    yard.takes = {"web": ("node-b",)}
    await stage.start()
    yard.claim(of="plain")
    yard.pod()
    said = (
        "ElasticGPUClaim train stays on node node-a, which does not take the pod (no free ports): "
        "devices of its class are placed at once, and not moved for a pod"
    )
    await stage.until(lambda: said in notes(stage, "web"))
    assert yard.node_of() == "node-a"
    assert yard.scheduled() == ""


async def test_both_claims_of_a_pod_move_together(stage: Stage, yard: Yard) -> None:
    """Neither stays where the other has been withdrawn."""
    yard.takes = {"web": ("node-b",)}
    await stage.start()
    yard.claim("train")
    yard.claim("eval")
    yard.pod(claims=["train", "eval"])
    assert await stage.until(yard.scheduled) == "node-b"
    assert _both(yard, "train", "eval") == ["node-b", "node-b"]
    await stage.until(lambda: len(stage.devices()) == 2)


async def test_a_shared_claim_stays_where_a_pod_runs(stage: Stage, yard: Yard) -> None:
    """The first pod decided; a second one that cannot run there says why, and the first runs on."""
    await stage.start()
    yard.claim(shared=True)
    yard.pod("first")
    node = await stage.until(lambda: yard.scheduled("first"))
    yard.takes = {"second": ()}
    yard.pod("second")
    await stage.until(
        lambda: any("pod first has it too" in note for note in notes(stage, "second"))
    )
    assert yard.node_of() == node


async def test_a_shared_claim_moves_while_none_of_its_pods_runs(stage: Stage, yard: Yard) -> None:
    """Two pods that wait for the same device move with it."""
    yard.takes = {"first": ("node-b",), "second": ("node-b",)}
    await stage.start()
    yard.claim(shared=True)
    yard.pod("first")
    yard.pod("second")
    for pod in ("first", "second"):
        assert await stage.until(lambda pod=pod: yard.scheduled(pod)) == "node-b"  # type: ignore[misc]


async def test_another_pod_starts_from_scratch(stage: Stage, yard: Yard) -> None:
    """What was excluded for a pod that is gone is not held against the next one."""
    yard.takes = {"web": (), "next": ("node-a",)}
    await stage.start()
    yard.claim()
    yard.pod()
    await stage.until(lambda: "node-a" in excluded(stage))
    yard.end()
    await stage.until(lambda: not excluded(stage))
    yard.pod("next")
    assert await stage.until(lambda: yard.scheduled("next")) == "node-a"


async def test_an_admins_device_is_free_again_when_it_is_withdrawn(
    stage: Stage, yard: Yard
) -> None:
    """A device made ahead on a node that would do is taken, and given back when it would not."""
    stage.server.add(ahead("made", "node-a"))
    yard.takes = {"web": ("node-b",)}
    await stage.start()
    yard.claim()
    yard.pod()
    assert await stage.until(yard.scheduled) == "node-b"
    await stage.until(lambda: _phase(stage, "made") == "Available")


def ahead(name: str, node: str, core: int = 10, of: str = "waits") -> ElasticGPU:
    part = CardSlice(gpu=f"card-{node[-1]}", core=core, memory="1Gi")
    return ElasticGPU(
        metadata=ObjectMeta(name=name),
        spec=ElasticGPUSpec(
            capacity={CORE: core, MEMORY: "1Gi"},
            elastic_gpu_class_name=of,
            node_name=node,
            source=DeviceSource(driver="example.com/plain", devices=[part]),
        ),
    )


def _phase(stage: Stage, name: str) -> str:
    device = stage.server.see(ElasticGPU, name)
    return device.status.phase if device else ""


async def test_claims_from_templates_are_one_decision(stage: Stage, yard: Yard) -> None:
    """Of two nodes only one has room for both: neither is placed on the other."""
    stage.server.add(ahead("filler", "node-a", core=50))
    yard.template("big", core=60, of="plain")
    yard.template("small", core=30, of="plain")
    await stage.start()
    await stage.until(lambda: _phase(stage, "filler") == "Available")
    yard.pod(claims=(), templates=["small", "big"])
    assert await stage.until(yard.scheduled) == "node-b"
    creates = [write for write in stage.server.writes if write.startswith("create elasticgpus ")]
    assert len(creates) == 2


async def test_colocated_by_hand(stage: Stage, yard: Yard) -> None:
    """The one that comes first waits for the other, whichever of them names the other."""
    stage.server.add(ahead("filler", "node-a", core=50))
    await stage.start()
    yard.claim("one", core=30, of="plain", colocate_with=["two"])
    await stage.until(lambda: stage.says("CompanyMissing", "one"))
    yard.claim("two", core=60, of="plain")
    assert await stage.until(lambda: _both(yard, "one", "two")) == ["node-b", "node-b"]
    yard.claim("three", core=10, of="plain", colocate_with=["one"])
    assert await stage.until(lambda: yard.node_of("three")) == "node-b"


async def test_bound_apart_is_said_on_claims_and_pod(stage: Stage, yard: Yard) -> None:
    """Claims on different nodes that a pod wants together: a condition, until the pod is gone."""
    await stage.start()
    yard.claim("one", core=60, of="plain")
    yard.claim("two", core=60, of="plain")
    await stage.until(lambda: _both(yard, "one", "two"))
    yard.pod(claims=["one", "two"])
    assert "but pod web wants them on one" in await stage.until(lambda: colocated(stage, "one"))
    assert "but pod web wants them on one" in await stage.until(lambda: colocated(stage, "two"))
    await stage.until(lambda: any("lie on different nodes" in note for note in notes(stage, "web")))
    yard.end()
    await stage.until(lambda: not colocated(stage, "one") and not colocated(stage, "two"))


def colocated(stage: Stage, name: str) -> str:
    claim = stage.claim(name)
    found = find_condition(claim.status.conditions, "Colocated") if claim else None
    return found.message if found else ""


async def test_a_request_that_grew_is_answered(stage: Stage) -> None:
    """The bound device stays as it is, and the claim says so."""
    await stage.start()
    stage.ask(of="plain")
    await stage.until(stage.bound)
    claim = stage.claim()
    assert claim is not None
    more = claim.spec.resources.but(requests={**claim.spec.resources.requests, CORE: 20})
    stage.server.put(claim.but(spec=claim.spec.but(resources=more)))

    def said() -> str:
        now = stage.claim()
        found = find_condition(now.status.conditions, "Resized") if now else None
        return found.message if found else ""

    message = await stage.until(said)
    assert "has 10% core, not 20%: a bound claim keeps its device" in message
    assert ("Warning", "DeviceTooSmall") in await stage.until(stage.events)


@pytest.mark.parametrize("kind", ["withdrawal", "templates"])
async def test_a_crash_after_every_write(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever write was the last: both claims end on the one node that takes the pod."""
    hurry(monkeypatch)
    monkeypatch.setattr(Recorder, "flush", unflushed)
    for at in count(1):
        if not await _crashing(kind, at):
            break
    assert at > 15


async def unflushed(self: Recorder, timeout: float) -> None:
    """A process that crashed sends nothing more, and nobody waits for it."""


async def _crashing(kind: str, at: int) -> bool:
    """One run with a crash after that write; whether there was one."""
    stage = Stage()
    yard = Yard(stage, takes={"web": ("node-b",) if kind == "withdrawal" else ("node-a", "node-b")})
    if kind == "withdrawal":
        names = ["train", "eval"]
        for name in names:
            yard.claim(name)
    else:
        stage.server.add(ahead("filler", "node-a", core=50).with_status(phase="Available"))
        names = ["web-egpu-0", "web-egpu-1"]
        yard.template("small", core=30)
        yard.template("big", core=60)
    left = count(1)
    crashed = []

    def fate(call: str, body: object) -> None:
        if call.startswith("after") and " events " not in call and next(left) == at:
            crashed.append(call)
            raise Crash

    work = asyncio.create_task(yard.schedule())
    await stage.start()
    stage.server.fate = fate  # what is written about classes at the start is not of this
    if kind == "withdrawal":
        yard.pod(claims=names)
    else:
        yard.pod(claims=(), templates=["small", "big"])
    try:
        await stage.until(lambda: crashed or yard.scheduled())
        if crashed:
            await stage.kill()
            await stage.start()
        assert await stage.until(yard.scheduled) == "node-b", crashed
        await stage.until(lambda: _both(yard, *names) == ["node-b", "node-b"])
        made = ["filler"] if kind == "templates" else []
        await stage.until(lambda: len(stage.devices()) == 2 + len(made))
        assert sorted(yard.allocated()) == sorted(
            device.name for device in stage.devices() if device.name not in made
        )
        pod = stage.server.see(Pod, "web", TEAM)
        assert pod is not None
        return bool(crashed)
    finally:
        work.cancel()
        await stage.end()
