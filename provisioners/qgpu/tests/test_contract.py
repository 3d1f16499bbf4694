"""qGPU keeps the contract of every provisioner."""

from elasticgpu_qgpu import QGPU

from elasticgpu.testing import ProvisionerContract


class TestQGPU(ProvisionerContract):
    """Its own names mean what they mean in its documentation."""

    plugin = QGPU
    refuses = ({"nvidia.com/gpu": 1}, {"nvidia.com/mig-1g.10gb": 1})
