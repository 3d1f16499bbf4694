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

OURS: dict[int, str] = {
    43: (
        "a class that is missing is waited for (UnknownClass), never taken for Immediate; an "
        "unknown provisioner is NoProvisioner"
    ),
    45: (
        "only if its claimRef.uid is this claim's; another's device of that name is left alone "
        "and said to be in the way"
    ),
    47: "AlreadyExists is success only if claimRef.uid is this claim's",
    49: (
        "provisioners run in process: finalizer and request are written to the claim before the "
        "first call, and nothing is said"
    ),
    52: "the consumer is a pod that names the claim, not an annotation on the claim",
    53: (
        "the controller chooses the node when the pod comes: a free device that fits there, or "
        "else a new one"
    ),
    54: (
        "no annotation to remove: Reschedule excludes the node on the claim, and another is "
        "chosen; final and in-progress answers exclude none"
    ),
    58: (
        "provisioners run in process: a device whose provisioner is not installed is Failed; "
        "the schema knows no policy but Retain and Delete"
    ),
    63: (
        "no assumed copy: what a decision takes is marked before its first write, which is lost "
        "to any newer version, and the cache is never older than an own write"
    ),
    64: (
        "nothing waits in PreBind: the bind goes on if the pod is deleted or claimRef is reset, "
        "and a device whose node has not taken the pod for ten seconds is given up for another"
    ),
    65: "the claims of one pod are one decision: a node for all of them, or none",
}
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
