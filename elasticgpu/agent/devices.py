"""Device files of NVIDIA's cards: what a container must see to reach one.

Numbers are the driver's: cards and the control device have the fixed major 195, `nvidia-uvm` and
`nvidia-caps` one that the kernel chose, which /proc/devices tells. They are written down with the
numbers, so that the runtime makes the file by them and need not find it on the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from elasticgpu.api.gpu import GPU
from elasticgpu.errors import Refused
from elasticgpu.host import DeviceNode

CARD_MAJOR = 195
CONTROL_MINOR = 255
CAPABILITIES = Path("/proc/driver/nvidia/capabilities")
MADE_UP = {"nvidia-uvm": 510, "nvidia-caps": 511}
"""Majors of simulated cards: no driver of that number need be there."""


def nodes(card: GPU, known: Mapping[str, int]) -> list[DeviceNode]:
    """The card's own file, the control device and, where its driver is loaded, unified memory."""
    minor = card.status.minor
    found = [
        character(f"/dev/nvidia{minor}", CARD_MAJOR, minor),
        character("/dev/nvidiactl", CARD_MAJOR, CONTROL_MINOR),
    ]
    if uvm := known.get("nvidia-uvm"):
        found += [
            character("/dev/nvidia-uvm", uvm, 0),
            character("/dev/nvidia-uvm-tools", uvm, 1),
        ]
    return found


def capabilities(
    card: GPU, instance: int, compute: int, known: Mapping[str, int], told: Path = CAPABILITIES
) -> list[DeviceNode]:
    """The files that let a process onto a MIG instance: of its GPU and of its compute instance.

    Raises Refused if the driver tells of none: it is not there, or has no capabilities.
    """
    of_gpu = told / f"gpu{card.status.minor}" / "mig" / f"gi{instance}"
    return [_capability(path / "access", known) for path in (of_gpu, of_gpu / f"ci{compute}")]


def _capability(access: Path, known: Mapping[str, int]) -> DeviceNode:
    try:
        rows = (line.partition(":") for line in access.read_text(encoding="ascii").splitlines())
        minor = next(int(value) for name, _, value in rows if name == "DeviceFileMinor")
        return capability(minor, known["nvidia-caps"])
    except (OSError, StopIteration, KeyError, ValueError) as error:
        raise Refused(f"the driver tells of no device file by {access}: {error!r}") from error


def made_up_capabilities(card: GPU, instance: int, compute: int) -> list[DeviceNode]:
    """The same for a simulated card, numbered as the driver numbers: after the two of its own,
    each of 15 GPU instances a card has one, and one for each of its eight compute instances."""
    first = 3 + 9 * (15 * card.status.minor + instance)
    minors = (first, first + 1 + compute)
    return [capability(minor, MADE_UP["nvidia-caps"]) for minor in minors]


def capability(minor: int, major: int) -> DeviceNode:
    """The device file of one capability."""
    return character(f"/dev/nvidia-caps/nvidia-cap{minor}", major, minor)


def character(path: str, major: int, minor: int) -> DeviceNode:
    """A character device that may be read and written."""
    return DeviceNode(path=path, type="c", major=major, minor=minor, permissions="rw")
