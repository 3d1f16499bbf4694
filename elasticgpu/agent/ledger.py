"""What this node has materialised, so that no crash forgets it: between Prepare and Unprepare.

One record a ResourceClaim (one pod, one device), in one file that is replaced as a whole: written
beside it, fsynced, renamed, and the directory fsynced. A record is on disk *before* anything it
stands for exists, and leaves only after all of that is gone.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Model, ObjectMeta, ObjectReference
from elasticgpu.errors import Refused
from elasticgpu.provisioner import ContainerEdits

State = Literal["preparing", "ready", "released", "stranded"]
VERSION = 1
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Record(Model):
    """A device in use by a pod through one ResourceClaim.

    `preparing`: some of it may exist. `ready`: all of it does, and `edits` are what the container
    gets. `released`: nothing is left on the node, the API server is still to be told.
    `stranded`: the API server says so, but no ledger knew it (a lost state directory).

    `device` is a copy, so that undoing needs neither the object nor the API server. `tag` is the
    pod's entry as variables name it, `request` that of the ResourceClaim.
    """

    resource_claim: ObjectReference
    pod: ObjectReference
    claim: ObjectReference
    device: ElasticGPU
    tag: str
    request: str
    state: State
    boot_id: str
    edits: ContainerEdits | None = None

    @property
    def uid(self) -> str:
        """The ResourceClaim's uid: the record's key, and the CDI device's name."""
        return self.resource_claim.uid

    @property
    def live(self) -> bool:
        """Whether a container may use the device by it."""
        return self.state != "released"


class Book(Model):
    """The file's content."""

    version: Literal[1]
    records: list[Record]


class Ledger:
    """The records in memory and on disk, which never differ but during a write."""

    def __init__(self, path: Path, records: Mapping[str, Record], boot_id: str) -> None:
        self.path = path
        self.boot_id = boot_id
        self._records = dict(records)
        self._writing = asyncio.Lock()
        self.changed: Callable[[], None] = lambda: None
        """Called after every change."""

    @classmethod
    def load(cls, path: Path, boot_id: str = "") -> Ledger:
        """The ledger of this file, or an empty one if there is none.

        Raises Refused for a file that cannot be understood.
        """
        records = {record.uid: record for record in _read(path)}
        return cls(path, records, boot_id or BOOT_ID.read_text().strip())

    def get(self, uid: str) -> Record | None:
        """The record of this ResourceClaim uid."""
        return self._records.get(uid)

    def all(self) -> list[Record]:
        """Every record, oldest first."""
        return list(self._records.values())

    def live(self) -> list[Record]:
        """Those by which a container may use a device."""
        return [record for record in self._records.values() if record.live]

    def sharing(self, record: Record) -> list[Record]:
        """The other live records of the same device: pods that share it."""
        return [r for r in self.live() if r.device.uid == record.device.uid and r.uid != record.uid]

    def modes(self) -> dict[str, str]:
        """The backend that has each card now, by card; cards without one are left out."""
        return {
            part.gpu: record.device.spec.source.driver
            for record in self.live()
            for part in record.device.spec.source.devices
        }

    async def put(self, record: Record) -> Record:
        """Write a record, new or changed; when this returns it outlives a crash."""
        await self._write({record.uid: record})
        return record

    async def drop(self, uid: str) -> None:
        """Forget a record, everything it stood for being gone."""
        await self._write({uid: None})

    async def _write(self, changes: Mapping[str, Record | None]) -> None:
        # A cancelled caller waits too: who comes after it must find what was written.
        writing = asyncio.ensure_future(self._replace(changes))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await writing
            raise

    async def _replace(self, changes: Mapping[str, Record | None]) -> None:
        async with self._writing:
            merged = {**self._records, **changes}
            records = {uid: record for uid, record in merged.items() if record is not None}
            book = Book(version=VERSION, records=list(records.values()))
            await asyncio.to_thread(_replace_file, self.path, book.model_dump_json(by_alias=True))
            self._records = records
        self.changed()


def snapshot(device: ElasticGPU) -> ElasticGPU:
    """What of a device is kept: which one it is, and what it is made of."""
    meta = ObjectMeta(name=device.name, uid=device.uid)
    return ElasticGPU(metadata=meta, spec=device.spec)


def _read(path: Path) -> list[Record]:
    try:
        return Book.model_validate_json(path.read_bytes()).records
    except FileNotFoundError:
        return []
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise Refused(
            f"{path} cannot be understood ({where}: {first['msg']}). It says which containers of "
            "this node hold which devices, so nothing starts without it: restore it; or, when no "
            "container that uses a GPU runs here any more, delete it"
        ) from error


def _replace_file(path: Path, text: str) -> None:
    aside = path.with_name(f"{path.name}.new")
    with aside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    aside.rename(path)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make renames in this directory outlive a power loss."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
