"""This machine's files and programs, as provisioners' plugins reach them through `Host`."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from elasticgpu.api.quantity import format_bytes
from elasticgpu.errors import Refused, Retry
from elasticgpu.host import LARGEST, Finished

PATIENCE = 10.0
"""Seconds that `mount` and `umount` may take."""
KEPT = 64 * 1024
"""Bytes of a program's output that are kept."""


class LocalFiles:
    """The files of this machine."""

    def directory(self, path: Path, mode: int = 0o755) -> None:
        """See `Files`."""
        with _telling("make directory", path):
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(mode)

    def write(self, path: Path, content: bytes, mode: int = 0o644) -> None:
        """See `Files`."""
        aside = path.with_name(f".{path.name}.new")
        with _telling("write", path):
            aside.write_bytes(content)
            aside.chmod(mode)
            aside.rename(path)

    def patch(self, path: Path, offset: int, content: bytes) -> None:
        """See `Files`."""
        with _telling("change", path), path.open("r+b") as file:
            file.seek(offset)
            file.write(content)

    def read(self, path: Path) -> bytes | None:
        """See `Files`."""
        with _telling("read", path):
            try:
                with path.open("rb") as file:
                    content = file.read(LARGEST + 1)
            except FileNotFoundError:
                return None
        return not_too_large(path, content)

    def exists(self, path: Path) -> bool:
        """See `Files`."""
        return path.exists()

    def remove(self, path: Path) -> None:
        """See `Files`."""
        with _telling("remove", path):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    async def mount_tmpfs(self, path: Path, size: int) -> None:
        """See `Files`."""
        if not os.path.ismount(path):  # noqa: ASYNC240 - one stat of a local file
            options = f"size={size},mode=1777,nosuid,nodev"
            await _must(["mount", "-t", "tmpfs", "-o", options, "elasticgpu", str(path)])

    async def unmount(self, path: Path) -> None:
        """See `Files`."""
        if os.path.ismount(path):  # noqa: ASYNC240 - one stat of a local file
            await _must(["umount", str(path)])


async def run(
    argv: Sequence[str], *, stdin: str, env: Mapping[str, str], timeout: float
) -> Finished:
    """Run a program to its end, in a process group of its own. See `Host.run`.

    Its input and output are files, not pipes: a program need not read the one, and a daemon that
    it leaves behind may keep the other open.
    """
    with TemporaryFile() as given, TemporaryFile() as said:
        given.write(stdin.encode())
        given.seek(0)
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=given,
                stdout=said,
                stderr=asyncio.subprocess.STDOUT,
                env={**os.environ, **env},
                start_new_session=True,
            )
        except OSError as error:
            raise Refused(f"{argv[0]} cannot be run: {error.strerror}") from error
        return Finished(await _end(process, argv[0], timeout), _last(said))


async def _end(process: asyncio.subprocess.Process, name: str, timeout: float) -> int:
    """Its exit status. Raises Retry if it takes longer: it is killed then, and all its children."""
    try:
        async with asyncio.timeout(timeout):
            return await process.wait()
    except TimeoutError as error:
        raise Retry(f"{name} did not end in {timeout:.0f} s and was killed") from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def _last(said: IO[bytes]) -> str:
    said.seek(max(0, said.seek(0, os.SEEK_END) - KEPT))
    return said.read(KEPT).decode(errors="replace")


async def _must(argv: Sequence[str]) -> None:
    done = await run(argv, stdin="", env={}, timeout=PATIENCE)
    if done.status:
        raise Refused(f"{' '.join(argv)}: {done.output.strip() or f'status {done.status}'}")


def not_too_large(path: Path, content: bytes) -> bytes:
    """What was read of the file. Raises Refused for more than a plugin may read."""
    if len(content) > LARGEST:
        raise Refused(f"cannot read {path}: it is larger than {format_bytes(LARGEST)}")
    return content


@contextmanager
def _telling(what: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Refused(f"cannot {what} {path}: {error.strerror}") from error
