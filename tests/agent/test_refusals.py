"""What Prepare refuses, in which words, and what it waits for instead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from elasticgpu.agent import node as agent_node
from elasticgpu.agent import prepare
from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.meta import KubeObject
from elasticgpu.errors import ElasticGPUError, Refused, Retry
from elasticgpu.provisioner import ContainerEdits, Mount
from tests.agent.world import NAMESPACE, Share, Use, World, failing

Edit = Callable[[World, Use], None]


def change(obj: KubeObject, **parts: Any) -> Edit:
    """Merge these fields into an object's parts, as somebody with the right to does."""

    def edit(world: World, use: Use) -> None:
        now = world.api.see(type(obj), obj.name, obj.namespace)
        assert now is not None
        body = now.wire()
        for part, fields in parts.items():
            body[part] = {**body.get(part, {}), **fields}
        world.api.set(type(obj).model_validate(body))

    return edit


def pod(**parts: Any) -> Edit:
    return lambda world, use: change(use.pod, **parts)(world, use)


def claim(**parts: Any) -> Edit:
    return lambda world, use: change(use.claim, **parts)(world, use)


def resource_claim(**parts: Any) -> Edit:
    return lambda world, use: change(use.resource_claim, **parts)(world, use)


def device(**parts: Any) -> Edit:
    return lambda world, use: change(world.see(), **parts)(world, use)


def gone(kind: str) -> Edit:
    return lambda world, use: world.api.remove(getattr(use, kind))


def allocated(**fields: str) -> Edit:
    result = {"request": "egpu", "driver": "elasticgpu.io", "pool": "node-a", "device": "egpu-one"}
    return resource_claim(status={"allocation": {"devices": {"results": [{**result, **fields}]}}})


def another_device(world: World, use: Use) -> None:
    world.device("egpu-two")
    allocated(device="egpu-two")(world, use)


TWO_PODS = [{"resource": "pods", "name": n, "uid": f"uid-of-{n}"} for n in ("pod", "other")]
USER_MADE = {"resourceClaims": [{"name": "egpu-0", "resourceClaimName": "pod-egpu-0-x1"}]}
OTHERS = {"claimRef": {"namespace": "team", "name": "theirs", "uid": "uid-of-theirs"}}

FINAL: dict[str, tuple[Edit, str]] = {
    "resource claim gone": (gone("resource_claim"), "ResourceClaim .* does not exist"),
    "resource claim anew": (resource_claim(metadata={"uid": "new"}), "made anew"),
    "no device of ours": (allocated(driver="other.io"), "has 0 elasticgpu.io devices, not 1"),
    "other node's pool": (allocated(pool="node-b"), "on node node-b, this is node node-a"),
    "two pods": (resource_claim(status={"reservedFor": TWO_PODS}), "reserved for 2 pods"),
    "pod gone": (gone("pod"), "Pod team/pod does not exist"),
    "pod anew": (pod(metadata={"uid": "new"}), "pod pod was made anew"),
    "pod ended": (pod(status={"phase": "Succeeded"}), "pod pod has ended"),
    "pod elsewhere": (pod(spec={"nodeName": "node-b"}), "pod pod is on node node-b"),
    "named by the pod itself": (pod(spec=USER_MADE), "not made from an ElasticGPUClaim of pod"),
    "claim gone": (gone("claim"), "ElasticGPUClaim team/want does not exist"),
    "claim's device is another": (
        another_device,
        "has ElasticGPU egpu-one, the ResourceClaim was allocated egpu-two",
    ),
    "device gone": (allocated(device="egpu-no"), "ElasticGPU egpu-no does not exist"),
    "device elsewhere": (device(spec={"nodeName": "node-b"}), "egpu-one is on node-b"),
    "device leaving": (device(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), "deleted"),
    "device failed": (device(status={"phase": "Failed", "message": "why"}), "is Failed: why"),
    "device released": (device(status={"phase": "Released"}), "is Released"),
    "device another's": (device(spec=OTHERS), "belongs to team/theirs"),
    "card not here": (
        device(spec={"source": {"driver": "test.io/share", "devices": [{"gpu": "card-9"}]}}),
        "cut from card-9, which is not here",
    ),
    "provisioner not here": (
        device(spec={"source": {"driver": "no.io/no", "devices": [{"gpu": "card-0"}]}}),
        "no.io/no is not installed on this node; installed: other.io/mode, test.io/share",
    ),
}
WAITING: dict[str, tuple[Edit, str]] = {
    "not allocated": (resource_claim(status={"allocation": None}), "has no allocation"),
    "not reserved": (resource_claim(status={"reservedFor": []}), "is reserved for no pod"),
    "no node": (pod(spec={"nodeName": ""}), "has no node"),
    "not said": (pod(status={"resourceClaimStatuses": []}), "does not say yet"),
    "claim unnamed": (claim(spec={"elasticGPUName": ""}), "does not name its device yet"),
    "not handed": (claim(status={"users": []}), "not handed to this pod: no pod holds it yet"),
    "held": (
        claim(status={"users": [{"podUid": "x", "podName": "first"}]}),
        "not handed to this pod: held by pod first",
    ),
    "not bound": (device(status={"phase": "Available"}), "is not bound to"),
}


