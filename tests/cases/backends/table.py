"""The table that the tests leave: what the container saw, by backend."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tests.auditor import number
from tests.cases.backends.seen import Seen

PROPERTY = "backend"
"""Name of the report's property that holds a row."""
WIDTH = 118


@dataclass(frozen=True)
class Row:
    """One backend: of what card it gave what, and what was seen of it."""

    backend: str
    card: str
    environment: list[str]
    devices: list[str]
    mounts: list[str]

    @classmethod
    def of(cls, device: Mapping[str, Any], cards: Mapping[str, Any], seen: Seen) -> Row:
        """The row of a device that a container saw."""
        parts = device["spec"]["source"]["devices"]
        return cls(
            device["spec"]["source"]["driver"],
            ", ".join(said(part, cards.get(part["gpu"])) for part in parts),
            [f"{name}={value}" for name, value in seen.env.items()],
            [f"{path} {major}:{minor}" for path, (major, minor) in seen.devices.items()],
            [f"{at} ({mount.access})" for at, mount in seen.mounts.items()],
        )

    def plain(self) -> dict[str, object]:
        """As a report can carry it from another process."""
        return asdict(self)

    def lines(self) -> Iterator[str]:
        """As it is printed."""
        yield f"{self.backend}: {self.card or 'no card'}"
        for name in ("environment", "devices", "mounts"):
            text = "  ".join(sorted(getattr(self, name))) or "none"
            yield from textwrap.wrap(
                text, WIDTH, initial_indent=f"  {name:<13}", subsequent_indent=" " * 15,
                break_long_words=False, break_on_hyphens=False,
            )  # fmt: skip


def said(part: Mapping[str, Any], card: Mapping[str, Any] | None) -> str:
    """Which part of which card; one that is of no node has but its name."""
    core, memory = part.get("core", 0), number(part.get("memory", 0))
    status = card["status"] if card else {"index": part["gpu"], "model": "of no node"}
    return f"{core}% and {memory >> 20} MiB of card {status.get('index', 0)}, {status['model']}"
