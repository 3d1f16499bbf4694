"""cGPU: memory of cards, and percent of one card's compute, isolated by Alibaba's kernel module.

The module is told by its container runtime hook, which reads the container's variables. So they are
the whole contract, and what is known of them is public:

- cGPU's own README (lvmxh/cgpu): `ALIYUN_COM_GPU_MEM_CONTAINER` of `ALIYUN_COM_GPU_MEM_DEV` GiB,
  without which it does not act; `ALIYUN_COM_GPU_VISIBLE_DEVICES` names cards by uuid;
  /proc/cgpu_km/<card>/max_inst is how many instances a card has at most.
- Alibaba Cloud ACK, "Configure the computing power scheduling policy": the module is installed
  where /proc/cgpu_km/version is; a weight (`ALIYUN_COM_GPU_SCHD_WEIGHT`) over 1 shares compute by
  weight, a fixed share under policy 3.
- Alibaba's scheduler plugin `intelligentscheduler` (in Koordinator): the weight is percent by 5,
  that is, of 20 instances; `GPU_UTIL_PER_DEVICE` is the percentage itself.
- Alibaba Cloud ACK, "Use cGPU to achieve GPU sharing based on multiple GPUs": with several cards
  each gives `ALIYUN_COM_GPU_MEM_CONTAINER`, and `NVIDIA_VISIBLE_DEVICES` names them by uuid.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from elasticgpu.api.gpu import GPUStatus
from elasticgpu.provisioner import (
    ContainerEdits,
    Demand,
    ElasticGPU,
    Grain,
    Host,
    NodeView,
    Parameters,
    Provisioner,
    Refused,
    Slice,
    shares,
)

GI = 1 << 30
MODULE = Path("/proc/cgpu_km")


class CGPUParameters(Parameters):
    """`maxInstances` is what the module has as `max_inst`: compute is cut in that many parts."""

    max_instances: Annotated[int, Field(ge=1, le=25)] = 20


class CGPU(Provisioner):
    """GiB of memory of one card or of several, with a percentage of compute of one."""

    name = "elasticgpu.io/cgpu"
    parameters: CGPUParameters = CGPUParameters()

    @property
    def _step(self) -> int:
        """Percent of compute that one instance is."""
        return -(-100 // self.parameters.max_instances)

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        """The first cards, best first, with room for the memory in GiB and the compute in parts."""
        memory = want.memory or want.memory_percentage
        if not memory or want.gpus or want.mig or want.tflops or (want.core and want.count > 1):
            raise Refused(
                "cGPU isolates memory of cards, and compute of one: ask for gpu-memory, with "
                "gpu-core if it is one card; whole cards, MIG and TFLOPS need another provisioner"
            )
        return shares(want, node, Grain(self._step, GI, self.parameters.max_instances))

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        """What the module's runtime hook reads. It brings the device files: were they given by
        us, the container could pass the module by."""
        parts = device.spec.source.devices
        cards = [host.card(part.gpu).status for part in parts]
        simulated = any(card.simulated for card in cards)
        memory = min(part.memory_bytes for part in parts) // GI
        if not memory:
            raise Refused(f"{device.name}: cGPU isolates whole GiB of memory, and here is less")
        if not simulated:
            self._check(cards, host)
        uuids = ",".join(card.uuid for card in cards)
        share: dict[str, object] = {
            "ALIYUN_COM_GPU_MEM_CONTAINER": memory,
            "ALIYUN_COM_GPU_MEM_DEV": min(host.card(p.gpu).memory for p in parts) // GI,
            "ALIYUN_COM_GPU_MEM_UNIT": "GiB",
            "ALIYUN_COM_GPU_VISIBLE_DEVICES": uuids,
            "NVIDIA_VISIBLE_DEVICES": uuids,
            host.variable("UUID"): uuids,
        }
        if core := parts[0].core:
            share["ALIYUN_COM_GPU_SCHD_WEIGHT"] = -(-core // self._step)
            share["GPU_UTIL_PER_DEVICE"] = core
        if simulated:
            share[host.variable("ENFORCED")] = "no, simulated card"
        return ContainerEdits(env=[f"{name}={value}" for name, value in share.items()])

    def _check(self, cards: Sequence[GPUStatus], host: Host) -> None:
        if not host.files.exists(MODULE / "version"):
            raise Refused(
                f"node {host.node_name} does not run cGPU: there is no {MODULE}/version. Install "
                "its kernel module and runtime hook (in ACK: the add-on ack-ai-installer, and "
                "label the node ack.node.gpu.schedule=cgpu, or core_mem for compute)"
            )
        wanted = self.parameters.max_instances
        for card in cards:
            has = host.files.read(MODULE / str(card.minor) / "max_inst")
            if has is not None and has.strip() != str(wanted).encode():
                raise Refused(
                    f"card {card.minor} of node {host.node_name} has max_inst "
                    f"{has.decode(errors='replace').strip()}, its class counts {wanted}: name "
                    "maxInstances in the class as the node has it"
                )
