"""Made-up cards behave as the library says of real ones; device files are numbered as it does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from elasticgpu.agent import devices
from elasticgpu.agent.fleet import Fleet, Row
from elasticgpu.agent.inventory import InMigMode, Simulated
from elasticgpu.agent.simulated import SimulatedNvml
from elasticgpu.errors import Refused, Retry

FLEET = Fleet(
    nodes={"a": [Row(model="H200"), Row(model="A100-40GB", mig_enabled=True), Row(model="T4")]}
)
HOPPER, AMPERE, TURING = FLEET.cards("a")


def library() -> SimulatedNvml:
    return SimulatedNvml(FLEET.cards("a"))


async def test_what_a_card_is_at_first() -> None:
    """As the fleet file says; a card that cannot be cut has no such mode."""
    nvml = library()
    assert await nvml.mig_mode(HOPPER.name) == ("Disabled", "Disabled")
    assert await nvml.mig_mode(AMPERE.name) == ("Enabled", "Enabled")
    with pytest.raises(Refused, match="cannot be cut by MIG"):
        await nvml.mig_mode(TURING.name)
    assert await nvml.gpu_instances(AMPERE.name) == []


Call = Callable[[SimulatedNvml, str], Awaitable[object]]
REFUSED: list[tuple[str, Call, str]] = [
    ("overlap", lambda n, c: n.create_gpu_instance_with_placement(c, 9, 0), "insufficient res"),
    ("start", lambda n, c: n.create_gpu_instance_with_placement(c, 14, 5), "starts at 0, 2, 4"),
    ("profile", lambda n, c: n.create_gpu_instance_with_placement(c, 99, 0), "no profile of id"),
    ("second-compute", lambda n, c: n.create_compute_instance(c, 0), "insufficient resources"),
    ("no-instance", lambda n, c: n.create_compute_instance(c, 5), "no GPU instance 5"),
]


@pytest.mark.parametrize(
    ("call", "said"), [pytest.param(call, said, id=name) for name, call, said in REFUSED]
)
async def test_refused(call: Call, said: str) -> None:
    """What the library does not do, it says."""
    nvml, card = library(), AMPERE.name
    made = await nvml.create_gpu_instance_with_placement(card, 14, 0)
    await nvml.create_compute_instance(card, made.id)
    with pytest.raises(Refused, match=said):
        await call(nvml, card)
    with pytest.raises(Refused, match="not in MIG mode"):
        await nvml.create_gpu_instance_with_placement(HOPPER.name, 14, 0)


async def test_in_use() -> None:
    """A mode with instances, a GPU instance with a compute instance: not now."""
    nvml, card = library(), AMPERE.name
    made = await nvml.create_gpu_instance_with_placement(card, 14, 0)
    compute = await nvml.create_compute_instance(card, made.id)
    with pytest.raises(Retry, match="in use"):
        await nvml.destroy_gpu_instance(card, made.id)
    with pytest.raises(Retry, match="in use"):
        await nvml.set_mig_mode(card, "Disabled")
    await nvml.destroy_compute_instance(card, made.id, compute.id)
    await nvml.destroy_gpu_instance(card, made.id)
    await nvml.destroy_gpu_instance(card, made.id)
    with pytest.raises(Refused, match="pending"):
        await nvml.set_mig_mode(card, "Disabled")
    assert await nvml.mig_mode(card) == ("Enabled", "Disabled")
    nvml.reload()
    assert await nvml.mig_mode(card) == ("Disabled", "Disabled")


async def test_published_mode() -> None:
    """A card's status says the mode that it is in now; a card without MIG says nothing of it."""
    nvml = library()
    found = InMigMode(Simulated(FLEET, "a"), nvml)
    await nvml.set_mig_mode(HOPPER.name, "Enabled")
    modes = [card.status.mig_mode for card in await found.cards()]
    assert modes == ["Enabled", "Enabled", ""]
    unknown = InMigMode(Simulated(FLEET, "a"), SimulatedNvml())
    assert [card.status.mig_mode for card in await unknown.cards()] == ["Disabled", "Enabled", ""]


def test_capabilities(tmp_path: Path) -> None:
    """Minors are the driver's word, and its silence is a refusal."""
    gi = tmp_path / "gpu0" / "mig" / "gi3"
    (gi / "ci0").mkdir(parents=True)
    (gi / "access").write_text("DeviceFileMinor: 30\nDeviceFileMode: 292\nDeviceFileModify: 1\n")
    (gi / "ci0" / "access").write_text("DeviceFileMinor: 31\nDeviceFileMode: 292\n")
    found = devices.capabilities(HOPPER, 3, 0, {"nvidia-caps": 237}, tmp_path)
    assert [(node.path, node.major, node.minor) for node in found] == [
        ("/dev/nvidia-caps/nvidia-cap30", 237, 30),
        ("/dev/nvidia-caps/nvidia-cap31", 237, 31),
    ]
    for known, instance in (({}, 3), ({"nvidia-caps": 237}, 4)):
        with pytest.raises(Refused, match="tells of no device file"):
            devices.capabilities(HOPPER, instance, 0, known, tmp_path)
    (gi / "access").write_text("nothing\n")
    with pytest.raises(Refused, match="tells of no device file"):
        devices.capabilities(HOPPER, 3, 0, {"nvidia-caps": 237}, tmp_path)
