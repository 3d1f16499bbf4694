"""The 65 scenarios in the words of the machinery they come from, and ours where they differ."""

import re
from pathlib import Path

_LINE = re.compile(r"(\d+)\. (.+)")

UPSTREAM: dict[int, str] = {
    int(found[1]): found[2]
    for line in (Path(__file__).parent / "upstream.txt").read_text().splitlines()
    if (found := _LINE.fullmatch(line))
}
"""What each scenario says of PersistentVolumes; in brackets the case it was taken from."""

EXCLUDED: dict[int, str] = {
    15: "wrong mode: a device has no volumeMode",
    23: "other modes: a claim has no accessModes",
    39: "wrong-mode volumes: a device has no volumeMode",
    58: "Recycle: an admin recycles by taking claimRef away (30)",
}
"""Halves that have no counterpart here, and why."""

OURS: dict[int, str] = {}
"""What a scenario says here, where the difference is on purpose."""

EVENTS: dict[str, str] = {
    "FailedBinding (Normal)": "NoDevice, NoClass (Normal)",
    "FailedBinding (Warning)": "DeviceTaken",
    "VolumeMismatch": "DeviceMismatch",
    "ClaimLost": "DeviceLost",
    "ClaimMisbound": "Misbound",
    "VolumeFailedDelete": "ReleaseFailed",
}
"""Reasons of events, by the origin's."""
