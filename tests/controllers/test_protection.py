"""59: a claim or a device that somebody deletes stays for as long as somebody has it."""

from __future__ import annotations

from typing import Any

import pytest

from elasticgpu.api.claim import ClaimUser, ElasticGPUClaim
from elasticgpu.api.core import Pod
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.names import CLAIM_PROTECTION, PODS_LABEL
from elasticgpu.cluster.events import Recorder
from elasticgpu.controllers.binder import Binder
from elasticgpu.controllers.holders import Holders
from elasticgpu.controllers.protection import Protection
from elasticgpu.controllers.world import World
from elasticgpu.errors import Retry, Unavailable
from tests.rules import build

from .server import Json, MemoryClient, no_answer
from .stage import TEAM, Stage

LABELS = {PODS_LABEL: "true"}


async def bound(stage: Stage) -> ElasticGPU:
    await stage.start()
    stage.ask(of="plain")
    await stage.until(stage.bound)
    (made,) = stage.devices()
    return made


@pytest.mark.parametrize("node", ["", "node-a"], ids=["holder", "on a node"])
async def test_a_claim_in_use(stage: Stage, node: str) -> None:
    """It stays for its holder, and for a living pod on a node; it says for whom, once."""
    await bound(stage)
    pod = stage.server.add(build.pod(node=node, labels=LABELS))
    await stage.until(lambda: held(stage))
    stage.delete()
    await stage.still(lambda: stage.claim() is not None)
    assert ("Normal", "InUse") in await stage.until(stage.events)
    stage.server.put(pod.but(status=pod.status.but(phase="Succeeded")), "status")
    await stage.until(lambda: stage.claim() is None)
    assert stage.events().count(("Normal", "InUse")) == 1


def held(stage: Stage) -> bool:
    claim = stage.claim()
    return claim is not None and bool(claim.status.users)


async def test_a_claim_of_nobody(stage: Stage) -> None:
    """Pods that wait for a node or have ended keep nothing; nor do those of other claims."""
    await bound(stage)
    stage.server.add(build.pod("done", node="node-a", phase="Failed", labels=LABELS))
    stage.server.add(build.pod("other", claims=("other",), node="node-a", labels=LABELS))
    stage.delete()
    await stage.until(lambda: stage.claim() is None)


def terminating(stage: Stage, *names: str) -> World:
    """Caches that show these claims being deleted, and no pod."""
    world = World(MemoryClient(stage.server), {})
    for name in names:
        stage.server.add(build.claim(name).with_finalizers(CLAIM_PROTECTION))
        stage.server.delete(ElasticGPUClaim, name, TEAM)
    found = [claim.wire() for claim in stage.server.all(ElasticGPUClaim)]
    world.claims.replace(found, stage.server.version)
    return world


def protection(world: World) -> Protection:
    return Protection(world, Recorder(world.client, controller="x", instance="y"))


async def test_a_pod_unseen_by_the_cache(stage: Stage) -> None:
    """What no cache shows is read live before a claim goes."""
    world = terminating(stage, "train", "free")
    stage.server.add(build.pod(node="node-a", labels=LABELS))
    await protection(world).reconcile((TEAM, ""))
    assert [claim.name for claim in stage.server.all(ElasticGPUClaim)] == ["train"]
    stage.server.delete(Pod, "web-0", TEAM)
    await protection(world).reconcile((TEAM, ""))
    assert stage.server.all(ElasticGPUClaim) == []


async def test_a_holder_unseen_by_the_cache(stage: Stage) -> None:
    """Its row stays as long as the API server has the pod, and no longer."""
    world = World(MemoryClient(stage.server), {})
    pod = stage.server.add(build.pod(labels=LABELS))
    claim = build.claim(named="egpu-a", completed=True).with_status(phase="Bound")
    user = ClaimUser(pod_uid=pod.uid, pod_name=pod.name)
    claim = stage.server.add(claim.with_users([user]))
    world.claims.observed(claim)
    loop = Holders(world)
    with pytest.raises(Retry, match="there after all"):
        await loop.reconcile(claim.key)
    assert held(stage)
    stage.server.delete(Pod, pod.name, TEAM)
    await loop.reconcile(claim.key)
    assert not held(stage)


class Overtaken(MemoryClient):
    """The event of a device comes just before the answer to a look at it."""

    world: World

    async def raw(self, method: str, path: str, **options: Any) -> Json:
        answer = await super().raw(method, path, **options)
        if method == "GET" and "/elasticgpus/" in path:
            self.world.devices.put(answer)
        return answer


async def test_a_device_seen_while_it_was_looked_for(stage: Stage) -> None:
    """Nobody is told that it is lost: it was there all the time."""
    client = Overtaken(stage.server)
    client.world = World(client, {})
    claim = build.claim(named="egpu-a", completed=True).with_status(phase="Bound")
    claim = stage.server.add(claim)
    stage.server.add(build.device(of=build.ref(claim), phase="Bound"))
    client.world.claims.observed(claim)
    binder = Binder(client.world, Recorder(client, controller="x", instance="y"))
    with pytest.raises(Retry, match="seen too late"):
        await binder.reconcile(claim.key)
    await binder.reconcile(claim.key)
    assert stage.bound()


async def test_one_that_cannot_be_written_holds_up_no_other(stage: Stage) -> None:
    """All others of the namespace go; the error is raised, so that it is tried again."""
    world = terminating(stage, "a", "b", "c")

    def fate(call: str, body: Json | None) -> None:
        if call == "before replace elasticgpuclaims b":
            raise no_answer()

    stage.server.fate = fate
    with pytest.raises(Unavailable):
        await protection(world).reconcile((TEAM, ""))
    assert [claim.name for claim in stage.server.all(ElasticGPUClaim)] == ["b"]


async def test_a_device_deleted_under_its_claim(stage: Stage) -> None:
    """It stays, says why, and goes with its claim."""
    made = await bound(stage)
    stage.server.delete(ElasticGPU, made.name)
    assert ("Normal", "InUse") in await stage.until(stage.events)
    await stage.still(lambda: stage.devices() and stage.bound())
    assert stage.events() == [("Normal", "InUse")]
    stage.delete()
    await stage.until(lambda: not stage.devices() and stage.claim() is None)


async def test_claimref_taken_away(stage: Stage) -> None:
    """25: it is written again, and only that; device and claim hear of it."""
    await bound(stage)
    (now,) = stage.devices()
    before = len(stage.server.writes)
    stage.server.put(now.but(spec=now.spec.but(claim_ref=None)))
    await stage.until(lambda: stage.devices()[0].claim_uid == now.claim_uid)
    await stage.until(lambda: stage.events() == [("Warning", "ClaimRefTaken")] * 2)
    assert stage.bound()
    writes = [write for write in stage.server.writes[before:] if " events " not in write]
    assert writes == [f"replace elasticgpus {now.name}"]
