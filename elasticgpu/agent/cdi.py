"""CDI files: how the container runtime learns what a prepared device adds to a container.

One file a ResourceClaim, of kind `elasticgpu.io/claim`, with one device named by the
ResourceClaim's uid; the kubelet hands `elasticgpu.io/claim=<uid>` to the runtime, which looks it up
here. Format: CNCF Container Device Interface 0.5.0, the lowest version that knows `hostPath` and
device names that begin with a digit. Runtimes refuse a file with an unknown field as a whole.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError

from elasticgpu.api.meta import GROUP, Model
from elasticgpu.errors import Refused
from elasticgpu.provisioner import ContainerEdits

VERSION: Literal["0.5.0"] = "0.5.0"
KIND: Literal["elasticgpu.io/claim"] = "elasticgpu.io/claim"
PREFIX = f"{GROUP}-claim_"
"""Of a transient file: `<vendor>-<class>_<id>`."""
UNFINISHED = ".new"
"""Suffix of a file being written; runtimes read only `*.json` and `*.yaml`."""

DeviceName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?$", max_length=63)
]
_NODE_TYPES = (None, "b", "c", "u", "p")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=", re.ASCII)


class Device(Model):
    """One CDI device and what it adds to a container."""

    name: DeviceName
    container_edits: ContainerEdits


class Spec(Model):
    """One CDI file."""

    cdi_version: Literal["0.5.0"]
    kind: Literal["elasticgpu.io/claim"]
    devices: Annotated[list[Device], Field(min_length=1)]


def device_id(uid: str) -> str:
    """The full CDI name of a ResourceClaim's device, as the kubelet passes it on."""
    return f"{KIND}={uid}"


def spec(uid: str, edits: ContainerEdits) -> Spec:
    """The file of one ResourceClaim. Raises Refused if the edits would make it unreadable."""
    if said := fault(edits):
        raise Refused(f"the provisioner answered container edits that no runtime takes: {said}")
    try:
        device = Device(name=uid, container_edits=edits)
    except ValidationError as error:
        raise Refused(f"{uid!r} is no name for a CDI device") from error
    return Spec(cdi_version=VERSION, kind=KIND, devices=[device])


def fault(edits: ContainerEdits) -> str | None:
    """What of the edits a runtime would refuse, in words; None if nothing."""
    for part in (edits, *edits.device_nodes, *edits.mounts):
        if part.model_extra:
            return f"unknown field {', '.join(sorted(part.model_extra))}"
    for line in edits.env:
        if not _VARIABLE.match(line) or "\0" in line:
            return f"{line.partition('=')[0]!r} is no NAME=value"
    for node in edits.device_nodes:
        if not node.path.startswith("/") or node.type not in _NODE_TYPES:
            return f"device node {node.path!r} of type {node.type!r}"
    for mount in edits.mounts:
        if not (mount.host_path.startswith("/") and mount.container_path.startswith("/")):
            return f"mount {mount.host_path!r} on {mount.container_path!r}: paths begin with /"
    return None


class Folder:
    """The CDI directory, as far as it is ours."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, uid: str, edits: ContainerEdits) -> None:
        """Put the file there, whole or not at all.

        Renamed inside the directory: the runtimes' caches never notice a file that is renamed into
        it from elsewhere, or linked. No fsync: the directory is lost with a reboot anyhow, and
        what it holds is in the ledger.
        """
        text = spec(uid, edits).model_dump_json(by_alias=True, exclude_defaults=True, indent=1)
        aside = self.path / f".{PREFIX}{uid}{UNFINISHED}"
        aside.write_text(text, encoding="utf-8")
        aside.chmod(0o644)
        aside.rename(self.file(uid))

    def remove(self, uid: str) -> None:
        """Take the file away; it need not be there."""
        self.file(uid).unlink(missing_ok=True)

    def has(self, uid: str) -> bool:
        """Whether the file is there."""
        return self.file(uid).exists()

    def file(self, uid: str) -> Path:
        """Path of a ResourceClaim's file. Raises Refused for a uid that is no plain name."""
        if not uid or os.sep in uid or uid.startswith("."):
            raise Refused(f"{uid!r} is no uid of a ResourceClaim")
        return self.path / f"{PREFIX}{uid}.json"

    def uids(self) -> list[str]:
        """The ResourceClaims that have a file, sorted."""
        return sorted(p.stem.removeprefix(PREFIX) for p in self.path.glob(f"{PREFIX}*.json"))

    def sweep(self) -> None:
        """Remove what a crash in the middle of `write` left."""
        for leftover in self.path.glob(f".{PREFIX}*{UNFINISHED}"):
            leftover.unlink(missing_ok=True)
