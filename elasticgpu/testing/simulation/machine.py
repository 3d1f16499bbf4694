"""What is under the simulated nodes' agents: files and programs in memory, so that nothing of the
machine this runs on is touched, and nothing has to be installed there."""

from __future__ import annotations

from pathlib import Path

from elasticgpu.agent.host import Machine
from elasticgpu.testing.host import FakeNode

LIBRARIES = (Path("/usr/local/vgpu/libvgpu.so"),)
"""Files that provisioners look for on their nodes: here they are there, and empty."""


def machine(node: str) -> Machine:
    """The machine of one node."""
    fake = FakeNode({}, node)
    for path in LIBRARIES:
        fake.files.directory(path.parent)
        fake.files.write(path, b"")
    return fake.machine
