"""The folder of one cluster, and its record of what must not outlive it.

A cluster keeps all it makes below one folder. Processes, interfaces and changed kernel settings
are written to `state.json` there *before* they matter, and the folder's lock is held as long as the
runner lives: whoever starts next finds the folders whose lock is free and cleans them
(`leftovers.py`), whatever killed their runner.
"""

import fcntl
import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.cluster.process import start_time


def base() -> Path:
    """The folder that holds all scratch folders of this user; short, for sockets lie below it."""
    chosen = os.environ.get("ELASTICGPU_CLUSTER_DIR")
    return Path(chosen) if chosen else Path(f"/var/tmp/elasticgpu-cluster-{os.getuid()}")


class Busy(RuntimeError):
    """Another running cluster holds what this one needs."""


@dataclass
class State:
    """What a cluster made outside its folder."""

    processes: list[tuple[str, int, int | None]] = field(default_factory=list)
    interfaces: list[str] = field(default_factory=list)
    cgroups: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    sysctls: dict[str, str] = field(default_factory=dict)


class Scratch:
    """A locked scratch folder with its state file."""

    def __init__(self, name: str) -> None:
        self.path = base() / name
        self.path.mkdir(parents=True)
        self._lock = acquire(self.path / "lock")
        self._guard = threading.Lock()
        self.state = State()

    def folder(self, *parts: str) -> Path:
        """A folder below this one, made on demand."""
        path = self.path.joinpath(*parts)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def file(self, name: str, text: str, *, private: bool = False) -> Path:
        """A file below this folder with that text."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600 if private else 0o644)
        path.write_text(text)
        return path

    def process(self, name: str, pid: int) -> None:
        """Record a child; the entry of its former life goes."""
        others = [entry for entry in self.state.processes if entry[0] != name]
        self.state.processes = [*others, (name, pid, start_time(pid))]
        self.save()

    def save(self) -> None:
        """Write the state so that a reader sees the old one or the new one."""
        with self._guard:
            temporary = self.path / "state.json.new"
            temporary.write_text(json.dumps(asdict(self.state)))
            temporary.replace(self.path / "state.json")

    def remove(self) -> None:
        """Remove the folder and release its lock."""
        shutil.rmtree(self.path)
        os.close(self._lock)


def read_state(folder: Path) -> State:
    """The state that a cluster wrote into its folder, or an empty one."""
    try:
        stored = json.loads((folder / "state.json").read_text())
    except (OSError, ValueError):
        return State()
    return State(**(stored | {"processes": [tuple(entry) for entry in stored["processes"]]}))


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold this while looking for dead clusters' folders and making one: nobody else does."""
    base().mkdir(parents=True, exist_ok=True)
    with (base() / "sweep.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def acquire(path: Path) -> int:
    """Take the lock file, or raise `Busy`; children do not inherit it."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 100, 0).decode() or "unknown"
        os.close(descriptor)
        raise Busy(f"{path} is held by process {holder}") from None
    os.truncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor
