"""cGPU keeps the contract of every provisioner."""

from elasticgpu_cgpu import CGPU

from elasticgpu.testing import ProvisionerContract


class TestCGPU(ProvisionerContract):
    """Its own names mean what they mean in its documentation."""

    plugin = CGPU
    parameters = {"maxInstances": "16"}
    bad_parameters = (({"maxInstances": "26"}, "maxInstances"),)
    refuses = ({"nvidia.com/gpu": 1}, {"elasticgpu.io/gpu-core": 10})
