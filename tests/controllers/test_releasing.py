"""Reclaiming devices whose provisioner has to free something outside the cluster.

Numbers are the scenarios of Kubernetes' PersistentVolume tests.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.names import NODE_FINALIZER
from elasticgpu.errors import (
    Conflict,
    NotOurs,
    Refused,
    Reschedule,
    Retry,
    Unavailable,
    Working,
)

from .fates import strikes
from .plugins import Backend, raises
from .stage import Stage

LOST = Unavailable(0, "NoAnswer", "no answer")


def only(stage: Stage) -> ElasticGPU:
    """The one device there is."""
    (device,) = stage.devices()
    return device


def phase(stage: Stage) -> str:
    """Its phase."""
    return only(stage).status.phase if stage.devices() else "gone"


async def released(stage: Stage) -> None:
    """A claim was bound, and is deleted."""
    await stage.start()
    stage.ask()
    await stage.until(stage.bound)
    stage.delete()


async def test_55_released_and_deleted(stage: Stage) -> None:
    """The backend frees it, then the object goes; nothing is said of it."""
    await released(stage)
    await stage.until(lambda: phase(stage) == "gone")
    assert (len(stage.backend.releases), stage.backend.assets) == (1, {})
    assert stage.events() == []
    assert [call.split()[0] for call in stage.server.writes if " elasticgpus" in call][-3:] == [
        "replace",  # Released
        "delete",
        "replace",  # our finalizer goes
    ]


async def test_55_the_default_asks_nobody(stage: Stage) -> None:
    """A plugin with nothing outside the cluster: the object goes."""
    await stage.start()
    stage.ask(of="plain")
    await stage.until(stage.bound)
    stage.delete()
    await stage.until(lambda: phase(stage) == "gone")


async def test_55_retained(stage: Stage) -> None:
    """Kept, Released, and nobody asked; until an admin says Delete."""
    stage.add_class(stage.backend, "gold", "Retain")
    await stage.start()
    stage.ask(of="gold")
    await stage.until(stage.bound)
    stage.delete()
    await stage.until(lambda: phase(stage) == "Released")
    await stage.still(lambda: stage.backend.releases == [])
    device = only(stage)
    stage.server.put(device.but(spec=device.spec.but(reclaim_policy="Delete")))
    await stage.until(lambda: phase(stage) == "gone")
    assert stage.backend.assets == {}


async def test_55_policy_is_read_from_the_device_at_that_time(stage: Stage) -> None:
    """Changed while it was bound, it counts."""
    await stage.start()
    stage.ask()
    await stage.until(stage.bound)
    device = only(stage)
    stage.server.put(device.but(spec=device.spec.but(reclaim_policy="Retain")))
    stage.delete()
    await stage.until(lambda: phase(stage) == "Released")
    await stage.still(lambda: stage.backend.releases == [])


@pytest.mark.parametrize("bound", [True, False], ids=["before-the-claim", "after-the-claim"])
async def test_55_deleted_by_a_person(stage: Stage, bound: bool) -> None:
    """An object that somebody deletes stays until the backend has freed what it stands for."""
    stage.backend.release_script = [raises(ConnectionError("reset"))] * 2
    await stage.start()
    stage.ask()
    await stage.until(stage.bound)
    if not bound:
        stage.delete()
    stage.server.delete(ElasticGPU, only(stage).name)
    if bound:
        await stage.still(lambda: phase(stage) == "Bound")
        stage.delete()
    await stage.until(lambda: phase(stage) == "gone")
    assert (len(stage.backend.releases), stage.backend.assets) == (3, {})


FAILING: list[tuple[str, BaseException, str, str, list[str]]] = [
    ("backend-error", ConnectionError("reset"), "Failed", "reset", ["ReleaseFailed"]),
    ("refused", Refused("in use"), "Failed", "in use", ["ReleaseFailed"]),
    ("timeout", TimeoutError(), "Failed", "in time", ["ReleaseFailed"]),
    ("reschedule", Reschedule("?"), "Failed", "?", ["ReleaseFailed"]),
    ("temporary", Retry("in use", after=0.05), "Released", "in use", []),
    ("working", Working("40 %", after=0.05), "Released", "40 %", []),
]


@pytest.mark.parametrize(
    ("error", "shown", "said", "warnings"),
    [pytest.param(*row, id=name) for name, *row in FAILING],
)
async def test_56_not_released(
    stage: Stage, error: BaseException, shown: str, said: str, warnings: list[str]
) -> None:
    """The device says why, holds its room, and is released on a later try."""
    stage.backend.release_script = [raises(error)] * 4
    await released(stage)
    await stage.until(lambda: phase(stage) == shown and said in only(stage).status.message)
    await stage.until(lambda: phase(stage) == "gone")
    assert (len(stage.backend.releases), stage.backend.assets) == (5, {})
    await stage.told(*warnings)


async def test_56_room_is_held_while_failed(stage: Stage) -> None:
    """What is not released is nobody else's."""
    stage.backend.release_script = [raises(ConnectionError("reset"))] * 10_000
    await stage.start()
    for name in ("one", "two"):
        stage.ask(name, core=100)
    await stage.until(lambda: stage.bound("one") and stage.bound("two"))
    stage.delete("one")
    stage.ask("late", core=100)
    await stage.until(lambda: "Failed" in {device.status.phase for device in stage.devices()})
    await stage.until(lambda: stage.says("NoCapacity", "late"))
    stage.backend.release_script.clear()
    await stage.until(lambda: stage.bound("late"))


