"""What a provisioner may answer instead of a device."""

from __future__ import annotations

import asyncio

import pytest

from elasticgpu.api.claim import GPUSelector
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.errors import NotOurs, Refused, Reschedule, Retry, Unavailable, Working
from tests.controllers.plugins import raises
from tests.controllers.stage import Stage

from .work import marked, unmarked

FAILING: list[tuple[str, BaseException, str]] = [
    ("temporary", Retry("quota is used up", after=0.02), "quota is used up"),
    ("unclear", ConnectionError("reset by peer"), "reset by peer"),
    ("timeout", TimeoutError(), "did not answer in time"),
    ("exits", SystemExit(3), "SystemExit(3)"),
    ("cancels-itself", asyncio.CancelledError(), "was cancelled"),
    ("an-api-error", Unavailable(503, "Busy", "try later"), "try later"),
]


@pytest.mark.parametrize(
    ("error", "said"), [pytest.param(error, said, id=name) for name, error, said in FAILING]
)
async def test_60_asked_again(stage: Stage, error: BaseException, said: str) -> None:
    """After what is no final answer the same request comes again, and the claim says why."""
    stage.backend.script = [raises(error)] * 3
    await stage.start()
    stage.ask()
    assert said in await stage.until(lambda: stage.says("ProvisioningFailed"))
    await stage.until(stage.bound)
    first, *others = stage.backend.requests
    assert len(others) == 3
    assert all((r.node, r.place, r.want) == (first.node, first.place, first.want) for r in others)
    await stage.told("ProvisioningFailed")


async def test_60_working_in_the_background(stage: Stage) -> None:
    """It is asked until it is done; that is no failure, and no event."""
    stage.backend.script = [raises(Working("40 % done", after=0.02))] * 3
    await stage.start()
    stage.ask()
    await stage.until(lambda: "40 % done" in stage.says("Provisioning"))
    await stage.until(stage.bound)
    assert len(stage.backend.requests) == 4
    assert stage.events() == []


async def test_never_sooner_than_it_says(stage: Stage) -> None:
    """`after` counts, whatever happens to the claim meanwhile."""
    stage.backend.script = [raises(Retry("an hour", after=3600))]
    await stage.start()
    stage.ask()
    await stage.until(lambda: stage.says("ProvisioningFailed"))
    claim = stage.claim()
    assert claim is not None
    stage.server.put(claim.with_metadata(labels={"a": "b"}))
    await stage.still(lambda: len(stage.backend.requests) == 1)
    assert marked(stage)


async def test_43_refused(stage: Stage) -> None:
    """Said once, nothing left behind, room given back; not asked again until something changes."""
    stage.backend.script = [raises(Refused("no contract for this team"))] * 3
    await stage.start()
    claim = stage.ask(core=100)
    await stage.until(lambda: stage.says("ProvisioningFailed") and unmarked(stage))
    assert "no contract for this team" in stage.says("ProvisioningFailed")
    stage.ask("other", of="plain", core=100)
    stage.ask("third", of="plain", core=100)
    await stage.until(lambda: stage.bound("other") and stage.bound("third"))
    await stage.still(lambda: len(stage.backend.requests) == 1)
    await stage.told("ProvisioningFailed")
    assert len(stage.events()) == 1
    for name in ("other", "third"):
        stage.delete(name)
    await stage.until(lambda: not stage.devices())
    await stage.still(lambda: len(stage.backend.requests) == 1)
    now = stage.claim()
    assert now is not None
    stage.server.put(now.but(spec=now.spec.but(gpu_selector=GPUSelector(node_name="node-b"))))
    await stage.until(lambda: len(stage.backend.requests) == 2 and unmarked(stage))
    assert stage.backend.requests[1].node == "node-b"
    gold = stage.server.see(ElasticGPUClass, "backend")
    assert gold is not None
    stage.server.delete(ElasticGPUClass, "backend")
    await stage.until(lambda: stage.says("UnknownClass"))
    stage.add_class(stage.backend)
    await stage.until(lambda: len(stage.backend.requests) == 3 and unmarked(stage))
    assert claim.uid == now.uid
    assert stage.devices() == []


async def test_refused_is_asked_again_slowly(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a refusal was about may change where nobody here sees it."""
    monkeypatch.setattr("elasticgpu.controllers.provisioning.SLOW", 0.1)
    stage.backend.script = [raises(Refused("no"))] * 2
    await stage.start()
    stage.ask()
    await stage.until(stage.bound)
    assert len(stage.backend.requests) == 3


async def test_54_rescheduled(stage: Stage) -> None:
    """The node is remembered until another one is found; nobody is to blame."""
    stage.backend.script = [raises(Reschedule("no uplink"))]
    await stage.start()
    stage.ask()
    await stage.until(stage.bound)
    assert [r.node for r in stage.backend.requests] == ["node-a", "node-b"]
    claim = stage.claim()
    assert claim is not None
    assert claim.status.excluded_nodes == []
    assert stage.events() == []


async def test_54_rescheduled_everywhere(stage: Stage) -> None:
    """Every node once, then it is said that all were tried, and there is a pause."""
    stage.backend.script = [raises(Reschedule("no uplink"))] * 5
    await stage.start()
    stage.ask()
    await stage.until(lambda: stage.says("TriedInVain") and unmarked(stage))
    await stage.still(lambda: len(stage.backend.requests) == 2)
    assert [r.node for r in stage.backend.requests] == ["node-a", "node-b"]


async def test_61_not_ours(stage: Stage) -> None:
    """Somebody else serves it: no object, no event, no retry, nothing left on the claim."""
    stage.backend.script = [raises(NotOurs())] * 3
    await stage.start()
    stage.ask()
    await stage.until(lambda: stage.backend.requests and stage.says("NotOurs") and unmarked(stage))
    await stage.still(lambda: len(stage.backend.requests) == 1)
    assert (stage.devices(), stage.events()) == ([], [])
