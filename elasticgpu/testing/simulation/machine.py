"""What is under the simulated nodes' agents: files and programs in memory, so that nothing of the
machine this runs on is touched, and nothing has to be installed there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from elasticgpu.agent.host import Machine
from elasticgpu.api.gpu import GPU
from elasticgpu.host import Finished
from elasticgpu.testing.host import FakeNode
from elasticgpu.testing.mps_control import Control

LIBRARIES = (Path("/usr/local/vgpu/libvgpu.so"),)
"""Files that provisioners look for on their nodes: here they are there, and empty."""


def machine(node: str, cards: Iterable[GPU]) -> Machine:
    """The machine of one node, with these cards."""
    fake = FakeNode.of(cards, node)
    for path in LIBRARIES:
        fake.files.directory(path.parent)
        fake.files.write(path, b"")
    mps = Control()
    fake.programs.known["nvidia-cuda-mps-control"] = lambda *call: Finished(*mps.run(*call))
    return fake.machine
