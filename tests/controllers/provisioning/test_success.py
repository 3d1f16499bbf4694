"""Devices that are made, those that need not be, and those that nobody makes."""

from __future__ import annotations

from elasticgpu.api.elasticgpu import CardSlice, ElasticGPUStatus
from elasticgpu.api.names import CLAIM_PROTECTION
from elasticgpu.errors import Retry
from tests.controllers.plugins import raises
from tests.controllers.stage import Stage


def written(stage: Stage) -> list[str]:
    """The writes, but for those that tell of classes: they come at any time."""
    return [write for write in stage.server.writes if "elasticgpuclasses" not in write]


async def test_42_success(stage: Stage) -> None:
    """The request is on the claim before the backend is asked; four writes later it is Bound."""
    await stage.start()
    claim = stage.ask()
    await stage.until(stage.bound)
    name = f"egpu-{claim.uid}"
    assert written(stage) == [
        "replace elasticgpuclaims train",
        "replace elasticgpuclaims/status train",
        f"create elasticgpus {name}",
        f"replace elasticgpus/status {name}",
        "replace elasticgpuclaims train",
        "replace elasticgpuclaims/status train",
    ]
    bound = stage.claim()
    assert bound is not None
    assert bound.metadata.finalizers == [CLAIM_PROTECTION]
    assert bound.status.provisioning is None
    assert stage.events() == []
    assert list(stage.backend.assets) == [name]
    assert len(stage.backend.requests) == 1
    (device,) = stage.devices()
    assert device.spec.source.handle == f"asset-of-{name}"
    assert device.spec.source.attributes == {"cut": "card-a"}


async def test_49_the_default_needs_four_writes(stage: Stage) -> None:
    """A plugin that builds the object alone can orphan nothing: no finalizer, nothing written."""
    await stage.start()
    claim = stage.ask(of="plain")
    await stage.until(stage.bound)
    assert written(stage) == [
        f"create elasticgpus egpu-{claim.uid}",
        f"replace elasticgpus/status egpu-{claim.uid}",
        "replace elasticgpuclaims train",
        "replace elasticgpuclaims/status train",
    ]


async def test_44_free_device_first(stage: Stage) -> None:
    """What is there already is taken, and no provisioner is asked."""
    await stage.start()
    stage.ask("first")
    await stage.until(lambda: stage.bound("first"))
    (device,) = stage.devices()
    ready = device.but(spec=device.spec.but(claim_ref=None)).with_metadata(
        name="ready", uid="", resource_version="", finalizers=[]
    )
    source = device.spec.source.but(devices=[CardSlice(gpu="card-a", core=10, memory="10Gi")])
    stage.server.add(ready.but(spec=ready.spec.but(source=source), status=ElasticGPUStatus()))
    await stage.until(lambda: "Available" in {device.status.phase for device in stage.devices()})
    stage.ask()
    await stage.until(stage.bound)
    assert len(stage.backend.requests) == 1


async def test_48_never_provisioned(stage: Stage) -> None:
    """Class "" and no class at all: nobody is asked."""
    await stage.start()
    stage.ask("never", of="")
    await stage.until(lambda: stage.says("NoDevice", "never"))
    assert (stage.backend.requests, stage.devices()) == ([], [])


async def test_43_unknown_class_and_provisioner(stage: Stage) -> None:
    """Said on the claim, and no object is made."""
    await stage.start(without=stage.backend.name)
    stage.ask("one", of="gold")
    stage.ask("two", of="backend")
    await stage.until(lambda: stage.says("UnknownClass", "one"))
    await stage.until(lambda: stage.says("NoProvisioner", "two"))
    assert stage.devices() == []


async def test_many_at_once(stage: Stage) -> None:
    """Twenty claims of a provisioner that fails now and then, each gets its own device."""
    stage.backend.script = [
        raises(Retry("busy", after=0.01)),
        raises(TimeoutError(), made=True),
    ] * 8
    await stage.start()
    for number in range(16):
        stage.ask(f"c{number}", core=5)
    await stage.until(lambda: all(stage.bound(f"c{number}") for number in range(16)))
    assert len(stage.devices()) == len(stage.backend.assets) == 16
