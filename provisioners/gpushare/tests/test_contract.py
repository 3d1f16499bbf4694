"""gpushare keeps the contract of every provisioner."""

from elasticgpu_gpushare import GPUShare

from elasticgpu.testing import ProvisionerContract


class TestGPUShare(ProvisionerContract):
    """Its own names mean what they mean where they come from."""

    plugin = GPUShare
    parameters = {"memoryUnit": "MiB", "timeSlice": "short"}
    bad_parameters = (({"memoryUnit": "GB"}, "memoryUnit"), ({"timeSlice": "7"}, "timeSlice"))
    refuses = ({"nvidia.com/mig-1g.10gb": 1},)
