"""Files and programs of this machine, as plugins reach them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import uvloop

from elasticgpu.agent.local import LocalFiles, run
from elasticgpu.errors import Refused, Retry
from elasticgpu.host import LARGEST, Files, Finished
from elasticgpu.testing.host import FakeFiles


@pytest.fixture(params=["local", "fake"])
def files(request: pytest.FixtureRequest) -> Files:
    """This machine's files, and those in memory: what holds for one holds for the other."""
    return LocalFiles() if request.param == "local" else FakeFiles()


def test_write_read_remove(files: Files, tmp_path: Path) -> None:
    """A file is there whole, with its mode; removed twice it is gone."""
    home = tmp_path / "a" / "b"
    files.directory(home, 0o777)
    files.directory(home, 0o777)
    assert files.read(home / "x") is None
    files.write(home / "x", b"one", 0o666)
    files.write(home / "x", b"two", 0o666)
    assert (files.read(home / "x"), files.exists(home / "x")) == (b"two", True)
    files.patch(home / "x", 1, b"W")
    assert files.read(home / "x") == b"tWo"
    files.remove(tmp_path / "a")
    files.remove(tmp_path / "a")
    assert not files.exists(home)


def test_what_fails_is_refused_with_its_path(files: Files, tmp_path: Path) -> None:
    """Whatever the system says, a person reads which file it was about."""
    files.directory(tmp_path / "d")
    files.write(tmp_path / "d" / "f", b"")
    attempts: list[Callable[[], object]] = [
        lambda: files.write(tmp_path / "none" / "f", b""),
        lambda: files.patch(tmp_path / "none", 0, b"x"),
        lambda: files.read(tmp_path / "d"),
        lambda: files.directory(tmp_path / "d" / "f"),
    ]
    for wrong in attempts:
        with pytest.raises(Refused, match=str(tmp_path)):
            wrong()


def test_what_a_container_blew_up_is_not_read(files: Files, tmp_path: Path) -> None:
    """A file that is mounted into a container may have any size by now; the agent has not."""
    files.directory(tmp_path / "d")
    files.write(tmp_path / "d" / "f", b"")
    files.patch(tmp_path / "d" / "f", LARGEST, b"x")
    with pytest.raises(Refused, match=r"cannot read .*/d/f: it is larger than 16Mi"):
        files.read(tmp_path / "d" / "f")


def test_modes_are_exact(tmp_path: Path) -> None:
    """Whatever umask the agent runs under."""
    LocalFiles().directory(tmp_path / "d", 0o777)
    LocalFiles().write(tmp_path / "d" / "f", b"", 0o666)
    modes = [(tmp_path / "d").stat().st_mode, (tmp_path / "d" / "f").stat().st_mode]
    assert [oct(mode & 0o777) for mode in modes] == ["0o777", "0o666"]


async def python(
    code: str, *, stdin: str = "", env: Mapping[str, str] | None = None, timeout: float = 30.0
) -> Finished:
    return await run([sys.executable, "-c", code], stdin=stdin, env=env or {}, timeout=timeout)


async def test_run() -> None:
    """Input and variables go in; both outputs and the status come back."""
    code = (
        "import os,sys; print(input(), os.environ['K']); print('e', file=sys.stderr); sys.exit(3)"
    )
    done = await python(code, stdin="hello\n", env={"K": "v"})
    assert done.status == 3
    assert sorted(done.output.split()) == ["e", "hello", "v"]


def test_nobody_need_read_what_a_program_is_given() -> None:
    """Under either loop: a program that ends without a look at its input has ended, no more."""
    for factory in (asyncio.new_event_loop, uvloop.new_event_loop):
        with asyncio.Runner(loop_factory=factory) as runner:
            for _ in range(20):
                done = runner.run(run(["echo", "no"], stdin="x" * 100_000, env={}, timeout=30))
                assert done == Finished(0, "no\n")


async def test_run_of_what_is_not_there() -> None:
    """A program that is missing is named."""
    with pytest.raises(Refused, match="no-such-program cannot be run"):
        await run(["no-such-program"], stdin="", env={}, timeout=5)


async def test_a_daemon_is_not_waited_for(tmp_path: Path) -> None:
    """What a program leaves in the background may keep its output open: it goes on."""
    note = tmp_path / "pid"
    code = (
        "import os,time,pathlib\n"
        "print('started', flush=True)\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        f"    pathlib.Path({str(note)!r}).write_text(str(os.getpid()))\n"
        "    time.sleep(600)\n"
        f"while not pathlib.Path({str(note)!r}).exists(): time.sleep(0.01)"
    )
    done = await python(code)
    pid = int(note.read_text())
    try:
        assert (done.status, done.output) == (0, "started\n")
        assert _lives(pid)
    finally:
        os.kill(pid, signal.SIGKILL)


async def test_what_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    """Nothing of it is left, and the caller may ask again."""
    note = tmp_path / "pid"
    code = (
        "import subprocess,sys,pathlib,time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"pathlib.Path({str(note)!r}).write_text(str(child.pid))\n"
        "time.sleep(600)"
    )
    with pytest.raises(Retry, match="did not end in 5 s and was killed"):
        await python(code, timeout=5.0)
    pid = int(note.read_text())
    for _ in range(500):
        if not _lives(pid):
            break
        await asyncio.sleep(0.02)
    assert not _lives(pid)


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT CHECKED: mounting a tmpfs needs root")
async def test_tmpfs(tmp_path: Path) -> None:
    """Mounted once however often it is asked for, and gone again."""
    files = LocalFiles()
    await files.mount_tmpfs(tmp_path, 1 << 20)
    try:
        await files.mount_tmpfs(tmp_path, 1 << 20)
        assert os.statvfs(tmp_path).f_blocks * os.statvfs(tmp_path).f_frsize == 1 << 20
    finally:
        await files.unmount(tmp_path)
    await files.unmount(tmp_path)
    assert not tmp_path.is_mount()
