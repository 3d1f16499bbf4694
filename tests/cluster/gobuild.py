"""Building Go programs with visible progress; `binaries.py` says which."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

MODULES = Path(__file__).parent / "go"
_TAGS = "no_btrfs,no_devmapper,no_zfs"
_HEARTBEAT = 10.0
_LIMIT = 3600.0
# Measured: leaving out debugging tables and collecting garbage rarely save a third of the time.
_ENVIRONMENT = {"CGO_ENABLED": "0", "GOGC": "400", "GOWORK": "off", "GOFLAGS": "-mod=readonly"}


class BuildFailed(RuntimeError):
    """`go build` did not succeed."""


@cache
def go_version() -> str | None:
    """The version of Go that would build, or None when there is no Go."""
    if shutil.which("go") is None:
        return None
    done = subprocess.run(
        ["go", "env", "GOVERSION"],
        cwd=MODULES / "kubernetes",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.stdout.strip().removeprefix("go") or None


@contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Hold that lock file, after whoever holds it now."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("another run is building; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def build(module: str, targets: Mapping[str, Path], variables: Mapping[str, str]) -> None:
    """Build packages of that module into those files, each put in place at once and whole."""
    if not targets:
        return
    if go_version() is None:
        raise BuildFailed("no Go on this machine to build with; see scripts/install-test-tools.sh")
    with tempfile.TemporaryDirectory(prefix="elasticgpu-build-") as name:
        out = Path(name)
        _run(module, list(targets), variables, out)
        for package, target in targets.items():
            _install(out / package.rpartition("/")[2], target)


def _run(module: str, packages: list[str], variables: Mapping[str, str], out: Path) -> None:
    link = " ".join(["-s", "-w", *(f"-X {name}={value}" for name, value in variables.items())])
    argv = ["go", "build", "-v", "-trimpath", "-buildvcs=false", f"-tags={_TAGS}"]
    argv += ["-gcflags=all=-dwarf=false", f"-ldflags={link}", "-o", f"{out}/", *packages]
    log = out / "build.log"
    with log.open("wb") as stream:
        child = subprocess.Popen(
            argv, cwd=MODULES / module, env=os.environ | _ENVIRONMENT, stdout=stream, stderr=stream
        )
    try:
        _follow(child, {package.rpartition("/")[2] for package in packages}, out)
    finally:
        if child.poll() is None:
            child.kill()
        child.wait(60)
    if child.returncode:
        raise BuildFailed(f"go build in {module}:\n{_failure(log)}")


def _follow(child: "subprocess.Popen[bytes]", names: set[str], out: Path) -> None:
    """Say which program is done and, while none is, that the work goes on."""
    began = spoken = time.monotonic()
    waiting = set(names)
    while child.poll() is None and time.monotonic() - began < _LIMIT:
        time.sleep(0.25)
        now = time.monotonic()
        for name in sorted(name for name in waiting if (out / name).exists()):
            _say(f"built {name} after {now - began:.0f} s")
            waiting.discard(name)
            spoken = now
        if now - spoken >= _HEARTBEAT:
            _say(f"building {', '.join(sorted(waiting))}: {now - began:.0f} s, {_state(out)}")
            spoken = now
    for name in sorted(name for name in waiting if (out / name).exists()):
        _say(f"built {name} after {time.monotonic() - began:.0f} s")


def _state(out: Path) -> str:
    lines = (out / "build.log").read_text(errors="replace").splitlines()
    packages = [line for line in lines if not line.startswith("go: ")]
    return f"{len(packages)} packages so far" if packages else f"{len(lines)} modules so far"


def _failure(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return "\n".join(line for line in lines if re.search(r"[: ]", line))[-4000:]


def _install(built: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copyfile(built, temporary)
    temporary.chmod(0o755)
    temporary.replace(target)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
