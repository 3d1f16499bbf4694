"""Device files of NVIDIA's cards: what a container must see to reach one.

Numbers are the driver's: cards and the control device have the fixed major 195, `nvidia-uvm` and
`nvidia-caps` one that the kernel chose, which /proc/devices tells. They are written down with the
numbers, so that the runtime makes the file by them and need not find it on the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from elasticgpu.api.gpu import GPU
from elasticgpu.host import DeviceNode

CARD_MAJOR = 195
CONTROL_MINOR = 255
MADE_UP = {"nvidia-uvm": 510, "nvidia-caps": 511}
"""Majors of simulated cards: no driver of that number need be there."""


def majors(table: Path = Path("/proc/devices")) -> dict[str, int]:
    """The majors of character devices by driver, as the kernel lists them."""
    characters = table.read_text(encoding="ascii").partition("Block devices:")[0]
    rows = (line.split() for line in characters.splitlines()[1:] if line.strip())
    return {name: int(number) for number, name in rows}


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


def character(path: str, major: int, minor: int) -> DeviceNode:
    """A character device that may be read and written."""
    return DeviceNode(path=path, type="c", major=major, minor=minor, permissions="rw")
