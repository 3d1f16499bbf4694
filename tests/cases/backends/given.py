"""A device as a promise is made of it: what the API server says, and where its node keeps files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.auditor import number
from tests.cases.backends.seen import Numbers

Object = dict[str, Any]


@dataclass(frozen=True)
class Given:
    """A device as the API server has it, with its cards in its order, and where its node keeps
    what the plugins make."""

    device: Object
    cards: tuple[Object, ...]
    run_dir: Path

    @property
    def driver(self) -> str:
        """The backend."""
        return str(self.device["spec"]["source"]["driver"])

    @property
    def name(self) -> str:
        """The device's name."""
        return str(self.device["metadata"]["name"])

    @property
    def part(self) -> Object:
        """The only part of a device on one card."""
        (part,) = self.device["spec"]["source"]["devices"]
        return dict(part)

    @property
    def memory(self) -> int:
        """Bytes of that part."""
        return number(self.part.get("memory", 0))

    @property
    def uuids(self) -> str:
        """Of the cards, as lists of them are written."""
        return ",".join(card["status"]["uuid"] for card in self.cards)

    def nodes(self) -> dict[str, Numbers]:
        """The driver's device files of these cards."""
        minors = [int(card["status"].get("minor", 0)) for card in self.cards]
        return {
            **{f"/dev/nvidia{minor}": (195, minor) for minor in minors},
            "/dev/nvidiactl": (195, 255),
            "/dev/nvidia-uvm": (510, 0),
            "/dev/nvidia-uvm-tools": (510, 1),
        }

    def folder(self) -> Path:
        """The plugin's folder that a reboot empties."""
        return self.run_dir / self.driver.replace("/", "_")
