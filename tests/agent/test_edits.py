"""What a provisioner's answer leads to beside the CDI file: a condition, and a look at the pod."""

from __future__ import annotations

import asyncio

import pytest

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import find_condition
from elasticgpu.errors import Refused, Retry
from elasticgpu.provisioner import ContainerEdits, Host
from tests.agent.world import Share, World

ABSENT = "module none is not loaded: install it"
VOID = "NVIDIA_VISIBLE_DEVICES=void"


def refusing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    async def refuse(*_: object) -> ContainerEdits:
        raise error

    monkeypatch.setattr(Share, "prepare", refuse)


def bringing(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    """Each device of these names brings its own value of LIMIT."""

    async def bring(self: Share, device: ElasticGPU, host: Host) -> ContainerEdits:
        return ContainerEdits(env=[VOID, f"LIMIT={values[device.name]}"])

    monkeypatch.setattr(Share, "prepare", bring)


def prepared(world: World) -> tuple[str, str, str] | None:
    found = find_condition(world.see().status.conditions, "Prepared")
    return (found.status, found.reason, found.message) if found else None


async def test_a_refusal_is_a_condition(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written once for the same words, True once it is prepared after all, and then kept."""
    use = world.use("pod", world.claim("want", world.device()))
    agent = await world.start()
    with monkeypatch.context() as patched:
        refusing(patched, Refused(ABSENT))
        with pytest.raises(Refused, match=ABSENT):
            await agent.prepare(use)
        assert prepared(world) == ("False", "Refused", ABSENT)
        assert world.told == [ABSENT]
        writes = list(world.api.writes)
        with pytest.raises(Refused, match=ABSENT):
            await agent.prepare(use)
        assert world.api.writes == writes
    await agent.prepare(use)
    assert prepared(world) == ("True", "Prepared", "")
    await agent.unprepare(use)
    await agent.settler.round()
    assert world.is_clean()
    writes = list(world.api.writes)
    await agent.prepare(use)
    assert len(world.api.writes) == len(writes) + 2


@pytest.mark.parametrize("error", [None, Retry("soon", after=0.0)], ids=["none", "not-yet"])
async def test_no_condition(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    """A device that is prepared, or not yet, says nothing: that would be a write for each pod."""
    use = world.use("pod", world.claim("want", world.device()))
    agent = await world.start()
    if error is not None:
        refusing(monkeypatch, error)
        with pytest.raises(Retry, match="soon"):
            await agent.prepare(use)
    else:
        await agent.prepare(use)
    assert prepared(world) is None
    assert len(world.api.writes) == 2


async def test_refused_and_gone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever cannot be told by a condition, the pod hears why."""
    use = world.use("pod", world.claim("want", world.device()))
    agent = await world.start()

    async def vanish(self: Share, device: ElasticGPU, host: Host) -> ContainerEdits:
        self.world.api.remove(device)
        raise Refused(ABSENT)

    monkeypatch.setattr(Share, "prepare", vanish)
    with pytest.raises(Refused, match=ABSENT):
        await agent.prepare(use)
    assert world.told == [ABSENT]


async def test_one_variable_two_values(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two claims in one container whose variable differs one is refused, in whichever order
    they come: and it is served once the other is no longer there."""
    first = world.use("pod", world.claim("a", world.device("egpu-one", core=10)))
    second = world.use_too(first, world.claim("b", world.device("egpu-two", core=10)), "egpu-1")
    bringing(monkeypatch, **{"egpu-one": "1", "egpu-two": "2"})
    agent = await world.start()
    answers = await asyncio.gather(
        agent.prepare(first), agent.prepare(second), return_exceptions=True
    )
    (refusal,) = [one for one in answers if isinstance(one, Refused)]
    assert "container main uses ElasticGPUClaims a and b, which set LIMIT" in refusal.reason
    assert world.told == [refusal.reason]
    assert len(agent.node.folder.uids()) == 1
    served, refused = (first, second) if answers[1] is refusal else (second, first)
    await agent.unprepare(served)
    await agent.prepare(refused)
    await agent.unprepare(refused)
    await agent.settler.round()
    assert world.is_clean()


async def test_one_variable_one_value(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What both set alike is fine."""
    first = world.use("pod", world.claim("a", world.device("egpu-one", core=10)))
    second = world.use_too(first, world.claim("b", world.device("egpu-two", core=10)), "egpu-1")
    bringing(monkeypatch, **{"egpu-one": "1", "egpu-two": "1"})
    agent = await world.start()
    await asyncio.gather(agent.prepare(first), agent.prepare(second))
    assert len(agent.node.folder.uids()) == 2
