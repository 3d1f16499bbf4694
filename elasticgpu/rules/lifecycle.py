"""Which phase may follow which, and why: the life of a device and of a claim as two tables.

No code asks them: the rules lead through them by themselves, which a test walks them to show. They
are here to be read, and `picture` draws them. An object that has no phase yet counts as Pending.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

START = "Pending"
"""The phase of a new object, whether it says so or says nothing."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one phase to the next, and what leads there."""

    before: str
    after: str
    why: str


DEVICE = (
    Arrow("Pending", "Available", "made by an admin, and there is room"),
    Arrow("Pending", "Bound", "made for a claim: its bind"),
    Arrow("Pending", "Released", "made for a claim that is gone by now"),
    Arrow("Pending", "Failed", "no room, or its node is lost"),
    Arrow("Available", "Bound", "a claim takes it"),
    Arrow("Available", "Released", "the claim is gone before its bind was done"),
    Arrow("Available", "Failed", "its node is lost"),
    Arrow("Bound", "Released", "its claim is gone, or its pod goes elsewhere"),
    Arrow("Bound", "Available", "its claim took another, or was taken from it by hand"),
    Arrow("Bound", "Failed", "its node refuses it, or is lost"),
    Arrow("Released", "Available", "an admin took claimRef away, or its claim took another"),
    Arrow("Released", "Failed", "not released by its provisioner, or recycled on a lost node"),
    Arrow("Failed", "Available", "there is room now, its node is back, or it was recycled"),
    Arrow("Failed", "Bound", "its node is back, and its claim has not left"),
)
"""The phases of an ElasticGPU."""

CLAIM = (
    Arrow("Pending", "Bound", "its bind"),
    Arrow("Pending", "Lost", "its device failed before the bind was told"),
    Arrow("Bound", "Lost", "its device is gone, failed in use, or another's"),
    Arrow("Bound", "Pending", "its device is given up, and no pod has it"),
    Arrow("Lost", "Bound", "its device is there again"),
    Arrow("Lost", "Pending", "its device was given up, and the last pod has left it"),
)
"""The phases of an ElasticGPUClaim."""


def allowed(table: Iterable[Arrow], before: str, after: str) -> bool:
    """Whether an object may go from one phase to the other; staying is always allowed.

    >>> allowed(CLAIM, "", "Bound"), allowed(CLAIM, "Lost", "Lost")
    (True, True)
    >>> allowed(DEVICE, "Available", "Pending")
    False
    """
    was, now = before or START, after or START
    return was == now or any((arrow.before, arrow.after) == (was, now) for arrow in table)


def picture(table: Iterable[Arrow]) -> str:
    """The table as a Mermaid state diagram."""
    lines = [f"    {arrow.before} --> {arrow.after}: {arrow.why}" for arrow in table]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {START}", *lines])
