"""Layers of container images: tar files written entry by entry."""

import io
import os
import tarfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO, Self


class Layer:
    """A layer being written; everything in it belongs to root and may be read by everyone."""

    def __init__(self, out: IO[bytes]) -> None:
        self._archive = tarfile.open(fileobj=out, mode="w")  # noqa: SIM115 - closed by __exit__
        self._present: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._archive.close()

    def folder(self, path: str, mode: int = 0o755) -> None:
        """A folder, with those above it."""
        path = path.strip("/")
        if path and path not in self._present:
            self.folder(os.path.dirname(path))
            entry = tarfile.TarInfo(path)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            self._add(entry)

    def file(self, path: str, source: Path) -> None:
        """A file like `source`, with its time (compiled Python files depend on it)."""
        status = source.stat()
        entry = tarfile.TarInfo(path.strip("/"))
        entry.size, entry.mtime = status.st_size, int(status.st_mtime)
        entry.mode = 0o755 if status.st_mode & 0o100 else 0o644
        with source.open("rb") as stream:
            self._add(entry, stream)

    def text(self, path: str, text: str, mode: int = 0o644) -> None:
        """A file with that text."""
        data = text.encode()
        entry = tarfile.TarInfo(path.strip("/"))
        entry.size, entry.mode = len(data), mode
        self._add(entry, io.BytesIO(data))

    def link(self, path: str, target: str) -> None:
        """A symbolic link."""
        entry = tarfile.TarInfo(path.strip("/"))
        entry.type, entry.linkname = tarfile.SYMTYPE, target
        self._add(entry)

    def files(self, paths: Iterable[tuple[str, Path]]) -> None:
        """Many files."""
        for path, source in paths:
            self.file(path, source)

    def system(self, busybox: Path, *, applets: Iterable[str]) -> None:
        """What any container expects: users, /tmp, a shell and other programs of busybox."""
        self.text("etc/passwd", "root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
        self.text("etc/group", "root:x:0:\nnobody:x:65534:\n")
        self.folder("tmp", 0o1777)
        self.file("bin/busybox", busybox)
        for name in applets:
            self.link(f"bin/{name}", "busybox")

    def _add(self, entry: tarfile.TarInfo, stream: IO[bytes] | None = None) -> None:
        self.folder(os.path.dirname(entry.name))
        if entry.name not in self._present:
            self._present.add(entry.name)
            self._archive.addfile(entry, stream)