@pytest.mark.parametrize("name", FINAL)
async def test_refused(world: World, name: str) -> None:
    """What cannot come true is refused in a sentence, at once, and nothing is left behind."""
    edit, said = FINAL[name]
    use = world.use("pod", world.claim("want", world.device()))
    edit(world, use)
    agent = await world.start()
    with pytest.raises(Refused, match=said):
        await agent.prepare(use)
    await agent.unprepare(use)
    await agent.settler.round()
    assert world.is_clean()


@pytest.mark.parametrize("name", WAITING)
async def test_waited_for(world: World, name: str) -> None:
    """What may come true is waited for, then said; nothing is written meanwhile."""
    edit, said = WAITING[name]
    use = world.use("pod", world.claim("want", world.device()))
    edit(world, use)
    agent = await world.start()
    with pytest.raises(Retry, match=said):
        await agent.prepare(use)
    assert world.api.writes == []
    assert world.told == []
    assert world.is_clean()


async def test_comes_true(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim handed over while Prepare waits is prepared in the same call."""
    monkeypatch.setattr(prepare, "jittered", lambda *_, **__: 0.0)
    wanted = world.claim("want", world.device())
    use = world.use("pod", wanted)
    claim(status={"users": []})(world, use)
    agent = await world.start()
    asked = asyncio.create_task(agent.prepare(use))
    world.fate = lambda _: None
    while not asked.done() and not world.told:
        await asyncio.sleep(0)
        now = world.api.see(ElasticGPUClaim, "want", NAMESPACE)
        if now and not now.status.users:
            world.hand(wanted, use.pod)
    assert (await asked)[0].device == "egpu-one"


async def test_two_claims_of_a_pod(world: World) -> None:
    """Each ResourceClaim of a pod is resolved to its own entry, claim and variables."""
    first = world.use("pod", world.claim("a", world.device("egpu-one", core=10)))
    other = world.claim("b", world.device("egpu-two", core=20))
    second = world.use_too(first, other, "x.y")
    agent = await world.start()
    await asyncio.gather(agent.prepare(first), agent.prepare(second))
    record = agent.node.ledger.get(second.uid)
    assert record is not None
    assert record.edits is not None
    assert "ELASTICGPU_X_Y_CLAIM=team/b" in record.edits.env


async def test_claim_from_template(world: World) -> None:
    """An `egpuct-` entry means the claim that was made for this pod, `<pod>-<entry>`."""
    use = world.use("pod", world.claim("pod-egpu-0", world.device()))
    entries = [{"name": "egpu-0", "resourceClaimTemplateName": "egpuct-many"}]
    pod(spec={"resourceClaims": entries})(world, use)
    (answer,) = await (await world.start()).prepare(use)
    assert answer.device == "egpu-one"


NONSENSE: dict[str, tuple[object, str]] = {
    "nothing": (None, "answered NoneType, no edits"),
    "no variable": (ContainerEdits(env=["PATH"]), "'PATH' is no NAME=value"),
    "unknown field": (ContainerEdits.model_validate({"hooks": []}), "unknown field hooks"),
    "relative mount": (
        ContainerEdits(mounts=[Mount(host_path="a", container_path="/b")]),
        "paths begin with /",
    ),
    "raises": (RuntimeError("oh"), "test.io/share failed: RuntimeError: oh"),
    "refuses": (Refused("not this one"), "not this one"),
    "not yet": (Retry("soon", after=0.0), "soon"),
}


@pytest.mark.parametrize("name", NONSENSE)
async def test_plugin_fails(world: World, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin that fails or answers nonsense harms its own claim; Unprepare leaves nothing."""
    answer, said = NONSENSE[name]

    async def failing(*_: object) -> object:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(Share, "prepare", failing)
    use = world.use("pod", world.claim("want", world.device()))
    agent = await world.start()
    with pytest.raises(ElasticGPUError, match=said):
        await agent.prepare(use)
    assert agent.node.folder.uids() == []
    await agent.unprepare(use)
    await agent.settler.round()
    assert world.is_clean()


async def test_plugin_hangs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin that hangs is left alone after its time; other claims are served meanwhile."""
    monkeypatch.setattr(agent_node, "PLUGIN_TIMEOUT", 0.05)
    prompt = Share.prepare

    async def hanging(self: Share, device: Any, host: Any) -> ContainerEdits:
        if device.name == "egpu-one":
            await asyncio.Event().wait()
        return await prompt(self, device, host)

    monkeypatch.setattr(Share, "prepare", hanging)
    one = world.use("one", world.claim("a", world.device("egpu-one", core=10)))
    two = world.use("two", world.claim("b", world.device("egpu-two", core=10)))
    agent = await world.start()
    hung, served = await asyncio.gather(
        agent.prepare(one), agent.prepare(two), return_exceptions=True
    )
    assert isinstance(hung, Retry)
    assert "test.io/share did not answer" in str(hung)
    assert not isinstance(served, BaseException)
    assert served[0].device == "egpu-two"


async def test_unprepare_fails(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the provisioner cannot undo, the device stays taken; a later Unprepare ends it."""
    use = world.use("pod", world.claim("want", world.device()))
    agent = await world.start()
    await agent.prepare(use)
    with monkeypatch.context() as patched:
        patched.setattr(Share, "unprepare", failing(Refused("busy")))
        with pytest.raises(Refused, match="busy"):
            await agent.unprepare(use)
        await agent.settler.round()
        assert world.see().status.prepared_for == [use.pod.uid]
    await agent.unprepare(use)
    await agent.settler.round()
    assert world.is_clean()
