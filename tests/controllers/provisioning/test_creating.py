"""The device is made, and the API server does not take it, or does not say so."""

from __future__ import annotations

import asyncio

import pytest

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.errors import ApiError, Forbidden, Invalid, Unavailable
from tests.controllers.fates import strikes
from tests.controllers.plugins import Backend, raises
from tests.controllers.stage import Stage

from .work import STRANGER, marked, spec, unmarked

LOST = Unavailable(0, "NoAnswer", "no answer")
INVALID = Invalid(422, "Invalid", "spec.source.handle: not like this")
FORBIDDEN = Forbidden(403, "Forbidden", "a policy says no")


async def test_46_create_fails_once(stage: Stage) -> None:
    """It is sent again; nothing is released and the backend not asked again."""
    stage.server.fate = strikes("before create elasticgpus", LOST, LOST)
    await stage.start()
    stage.ask()
    await stage.until(stage.bound)
    assert (len(stage.backend.requests), stage.backend.releases) == (1, [])


async def test_47_answer_lost(stage: Stage) -> None:
    """Created, and nobody was told: what exists is ours by its claimRef's uid, and is taken."""
    stage.server.fate = strikes("after create elasticgpus", LOST)
    await stage.start()
    stage.ask()
    await stage.until(stage.bound)
    assert (len(stage.devices()), stage.backend.releases) == (1, [])


async def test_45_47_the_name_is_anothers(stage: Stage) -> None:
    """An object of that name for another claim is not taken; what was made is released."""
    gate = asyncio.Event()

    async def wait(backend: Backend, request: object) -> ElasticGPU:
        while not gate.is_set():
            await asyncio.sleep(0.002)
        return backend.make(request)  # type: ignore[arg-type] # it is one

    stage.backend.script = [wait]
    await stage.start()
    claim = stage.ask()
    await stage.until(lambda: stage.backend.requests)
    (request,) = stage.backend.requests
    theirs = spec(claim_ref=STRANGER, reclaim_policy="Retain")(request.device())
    stage.server.add(theirs.with_metadata(annotations={}))
    gate.set()
    await stage.until(lambda: "not this claim's" in stage.says("ProvisioningFailed"))
    await stage.until(lambda: unmarked(stage))
    assert stage.backend.assets == {}
    (device,) = stage.devices()
    assert device.claim_uid != claim.uid


@pytest.mark.parametrize("error", [INVALID, FORBIDDEN], ids=["invalid", "forbidden"])
async def test_46_create_refused(stage: Stage, error: ApiError) -> None:
    """What the API server refuses for certain is released again, and the claim says why."""
    stage.server.fate = strikes("before create elasticgpus", error)
    await stage.start()
    stage.ask()
    await stage.until(lambda: stage.says("ProvisioningFailed") and unmarked(stage))
    assert error.message in stage.says("ProvisioningFailed")
    assert (stage.devices(), stage.backend.assets) == ([], {})
    assert len(stage.backend.releases) == 1
    await stage.told("ProvisioningFailed")


async def test_46_cleanup_fails_too(stage: Stage) -> None:
    """It is tried again until it is done; both are said, and the claim stays in progress."""
    stage.server.fate = strikes("before create elasticgpus", INVALID)
    stage.backend.release_script = [raises(ConnectionError("reset by peer"))] * 3
    await stage.start()
    stage.ask()
    assert "reset by peer" in await stage.until(lambda: stage.says("ProvisioningCleanupFailed"))
    assert marked(stage)
    await stage.until(lambda: stage.says("ProvisioningFailed") and unmarked(stage))
    assert stage.backend.assets == {}
    assert len(stage.backend.releases) == 4
    await stage.told("ProvisioningFailed", "ProvisioningCleanupFailed")


async def test_request_that_cannot_be_written_down(stage: Stage) -> None:
    """Nobody is asked for what a restart would not know of; the claim says why."""
    stage.server.fate = strikes("before replace elasticgpuclaims/status", INVALID)
    await stage.start()
    stage.ask()
    await stage.until(lambda: "cannot be written down" in stage.says("ProvisioningFailed"))
    await stage.until(lambda: unmarked(stage))
    assert stage.backend.requests == []
