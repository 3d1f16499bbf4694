"""What a waiting claim says of devices that an admin could give back, as they come and go."""

from __future__ import annotations

import pytest

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.names import NODE_FINALIZER
from elasticgpu.controllers import binder, waking

from .stage import TEAM, Stage


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences are written as soon as they change; wakes are gathered for a moment only."""
    monkeypatch.setattr(binder, "PATIENCE", 0.0)
    monkeypatch.setattr(waking, "SELDOM", 0.02)


async def fill(stage: Stage) -> list[str]:
    """Both cards are taken, by claims whose devices outlive them; a third one waits."""
    stage.add_class(stage.plain, "kept", "Retain")
    await stage.start()
    for name in ("one", "two"):
        stage.ask(name, of="kept", core=100)
        await stage.until(lambda name=name: stage.bound(name))  # type: ignore[misc]
    stage.ask("third", of="kept", core=50)
    said = await stage.until(lambda: stage.says("NoCapacity", "third"))
    assert "Released" not in said
    claims = [stage.claim(name) for name in ("one", "two")]
    return [claim.spec.elastic_gpu_name for claim in claims if claim]


def device(stage: Stage, name: str) -> ElasticGPU:
    found = stage.server.see(ElasticGPU, name)
    assert found is not None
    return found


async def test_devices_that_become_idle(stage: Stage) -> None:
    """Each that is Released is told to whoever waits, with the command that helps."""
    one, two = await fill(stage)
    stage.delete("one")
    said = await stage.until(lambda: _told(stage, "1 Released device holds 100% core"))
    assert f"elasticgpu release {one}" in said
    stage.delete("two")
    await stage.until(lambda: _told(stage, "2 Released devices hold 200% core"))
    assert {d.name: d.status.phase for d in stage.devices()} == {one: "Released", two: "Released"}


async def test_a_device_that_its_node_still_has(stage: Stage) -> None:
    """It is told once the node has let go of it, not before: nobody could give it back."""
    one, _ = await fill(stage)
    stage.server.put(device(stage, one).with_finalizers(NODE_FINALIZER))
    stage.delete("one")
    await stage.until(lambda: device(stage, one).status.phase == "Released")
    await stage.still(lambda: not _told(stage, "Released"))
    stage.server.put(device(stage, one).without_finalizers(NODE_FINALIZER))
    await stage.until(lambda: _told(stage, "1 Released device holds"))


def _told(stage: Stage, words: str) -> str:
    claim = stage.claim("third")
    assert claim is not None
    assert (claim.namespace, claim.status.phase) == (TEAM, "Pending")
    said = stage.says("NoCapacity", "third")
    return said if words in said else ""
