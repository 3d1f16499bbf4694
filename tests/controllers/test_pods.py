"""What a pod is told, and when it gets another device, if the one of its claim is given up."""

from __future__ import annotations

import pytest

from elasticgpu.api.core import Event, Node
from elasticgpu.controllers import pods
from elasticgpu.rules.ledger import OVERCOMMITTED
from elasticgpu.rules.reclaiming import in_phase

from .server import NOW, Json, no_answer
from .stage import Stage
from .yard import Yard


def told(stage: Stage) -> list[str]:
    """What the pod was told."""
    wires = [event.wire() for event in stage.server.all(Event)]
    return [wire["note"] for wire in wires if wire["regarding"]["kind"] == "Pod"]


async def test_made_together_with_its_claim(stage: Stage) -> None:
    """A bind that takes its moment is no news: the pod is allocated without a word."""
    yard = Yard(stage)
    await stage.start()
    yard.claim(of="plain")
    yard.pod()
    await stage.until(lambda: all(yard.allocated()))
    assert told(stage) == []


async def test_a_bind_that_lasts(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bind that does not come to its end is said after a while."""
    monkeypatch.setattr(pods, "PASSING", 0.3)
    yard = Yard(stage)

    def fate(call: str, body: Json | None) -> None:
        if call == "before replace elasticgpuclaims/status train":
            raise no_answer()

    stage.server.fate = fate
    await stage.start()
    yard.claim(of="plain")
    yard.pod()
    await stage.still(lambda: told(stage) == [], 0.1)
    await stage.until(lambda: told(stage) == ["ElasticGPUClaim train is being bound"])


async def test_waiting_for_a_node_that_is_lost(stage: Stage) -> None:
    """A pod that has no node yet is allocated the claim's next device by itself."""
    yard = Yard(stage)
    await stage.start()
    yard.claim(of="plain")
    yard.pod()
    await stage.until(lambda: all(yard.allocated()))
    (old,) = stage.devices()
    stage.server.delete(Node, old.spec.node_name)
    await stage.until(lambda: yard.node_of() not in ("", old.spec.node_name))
    await stage.until(lambda: stage.claim().status.users and all(yard.allocated()))  # type: ignore[union-attr] # it is there


async def test_refused_by_the_node(stage: Stage) -> None:
    """A pod whose node refused the device is told to go; when it has, the claim is placed anew."""
    yard = Yard(stage)
    await stage.start()
    yard.claim(of="plain")
    pod = yard.pod()
    await stage.until(lambda: all(yard.allocated()))
    now = stage.server.see(type(pod), pod.name, pod.namespace)
    (old,) = stage.devices()
    assert now is not None
    stage.server.put(now.but(spec=now.spec.but(node_name=old.spec.node_name)))
    words = f"node {old.spec.node_name} refused it: full"
    failed = in_phase(old, "Failed", now=NOW, reason=OVERCOMMITTED, message=words)
    stage.server.put(failed, "status")
    await stage.until(lambda: any("delete this one" in note for note in told(stage)))
    assert words in stage.says("DeviceFailed")
    claim = stage.claim()
    assert claim is not None
    assert claim.status.phase == "Lost"
    yard.end()
    await stage.until(stage.bound)
    (new,) = stage.devices()
    assert new.uid != old.uid
