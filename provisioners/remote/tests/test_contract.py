"""A remote pool keeps the contract of every provisioner."""

from pathlib import Path

from elasticgpu_remote import Remote

from elasticgpu.testing import ProvisionerContract
from elasticgpu.testing.host import FakeNode

LIBRARY = Path("/opt/rcuda/lib")


class TestRemote(ProvisionerContract):
    """Its cards are those its class names."""

    plugin = Remote
    parameters = {
        "servers": "gpu-1.example.com,gpu-2.example.com@8309:0",
        "count": "3",
        "memory": "140Gi",
        "library": str(LIBRARY),
    }
    bad_parameters = (
        ({"servers": "gpu-1"}, "memory"),
        ({"servers": "gpu 1", "memory": "16Gi"}, "servers"),
        ({"servers": "gpu-1", "memory": "16Gi", "count": "0"}, "count"),
        ({"servers": "gpu-1", "memory": "16Gi", "library": "lib"}, "library"),
    )
    refuses = ({"nvidia.com/mig-1g.10gb": 1}, {"elasticgpu.io/tflops": 100})

    def node(self) -> FakeNode:
        """A node that has the client."""
        made = super().node()
        made.files.directory(LIBRARY)
        return made
