"""What a class says of itself, and what its claims do meanwhile."""

from __future__ import annotations

import asyncio

from elasticgpu.api.gpuclass import ClassSpec, ElasticGPUClass
from elasticgpu.api.meta import ObjectMeta, find_condition
from elasticgpu.provisioner import Parameters
from elasticgpu.rules.accepting import PARAMETERS_ACCEPTED, VERIFIED

from .plugins import Plain
from .stage import Stage


class Sized(Parameters):
    """Of a provisioner that is told how large its shares are."""

    share_size: int = 10


class Tuned(Plain):
    """One with a parameter, which somebody has seen on hardware."""

    name = "example.com/tuned"
    parameters: Sized = Sized()
    verified = True


def gpu_class(name: str, of: str, **parameters: str) -> ElasticGPUClass:
    spec = ClassSpec(provisioner=of, parameters=parameters)
    return ElasticGPUClass(metadata=ObjectMeta(name=name), spec=spec)


def said(stage: Stage, name: str, kind: str = PARAMETERS_ACCEPTED) -> tuple[str, str, str]:
    """Status, reason and sentence of the class's condition of this type."""
    found = stage.server.see(ElasticGPUClass, name)
    condition = find_condition(found.status.conditions, kind) if found else None
    return (condition.status, condition.reason, condition.message) if condition else ("", "", "")


async def test_every_class_is_judged(stage: Stage) -> None:
    """Taken, refused by the field's name, or not known; and whether it was ever seen to work."""
    stage.server.add(gpu_class("good", Tuned.name, shareSize="20"))
    stage.server.add(gpu_class("bad", Tuned.name, shareSize="many"))
    stage.server.add(gpu_class("strange", "example.com/nobody"))
    await stage.start(Tuned())
    await stage.until(lambda: all(said(stage, n)[0] for n in ("good", "bad", "strange", "plain")))
    assert said(stage, "good") == ("True", "Accepted", "")
    assert said(stage, "good", VERIFIED)[0] == "True"
    status, reason, message = said(stage, "bad")
    assert (status, reason) == ("False", "BadParameters")
    assert message.startswith("parameters of example.com/tuned: shareSize: ")
    status, reason, message = said(stage, "strange")
    assert (status, reason) == ("Unknown", "NoProvisioner")
    assert message == (
        "provisioner example.com/nobody is not installed; installed: "
        "example.com/backend, example.com/plain, example.com/tuned"
    )
    assert said(stage, "plain", VERIFIED)[:2] == ("False", "NeverSeenOnHardware")
    await stage.told("BadParameters")


async def test_claims_of_a_refused_class_wait(stage: Stage) -> None:
    """They say why, and no device is made; one of a class that is made anew is bound."""
    stage.server.add(gpu_class("sized", Tuned.name, shareSize="many"))
    await stage.start(Tuned())
    stage.ask(of="sized")
    message = await stage.until(lambda: stage.says("BadParameters"))
    assert "class sized cannot serve: parameters of example.com/tuned: shareSize: " in message
    assert not stage.devices()
    stage.server.delete(ElasticGPUClass, "sized")
    stage.server.add(gpu_class("sized", Tuned.name, shareSize="20"))
    await stage.until(stage.bound)
    await stage.until(lambda: said(stage, "sized")[0] == "True")


async def test_it_is_said_once(stage: Stage) -> None:
    """Neither time nor a new controller writes what the class says already."""
    await stage.start()
    await stage.until(lambda: said(stage, "plain")[0] and said(stage, "backend")[0])
    before = stage.server.all(ElasticGPUClass)
    await stage.kill()
    await stage.start()
    stage.ask(of="plain")
    await stage.until(stage.bound)
    await asyncio.sleep(0.05)
    assert stage.server.all(ElasticGPUClass) == before


async def test_a_provisioner_that_is_installed_later(stage: Stage) -> None:
    """The next controller says that the class can serve now."""
    stage.server.add(gpu_class("sized", Tuned.name))
    await stage.start()
    await stage.until(lambda: said(stage, "sized")[0] == "Unknown")
    await stage.kill()
    await stage.start(Tuned())
    await stage.until(lambda: said(stage, "sized")[0] == "True")
