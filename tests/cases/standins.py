"""What node-0 lacks of a GPU node, made by the tests: none of it is NVIDIA's or HAMi's.

A control daemon that keeps its limits and answers them (`tests/standins`), and writes down what it
is told; an empty library where HAMi-core's is. Device files need none: their numbers suffice.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.cluster.site import Site

LIBRARY = Path("/usr/local/vgpu/libvgpu.so")
"""Where the vCUDA class of the examples has it."""
CONTROL = "nvidia-cuda-mps-control"
DAEMON = Path(__file__).parents[1] / "standins" / CONTROL


class StandIns:
    """Those of one cluster's node; they go with the cluster."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.folder = site.scratch.folder("stand-ins")
        self.told = self.folder / "told.txt"
        """What the control daemon was told, a line each."""

    def make(self) -> dict[str, str]:
        """Have them; the environment in which an agent finds them."""
        self._library()
        self.told.touch()
        script = self.folder / CONTROL
        script.write_text(
            "#!/bin/sh\n"
            f'[ "$1" != -d ] || {{ echo "start $CUDA_VISIBLE_DEVICES" >> {self.told}; '
            f'exec {DAEMON} "$@"; }}\n'
            f"tee -a {self.told} | {DAEMON}\n"
        )
        script.chmod(0o755)
        return {"PATH": f"{self.folder}:{os.environ['PATH']}"}

    def _library(self) -> None:
        """An empty file, recorded as what must not outlive the cluster. One that is there stays."""
        if LIBRARY.exists():
            return
        new = next(p for p in reversed([LIBRARY, *LIBRARY.parents]) if not p.exists())
        self._site.scratch.state.paths.append(str(new))
        self._site.scratch.save()
        LIBRARY.parent.mkdir(parents=True, exist_ok=True)
        LIBRARY.touch()