async def test_56_no_provisioner(stage: Stage) -> None:
    """Nothing can release it: Failed, with the way out; and released once it is installed again."""
    await stage.start()
    stage.ask()
    await stage.until(stage.bound)
    await stage.kill()
    await stage.start(without=stage.backend.name)
    stage.delete()
    await stage.until(lambda: phase(stage) == "Failed")
    assert only(stage).status.reason == "ReleaseFailed"
    assert "is not installed" in only(stage).status.message
    await stage.told("ReleaseFailed")
    await stage.kill()
    await stage.start()
    await stage.until(lambda: phase(stage) == "gone")
    assert stage.backend.assets == {}


async def test_56_recycled_instead(stage: Stage) -> None:
    """An admin clears claimRef of one that could not be released: it is Available again."""
    stage.backend.release_script = [raises(Refused("in use")), raises(Retry("", after=3600))]
    await released(stage)
    await stage.until(lambda: phase(stage) == "Failed" and len(stage.backend.releases) == 2)
    device = only(stage)
    stage.server.put(device.but(spec=device.spec.but(claim_ref=None)))
    await stage.until(lambda: phase(stage) == "Available")
    stage.ask("next")
    await stage.until(lambda: stage.bound("next"))
    assert only(stage).claim_uid != device.claim_uid
    stage.delete("next")
    await stage.until(lambda: phase(stage) == "gone")
    assert stage.backend.assets == {}


async def test_57_changed_since_it_was_decided(stage: Stage) -> None:
    """A device that is another's by then, though no cache knows, is not released."""
    stage.add_class(stage.backend, "gold", "Retain")
    await stage.start()
    stage.ask(of="gold")
    await stage.until(stage.bound)
    stage.delete()
    await stage.until(lambda: phase(stage) == "Released")
    assert stage.client is not None
    device = only(stage)
    stage.server.put(device.but(spec=device.spec.but(reclaim_policy="Delete")))
    stage.client.until = stage.server.version
    stage.server.put(device.but(spec=device.spec.but(claim_ref=None)))
    await stage.still(lambda: stage.backend.releases == [])
    stage.client.until = None
    await stage.until(lambda: phase(stage) == "Available")
    assert stage.backend.releases == []


async def test_57_a_new_claim_of_the_same_name_does_not_stop_it(stage: Stage) -> None:
    """It is the uid that counts."""
    stage.backend.release_script = [raises(Retry("in use", after=0.02))] * 3
    await released(stage)
    await stage.until(lambda: stage.claim() is None)
    stage.ask()
    await stage.until(lambda: stage.bound() and len(stage.devices()) == 1)
    assert len(stage.backend.assets) == 1


@pytest.mark.parametrize(
    "error", [LOST, Conflict(409, "Conflict", "modified")], ids=["lost", "conflict"]
)
async def test_62_object_deletion_fails(stage: Stage, error: Any) -> None:
    """The backend has freed it; the object goes on a later try, its finalizer last."""
    stage.server.fate = strikes("before delete elasticgpus", error, error)
    await released(stage)
    await stage.until(lambda: phase(stage) == "gone")
    assert stage.backend.assets == {}
    ends = [call for call in stage.server.writes if "elasticgpus" in call][-2:]
    assert [call.split()[0] for call in ends] == ["delete", "replace"]


async def test_62_crash_after_the_backend_freed_it(stage: Stage) -> None:
    """It is asked once more, and succeeds again."""
    freed = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def frees_and_waits(backend: Backend, device: ElasticGPU) -> None:
        backend.assets.clear()
        loop.call_soon_threadsafe(freed.set)
        await asyncio.Event().wait()

    stage.backend.release_script = [frees_and_waits]
    await released(stage)
    await asyncio.wait_for(freed.wait(), 30)
    await stage.kill()
    assert phase(stage) == "Released"
    await stage.start()
    await stage.until(lambda: phase(stage) == "gone")
    assert len(stage.backend.releases) == 2


async def test_61_not_ours(stage: Stage) -> None:
    """Somebody else releases it: it stays as it is, and nothing is said or tried again."""
    stage.backend.release_script = [raises(NotOurs())] * 2
    await released(stage)
    await stage.until(lambda: stage.backend.releases)
    await stage.still(lambda: phase(stage) == "Released")
    assert (len(stage.backend.releases), stage.events()) == (1, [])
    assert only(stage).status.message == ""


async def test_not_before_the_node_let_go(stage: Stage) -> None:
    """While a node may still have it in use, nothing is freed under a container."""
    await stage.start()
    stage.ask()
    await stage.until(stage.bound)
    stage.server.put(only(stage).with_finalizers(NODE_FINALIZER))
    stage.delete()
    await stage.until(lambda: phase(stage) == "Released")
    await stage.still(lambda: stage.backend.releases == [])
    stage.server.put(only(stage).without_finalizers(NODE_FINALIZER))
    await stage.until(lambda: phase(stage) == "gone")
    assert len(stage.backend.releases) == 1
