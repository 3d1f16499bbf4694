"""vCUDA keeps the contract of every provisioner."""

from pathlib import Path

from elasticgpu_vcuda import VCUDA

from elasticgpu.provisioner import Demand
from elasticgpu.testing import ProvisionerContract
from elasticgpu.testing.host import FakeNode

LIBRARY = Path("/usr/local/vgpu/libvgpu.so")


class TestVCUDA(ProvisionerContract):
    """On a node with the library, which stays there."""

    plugin = VCUDA
    bad_parameters = (
        ({"deviceMemoryScaling": "1.5"}, "deviceMemoryScaling"),
        ({"deviceSplitCount": "0"}, "deviceSplitCount"),
        ({"library": "libvgpu.so"}, "library"),
    )
    serves = (
        {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 3000, "nvidia.com/gpucores": 30},
        {"nvidia.com/gpu": 2, "nvidia.com/gpumem": 3000, "nvidia.com/priority": 0},
        {"elasticgpu.io/gpu-core": 100, "elasticgpu.io/gpu-memory-percentage": 100},
        Demand(),
    )
    refuses = ({"elasticgpu.io/gpu": 1}, {"nvidia.com/mig-1g.10gb": 1})
    stays = (str(LIBRARY),)

    def node(self) -> FakeNode:
        """A node that has been prepared for vCUDA."""
        node = super().node()
        node.files.directory(LIBRARY.parent)
        node.files.write(LIBRARY, b"")
        return node


del ProvisionerContract
