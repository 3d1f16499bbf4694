"""gpushare: memory of one card or of several, counted and enforced by nobody; compute is shared.

The driver gives each process its turn. An application that respects its share reads it from the
variables that AliyunContainerService/gpushare-device-plugin gives (pkg/gpu/nvidia/const.go and
allocate.go):

- `ALIYUN_COM_GPU_MEM_CONTAINER`, `_POD`, `_DEV`: what the container and its pod may use and what
  the card has, in the plugin's unit (`--memory-unit`, GiB or MiB; nvidia.go rounds cards down).
- `ALIYUN_COM_GPU_MEM_IDX`: the card's number.
- `CGPU_DISABLE=true` where there is to be no isolation: a node that runs cGPU would isolate else.

With several cards `_CONTAINER` is what each of them gives (Alibaba Cloud ACK, "Use cGPU to achieve
GPU sharing based on multiple GPUs").
"""

from typing import Literal

from elasticgpu.provisioner import (
    ContainerEdits,
    Demand,
    ElasticGPU,
    Host,
    NodeView,
    Parameters,
    Provisioner,
    Refused,
    Slice,
    shares,
    whole_cards,
)

UNITS = {"GiB": 1 << 30, "MiB": 1 << 20}
SLICES = {"default": 0, "short": 1, "medium": 2, "long": 3}
"""What `nvidia-smi compute-policy --set-timeslice` takes (its own --help)."""


class GPUShareParameters(Parameters):
    """`memoryUnit` is that of the variables; `timeSlice` is set on a card that is used, if named.

    It is a card's, not a container's: of two classes that name one for the same card the later use
    wins, and nobody resets it.
    """

    memory_unit: Literal["GiB", "MiB"] = "GiB"
    time_slice: Literal["", "default", "short", "medium", "long"] = ""


class GPUShare(Provisioner):
    """Shares of one card or, evenly, of several; whole cards as well."""

    name = "elasticgpu.io/gpushare"
    parameters: GPUShareParameters = GPUShareParameters()

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        """The first cards, best first, on which what is asked is not yet booked."""
        if want.unsized or want.mig:
            raise Refused(
                "gpushare books memory of cards: ask for gpu-memory, with gpu-core if compute is "
                "to be booked too, or for whole cards; MIG needs another provisioner"
            )
        return whole_cards(want, node) if want.gpus else shares(want, node)

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        """The cards' device files, and what an application reads of its share."""
        parts = device.spec.source.devices
        cards = [host.card(part.gpu) for part in parts]
        unit = UNITS[self.parameters.memory_unit]
        for card in cards:
            if self.parameters.time_slice and not card.status.simulated:
                await _slice_time(host, card.status.uuid, self.parameters.time_slice)
        each = min(part.memory_bytes for part in parts) // unit
        share = {
            "ALIYUN_COM_GPU_MEM_IDX": ",".join(str(card.status.index) for card in cards),
            "ALIYUN_COM_GPU_MEM_POD": each * len(parts),
            "ALIYUN_COM_GPU_MEM_CONTAINER": each,
            "ALIYUN_COM_GPU_MEM_DEV": min(card.memory for card in cards) // unit,
            "ALIYUN_COM_GPU_MEM_UNIT": self.parameters.memory_unit,
            "CGPU_DISABLE": "true",
            "NVIDIA_VISIBLE_DEVICES": "void",
            host.variable("UUID"): ",".join(card.status.uuid for card in cards),
            host.variable("MEMORY"): sum(part.memory_bytes for part in parts),
            host.variable("ENFORCED"): "no",
        }
        return ContainerEdits(
            env=[f"{name}={value}" for name, value in share.items()],
            device_nodes=host.nodes(*(card.name for card in cards)),
        )


async def _slice_time(host: Host, uuid: str, name: str) -> None:
    """How long a process has the card before the next one's turn."""
    command = ["nvidia-smi", "compute-policy", "-i", uuid, "--set-timeslice", str(SLICES[name])]
    done = await host.run(command)
    if done.status:
        raise Refused(f"{' '.join(command)}: {done.output.strip() or f'status {done.status}'}")
