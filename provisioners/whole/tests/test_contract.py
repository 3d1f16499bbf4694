"""Whole cards keep the contract of every provisioner."""

from elasticgpu_whole import Whole

from elasticgpu.testing import ProvisionerContract


class TestWhole(ProvisionerContract):
    """Nothing of it is out of the ordinary."""

    plugin = Whole
    serves = ({"elasticgpu.io/gpu": 1}, {"elasticgpu.io/gpu": 3})
