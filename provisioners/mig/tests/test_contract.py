"""MIG keeps the contract of every provisioner."""

from elasticgpu_mig import MIG

from elasticgpu.testing import ProvisionerContract


class TestMIG(ProvisionerContract):
    """What it leaves on cards is looked at for every plugin; an instance made anew is another."""

    plugin = MIG
    serves = (
        {"elasticgpu.io/mig-1g.18gb": 1},
        {"nvidia.com/mig-3g.71gb": 1},
        {"elasticgpu.io/gpu-core": 10, "elasticgpu.io/gpu-memory": "20Gi"},
    )
    renews = ("ELASTICGPU_*_UUID",)
