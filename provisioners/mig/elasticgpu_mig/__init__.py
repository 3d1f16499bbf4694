"""MIG: a claim gets an instance of its own of a card that is cut in hardware.

Placement is of `elasticgpu.rules`, by the card's own table; `life` makes the instance when it is
prepared, and takes it away again. What a card's mode means for who gets it: see `Provisioner.mig`.
"""

from typing import ClassVar

from elasticgpu.provisioner import (
    ContainerEdits,
    Demand,
    ElasticGPU,
    Host,
    NodeView,
    Provisioner,
    Refused,
    Slice,
    instance,
)

from . import life


class MIG(Provisioner):
    """One MIG instance: of the profile that is named, or the smallest that is large enough."""

    name = "elasticgpu.io/mig"
    mig: ClassVar[bool] = True

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        """The start on the first card with a free one that leaves most to larger instances."""
        if want.gpus or want.count > 1:
            raise Refused(
                "this class gives one MIG instance of one card, and a process sees no more than "
                "one: make a claim for each; whole cards need a class of another provisioner"
            )
        if want.unsized:
            raise Refused(
                "how large a MIG instance? Ask for elasticgpu.io/mig-<profile>: 1, or for core, "
                "memory or TFLOPS: the smallest profile with as much is taken"
            )
        return instance(want, node)

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        """The instance is there, and the container sees it by its uuid and its device files."""
        parts = device.spec.source.devices
        if len(parts) != 1 or not parts[0].mig_profile:
            raise Refused(f"{device.name} is no MIG instance: it needs one part, with migProfile")
        gpu, compute = await life.begin(parts[0], host)
        return ContainerEdits(
            env=[f"{host.variable('UUID')}={compute.uuid}", "NVIDIA_VISIBLE_DEVICES=void"],
            device_nodes=host.instance_nodes(parts[0].gpu, gpu.id, compute.id),
        )

    async def unprepare(self, device: ElasticGPU, host: Host) -> None:
        """The instance is gone and, where that needs no reset, the mode with the last one."""
        for part in device.spec.source.devices:
            await life.end(part, host)
