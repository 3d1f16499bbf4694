"""The programs of the test cluster: found on this machine, or built from pinned Go modules.

A program is looked for in `KUBEBUILDER_ASSETS`, on PATH (both only if it is of the wanted version),
in the cache `$XDG_CACHE_HOME/elasticgpu/bin/<version>-go<version of Go>`, and else built there.

    python -m tests.cluster.binaries                       # all, with a table
    python -m tests.cluster.binaries kube-scheduler@1.35   # one

To move to another version: change it here, in the `go.mod` of its module (for Kubernetes also in
the replace lines), and run `go mod tidy` there. The modules name the same versions of what they
share, so that a package is compiled once for all of them.
"""

import argparse
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.cluster import gobuild

KUBERNETES = "1.36.3"
SCHEDULERS = {"1.35": "1.35.4"}
CONTAINERD = "2.4.2"
ETCD = "3.6.16"
HELM = "4.3.1"
_K8S = "k8s.io/kubernetes/cmd"
_CONTAINERD_MODULE = "github.com/containerd/containerd/v2"


@dataclass(frozen=True)
class Tool:
    """One program: where its source is and how to ask for its version."""

    name: str
    version: str
    module: str
    package: str
    ask: tuple[str, ...] = ("--version",)
    recent: tuple[int, int] | None = None  # any version from this one on will do

    @property
    def title(self) -> str:
        """Name and version for people."""
        return f"{self.name} {self.version}"


def _kubernetes_tools() -> list[Tool]:
    names = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet")
    tools = [Tool(name, KUBERNETES, "kubernetes", f"{_K8S}/{name}") for name in names]
    ask = ("version", "--client")
    return [*tools, Tool("kubectl", KUBERNETES, "kubernetes", f"{_K8S}/kubectl", ask, (1, 30))]


TOOLS: tuple[Tool, ...] = (
    *_kubernetes_tools(),
    Tool("etcd", ETCD, "kubernetes", "./etcd"),
    Tool("helm", HELM, "kubernetes", "helm.sh/helm/v4/cmd/helm", ("version", "--short"), (3, 14)),
    *(
        Tool(name, CONTAINERD, "containerd", f"{_CONTAINERD_MODULE}/cmd/{name}", (ask,))
        for name, ask in (
            ("containerd", "--version"),
            ("containerd-shim-runc-v2", "-v"),
            ("ctr", "--version"),
        )
    ),
    *(
        Tool("kube-scheduler", full, f"scheduler-{short}", f"{_K8S}/kube-scheduler")
        for short, full in SCHEDULERS.items()
    ),
)


def tool(name: str, version: str | None = None) -> Tool:
    """The entry of that name; without a version the first, which is the standard one."""
    for entry in TOOLS:
        if entry.name == name and f"{entry.version}.".startswith(f"{version or entry.version}."):
            return entry
    known = ", ".join(f"{entry.name}@{entry.version}" for entry in TOOLS)
    raise LookupError(f"no {name}@{version or 'any'}; known: {known}")


@cache
def find(name: str, version: str | None = None) -> Path:
    """That program, built now if it is nowhere."""
    entry = tool(name, version)
    return present(entry) or ensure([entry])[entry]


def present(entry: Tool) -> Path | None:
    """That program where it already is."""
    named = os.environ.get("KUBEBUILDER_ASSETS")
    for found in (Path(named) / entry.name if named else None, shutil.which(entry.name)):
        if found and os.access(found, os.X_OK) and _suits(Path(found), entry):
            return Path(found)
    return _cached(entry)


def ensure(entries: Iterable[Tool] = TOOLS) -> dict[Tool, Path]:
    """All these programs; what is missing is built, all of one Go module in one go."""
    found = {entry: present(entry) for entry in entries}
    missing = [entry for entry, path in found.items() if path is None]
    for module in dict.fromkeys(entry.module for entry in missing):
        found |= _build([entry for entry in missing if entry.module == module])
    return {entry: path for entry, path in found.items() if path}


def cache_folder() -> Path:
    """Where built programs are kept."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home) / "elasticgpu" / "bin"


def _build(entries: list[Tool]) -> dict[Tool, Path | None]:
    folder = cache_folder()
    with gobuild.only_one(folder / "lock"):
        absent = [entry for entry in entries if _cached(entry) is None]
        gobuild.build(
            entries[0].module,
            {entry.package: _cache_of(entry) / entry.name for entry in absent},
            _variables(entries[0]),
        )
    return {entry: _cached(entry) for entry in entries}


def _variables(entry: Tool) -> dict[str, str]:
    """What the linker writes into the programs: without it all report v0.0.0."""
    if entry.module == "containerd":
        return {f"{_CONTAINERD_MODULE}/version.Version": f"v{entry.version}"}
    version = SCHEDULERS.get(entry.module.partition("-")[2], KUBERNETES)
    major, minor, _ = version.split(".")
    base = "k8s.io/component-base/version"
    return {
        f"{base}.gitVersion": f"v{version}",
        f"{base}.gitMajor": major,
        f"{base}.gitMinor": minor,
        "helm.sh/helm/v4/internal/version.version": f"v{HELM}",
    }


def _cache_of(entry: Tool) -> Path:
    return cache_folder() / f"{entry.version}-go{gobuild.go_version()}"


def _cached(entry: Tool) -> Path | None:
    """The cached program; one built by another Go will do when no Go is here."""
    pattern = f"{entry.version}-go{gobuild.go_version() or '*'}/{entry.name}"
    return next(iter(sorted(cache_folder().glob(pattern), reverse=True)), None)


@cache
def _suits(path: Path, entry: Tool) -> bool:
    try:
        done = subprocess.run(
            [path, *entry.ask], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    match = re.search(r"v?(\d+)\.(\d+)\.(\d+)", done.stdout + done.stderr)
    if match is None:
        return False
    if entry.recent:
        return (int(match[1]), int(match[2])) >= entry.recent
    return ".".join(match.groups()) == entry.version


def main() -> None:
    """Build what is missing of the named programs, or of all, and print where each is."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.binaries", description=__doc__)
    parser.add_argument("names", nargs="*", help="a program, such as etcd or kube-scheduler@1.35")
    names: list[str] = parser.parse_args().names
    wanted = [tool(*name.split("@", 1)) for name in names] or TOOLS
    began = time.monotonic()
    for entry, path in ensure(wanted).items():
        print(f"{entry.name:<24} {entry.version:<8} {path.stat().st_size >> 20:4} MB  {path}")
    print(f"ready after {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
