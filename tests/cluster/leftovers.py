"""Cleaning: what a cluster leaves when it stops, and what a killed runner left behind.

Containers and their shims outlive containerd by design. They are found by what only they have:
a shim names the cluster's folder in its arguments, a container sits in the cluster's cgroup.
"""

import glob
import os
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from tests.cluster.process import detach_mount, kill_exactly, start_time
from tests.cluster.scratch import Busy, State, acquire, base, read_state

INTERFACE_MARK = "elasticgpu test cluster"
_CGROUPS = Path("/sys/fs/cgroup")


def sweep() -> list[str]:
    """Clean every scratch folder whose runner is gone, while `undisturbed`; their names."""
    swept = []
    for folder in sorted(base().glob("*/")):
        try:
            lock = acquire(folder / "lock")
        except (Busy, OSError):
            continue
        clean(folder, read_state(folder))
        shutil.rmtree(folder)
        os.close(lock)
        swept.append(folder.name)
    return swept


def clean(folder: Path, state: State) -> None:
    """End all processes, mounts, interfaces, cgroups and settings of that cluster."""
    for _, pid, started in state.processes:
        kill_exactly(pid, started)
    _end_containers(folder, state.cgroups)
    _unmount_below(folder)
    for interface in state.interfaces:
        remove_interface(interface)
    for cgroup in state.cgroups:
        _remove_cgroup(cgroup)
    for path, value in state.sysctls.items():
        Path(path).write_text(value)
    for pattern in state.paths:
        for found in glob.glob(pattern):
            _remove(Path(found))


def survivors(folder: Path, state: State) -> list[str]:
    """What of that cluster is still there, in words; empty after a good `clean`."""
    alive = [f"process {name}" for name, pid, at in state.processes if at and start_time(pid) == at]
    alive += [f"container process {pid}" for pid in _container_processes(folder, state.cgroups)]
    alive += [f"mount {path}" for path in mounts_below(folder)]
    alive += [f"interface {name}" for name in state.interfaces if _interface(name).exists()]
    alive += [f"path {path}" for pattern in state.paths for path in glob.glob(pattern)]
    return alive + [f"cgroup {path}" for name in state.cgroups for path in _cgroup_folders(name)]


def mounts_below(folder: Path) -> list[str]:
    """Mount points in that folder, innermost first."""
    lines = Path("/proc/self/mounts").read_text().splitlines()
    points = [line.split()[1].encode().decode("unicode_escape") for line in lines]
    return [point for point in reversed(points) if point.startswith(f"{folder}/")]


def remove_interface(name: str) -> None:
    """Remove a network interface that a test cluster made; others stay."""
    if is_ours(name):
        subprocess.run(["ip", "link", "delete", name], check=False, timeout=20)


def is_ours(name: str) -> bool:
    """Whether the interface carries the mark that the fixture puts on what it makes."""
    alias = _interface(name) / "ifalias"
    return alias.exists() and alias.read_text().strip() == INTERFACE_MARK


def _interface(name: str) -> Path:
    return Path("/sys/class/net") / name


def _end_containers(folder: Path, cgroups: list[str]) -> None:
    deadline = time.monotonic() + 20
    while pids := _container_processes(folder, cgroups):
        for pid in pids:
            kill_exactly(pid, start_time(pid))
        if time.monotonic() > deadline:
            raise TimeoutError(f"processes {pids} of the test cluster in {folder} do not end")
        time.sleep(0.02)


def _container_processes(folder: Path, cgroups: list[str]) -> list[int]:
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in pids if _is_shim(pid, folder) or _is_contained(pid, cgroups)]


def _is_shim(pid: int, folder: Path) -> bool:
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        named = words[0].endswith(b"/containerd-shim-runc-v2")
        return named and any(word.startswith(f"{folder}/".encode()) for word in words)
    return False


def _is_contained(pid: int, cgroups: list[str]) -> bool:
    with suppress(OSError):
        if start_time(pid) is None:
            return False
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        paths = [line.split(":", 2)[2] + "/" for line in lines]
        return any(path.startswith(f"/{name}/") for path in paths for name in cgroups)
    return False


def _unmount_below(folder: Path) -> None:
    for point in mounts_below(folder):
        detach_mount(point)
    if remaining := mounts_below(folder):
        raise OSError(f"cannot unmount {remaining}")


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _cgroup_folders(name: str) -> list[Path]:
    hierarchies = [_CGROUPS, *_CGROUPS.glob("*/")]
    return [path for path in (one / name for one in hierarchies) if path.is_dir()]


def _remove_cgroup(name: str) -> None:
    for top in _cgroup_folders(name):
        for folder, _, _ in os.walk(top, topdown=False):
            with suppress(OSError):
                os.rmdir(folder)
