"""What happens to claim, card or plugin while a provisioner is at work."""

from __future__ import annotations

import pytest

from elasticgpu.api.elasticgpu import ReclaimPolicy
from elasticgpu.api.gpu import GPU
from elasticgpu.api.names import PROVISIONING
from elasticgpu.errors import Retry, Working
from tests.controllers.plugins import raises
from tests.controllers.stage import Stage

from .work import marked, unmarked

POLICIES: list[ReclaimPolicy] = ["Delete", "Retain"]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "answer", [Working("soon", after=0.02), TimeoutError()], ids=["working", "unclear"]
)
async def test_50_60_deleted_meanwhile(
    stage: Stage, answer: BaseException, policy: ReclaimPolicy
) -> None:
    """A claim that is deleted while its provisioner is at work is seen to the end: the device is
    stored, then reclaimed by its policy, and nothing is left outside the cluster."""
    stage.add_class(stage.backend, "gold", policy)
    stage.backend.script = [raises(answer, made=True)] * 4
    await stage.start()
    stage.ask(of="gold")
    await stage.until(lambda: len(stage.backend.requests) >= 2)
    stage.delete()
    await stage.until(lambda: stage.claim() is None)
    if policy == "Delete":
        await stage.until(lambda: stage.backend.releases and not stage.devices())
        assert stage.backend.assets == {}
    else:
        await stage.until(lambda: [d.status.phase for d in stage.devices()] == ["Released"])
        assert len(stage.backend.assets) == 1
        assert stage.backend.releases == []


async def test_deleted_after_a_final_answer(stage: Stage) -> None:
    """Nothing was under way: the claim goes at once, and nobody is asked anything."""
    stage.backend.script = [raises(Retry("an hour", after=3600))]
    await stage.start()
    stage.ask()
    await stage.until(lambda: stage.says("ProvisioningFailed"))
    stage.delete()
    await stage.until(lambda: stage.claim() is None)
    assert (len(stage.backend.requests), stage.devices()) == (1, [])


async def test_finalizer_taken_away(stage: Stage) -> None:
    """A claim that vanishes while its provisioner is at work is seen to the end all the same."""
    stage.backend.script = [raises(Working("soon", after=0.05), made=True)] * 4
    await stage.start()
    stage.ask()
    await stage.until(lambda: len(stage.backend.requests) >= 1 and marked(stage))
    claim = stage.claim()
    assert claim is not None
    stage.server.put(claim.without_finalizers(PROVISIONING))
    stage.delete()
    await stage.until(lambda: stage.backend.releases and not stage.devices())
    assert stage.backend.assets == {}


async def test_another_device_taken_meanwhile(stage: Stage) -> None:
    """A person who names a device does not stop what is under way: the spare one is reclaimed."""
    stage.ask("first", of="backend")
    await stage.start()
    await stage.until(lambda: stage.bound("first"))
    stage.backend.script = [raises(Working("soon", after=0.05), made=True)] * 4
    stage.ask()
    await stage.until(lambda: len(stage.backend.requests) >= 2 and marked(stage))
    (spare,) = stage.devices()
    made = spare.but(spec=spare.spec.but(claim_ref=None)).with_metadata(
        name="by-hand", uid="", resource_version="", annotations={}, finalizers=[]
    )
    source = spare.spec.source.but(devices=[])
    stage.server.add(made.but(spec=made.spec.but(source=source)).with_status(phase="Available"))
    claim = stage.claim()
    assert claim is not None
    stage.server.put(claim.but(spec=claim.spec.but(elastic_gpu_name="by-hand")))
    await stage.until(stage.bound)
    await stage.until(lambda: len(stage.devices()) == 2 and unmarked(stage))
    assert len(stage.backend.assets) == 1
    now = stage.claim()
    assert now is not None
    assert (now.status.phase, now.spec.elastic_gpu_name) == ("Bound", "by-hand")


async def test_room_is_counted_from_the_choice_on(stage: Stage) -> None:
    """While a provisioner is at work its place is taken, before a restart and after it."""
    stage.backend.script = [raises(Working("soon", after=0.03))] * 1000
    await stage.start()
    stage.ask("one", core=100)
    stage.ask("two", core=100)
    await stage.until(lambda: len({r.node for r in stage.backend.requests}) == 2)
    stage.ask("late", of="plain", core=10)
    assert "serves example.com/backend" in await stage.until(
        lambda: stage.says("NoCapacity", "late")
    )
    await stage.kill()
    late = stage.claim("late")
    assert late is not None
    stage.server.put(late.with_status(conditions=[]), "status")
    await stage.start()
    await stage.until(lambda: stage.says("NoCapacity", "late"))
    stage.backend.script.clear()
    await stage.until(lambda: stage.bound("one") and stage.bound("two"))


async def test_uninstalled_meanwhile(stage: Stage) -> None:
    """A claim whose provisioner is gone stays in progress and says what to do."""
    stage.backend.script = [raises(TimeoutError(), made=True)] * 1000
    await stage.start()
    stage.ask()
    await stage.until(lambda: len(stage.backend.requests) > 1)
    await stage.kill()
    await stage.start(without=stage.backend.name)
    said = await stage.until(
        lambda: (
            "not installed" in stage.says("ProvisioningFailed") and stage.says("ProvisioningFailed")
        )
    )
    assert f"remove the finalizer {PROVISIONING}" in str(said)
    stage.delete()
    await stage.still(lambda: marked(stage))
    claim = stage.claim()
    assert claim is not None
    stage.server.put(claim.without_finalizers(PROVISIONING))
    stage.ask("other", of="plain", core=100)
    stage.ask("third", of="plain", core=100)
    await stage.until(lambda: stage.bound("other") and stage.bound("third"))


async def test_card_gone_meanwhile(stage: Stage) -> None:
    """A restart repeats the request even if its card is not there any more."""
    stage.backend.script = [raises(Working("soon", after=0.02), made=True)] * 5
    await stage.start()
    stage.ask()
    await stage.until(lambda: len(stage.backend.requests) > 1)
    await stage.kill()
    stage.server.delete(GPU, stage.backend.requests[0].place.devices[0].gpu)
    await stage.start()
    await stage.until(stage.bound)
    first, *others = stage.backend.requests
    assert all(request.place == first.place for request in others)
