"""What this machine must have for the test cluster, and words for what it lacks."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.cluster import binaries, gobuild, images, runtime

_INSTALL = "run scripts/install-test-tools.sh as root"
_PLUGINS = ("bridge", "host-local")


def missing_prerequisites(*, node: bool = True) -> list[str]:
    """What keeps a cluster from running here, each with how to mend it; empty when nothing does.

    Without `node` it is about a control plane alone.
    """
    if not sys.platform.startswith("linux"):
        return ["not Linux: use a Linux machine or virtual machine"]
    return [*_lacking_programs(node=node), *(_lacking_for_node() if node else ())]


def _lacking_programs(*, node: bool) -> Iterator[str]:
    if gobuild.go_version() is not None:
        return
    wanted = [entry for entry in binaries.TOOLS if node or entry.module != "containerd"]
    absent = [entry.title for entry in wanted if binaries.present(entry) is None]
    if absent:
        yield f"no Go to build {', '.join(absent)}: install Go 1.26 or newer"


def _lacking_for_node() -> Iterator[str]:
    if os.geteuid() != 0:
        yield "not root: containers need it; run as root"
    for program in ("runc", "ip"):
        if shutil.which(program) is None:
            yield f"no {program}: {_INSTALL}"
    if not any(_has_plugins(Path(folder)) for folder in runtime.CNI_FOLDERS):
        yield f"no CNI plugins in {', '.join(runtime.CNI_FOLDERS)}: {_INSTALL}"
    if images.find_busybox() is None:
        yield f"no statically linked busybox: {_INSTALL}"


def _has_plugins(folder: Path) -> bool:
    return all((folder / name).exists() for name in _PLUGINS)
