"""A crash, a lost answer or a lost request at every single write of a claim's whole life.

Whatever happens, each life ends as it does without: nothing is orphaned outside the cluster, and
the backend, which checks it, is never asked for the same name in other words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from elasticgpu.api.names import PROVISIONING
from elasticgpu.errors import Invalid, Refused, Reschedule, Unavailable, Working

from .plugins import Backend, raises
from .server import Crash, Json
from .stage import Stage

Play = Callable[[Stage], Awaitable[None]]
INVALID = Invalid(422, "Invalid", "not like this")
COUNTED = ("elasticgpus", "elasticgpuclaims")


async def lives(stage: Stage) -> None:
    """Asked for, made in the background, bound."""
    stage.backend.script = [raises(Working("soon", after=0.01), made=True)] * 2
    stage.ask()
    await stage.until(stage.bound)
    await stage.until(lambda: stage.settled())


async def dies(stage: Stage) -> None:
    """Deleted while its provisioner is at work, by policy Delete."""
    stage.backend.script = [raises(Working("soon", after=0.01), made=True)] * 4
    stage.ask()
    await stage.until(lambda: len(stage.backend.requests) > 1)
    stage.delete()
    await stage.until(lambda: stage.claim() is None and not stage.devices())


async def dies_bound(stage: Stage) -> None:
    """Bound, then deleted; its release fails once."""
    stage.ask()
    await stage.until(stage.bound)
    stage.backend.release_script = [raises(ConnectionError("reset by peer"))]
    stage.delete()
    await stage.until(lambda: stage.claim() is None and not stage.devices())


async def dies_retained(stage: Stage) -> None:
    """The same in a class with policy Retain: the device stays, and says that it is Released."""
    stage.backend.script = [raises(TimeoutError(), made=True)] * 4
    stage.ask(of="gold")
    await stage.until(lambda: len(stage.backend.requests) > 1)
    stage.delete()
    await stage.until(lambda: stage.claim() is None)
    await stage.until(lambda: [d.status.phase for d in stage.devices()] == ["Released"])


async def refused(stage: Stage) -> None:
    """Refused by its provisioner, for good."""
    stage.backend.script = [raises(Refused("no"))] * 9
    stage.ask()
    await stage.until(lambda: stage.says("ProvisioningFailed") and stage.settled())


async def rescheduled(stage: Stage) -> None:
    """One node cannot, the other can."""

    def not_there(backend: Backend, request: Any) -> Any:
        if request.node == "node-a":
            raise Reschedule("not there")
        return backend.make(request)

    stage.backend.script = [not_there] * 9
    stage.ask()
    await stage.until(stage.bound)
    assert stage.devices()[0].spec.node_name == "node-b"
    await stage.until(lambda: stage.settled())


@dataclass
class Fault:
    """What happens at the `at`-th write of claims and devices; 0 for nothing at all."""

    stage: Stage
    kind: str = ""
    at: int = 0
    count: int = 0

    def __call__(self, call: str, body: Json | None) -> None:
        when, _, plural, *_ = call.split()
        if plural.partition("/")[0] not in COUNTED:
            return
        if when == "before":
            self.count += 1
            if (self.kind, self.at) == ("unsent", self.count):
                raise Unavailable(0, "NoAnswer", "it never arrived")
        elif self.at == self.count and self.kind == "lost":
            raise Unavailable(0, "NoAnswer", "the answer was lost")
        elif self.at == self.count and self.kind == "crash":
            raise Crash


async def play(stage: Stage, life: Play, fault: Fault) -> dict[str, object]:
    """One life with one fault; what is left of it."""
    stage.server.fate = fault
    stage.add_class(stage.backend, "gold", "Retain")
    await stage.start()
    watch = asyncio.create_task(_restart(stage))
    try:
        await life(stage)
        await stage.until(lambda: stage.settled())
    finally:
        watch.cancel()
    claim = stage.claim()
    return {
        "claim": claim and (claim.status.phase, claim.metadata.finalizers),
        "devices": [(d.status.phase, d.spec.node_name) for d in stage.devices()],
        "assets": len(stage.backend.assets),
    }


async def _restart(stage: Stage) -> None:
    """Start the controllers again when they have crashed."""
    while True:
        assert stage.client is not None
        if stage.client.dead:
            await stage.kill()
            await stage.start()
        await asyncio.sleep(0.002)


LIVES: list[Play] = [lives, dies, dies_bound, dies_retained, refused, rescheduled]


@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.__name__)
@pytest.mark.parametrize("kind", ["crash", "lost", "unsent"])
async def test_every_write(hasty: None, life: Play, kind: str) -> None:
    """It ends as it does without the fault, whichever write meets it."""
    clean = Fault(stage := Stage())
    want = await play(stage, life, clean)
    await stage.end()
    assert clean.count >= 4
    for at in range(1, clean.count + 1):
        stage = Stage()
        fault = Fault(stage, kind, at)
        assert await play(stage, life, fault) == want, f"{kind} at write {at}"
        assert fault.count >= at
        await stage.end()


@pytest.mark.parametrize("deleted", [False, True], ids=["lives", "deleted"])
async def test_crash_between_the_backends_create_and_ours(stage: Stage, deleted: bool) -> None:
    """The asset is there, nobody was told, and the process is gone: the next one finishes it."""
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def makes_and_waits(backend: Backend, request: Any) -> Any:
        backend.make(request)
        loop.call_soon_threadsafe(asked.set)
        await asyncio.Event().wait()

    stage.backend.script = [makes_and_waits]
    await stage.start()
    stage.ask()
    await asyncio.wait_for(asked.wait(), 30)
    await stage.kill()
    assert (len(stage.backend.assets), stage.devices()) == (1, [])
    claim = stage.claim()
    assert claim is not None
    assert claim.status.provisioning is not None
    assert PROVISIONING in claim.metadata.finalizers
    if deleted:
        stage.delete()
    await stage.start()
    if deleted:
        await stage.until(lambda: stage.claim() is None and not stage.devices())
        assert stage.backend.assets == {}
    else:
        await stage.until(stage.bound)
        assert len(stage.devices()) == len(stage.backend.assets) == 1
    assert len(stage.backend.requests) == 2
