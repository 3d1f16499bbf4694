"""qGPU: a share of one card's compute and memory, cut by Tencent's kernel driver.

Placement, names and the container's environment are here; the isolation itself is the driver's,
which the node must already run. What is known of it is public:

- Tencent Cloud TKE, "Using qGPU" (document 457/59103): compute in steps of 5 percent, memory in
  steps of 1 GiB, at most 16 shares of a card, `qgpu-core: N * 100` for N whole cards.
- Tencent Cloud TKE, "qGPU" add-on (document 457/117759): its DaemonSet qgpu-manager loads the
  kernel module, which is there when /proc/qgpu/version is.
- elastic-ai/elastic-gpu-agent, the open part of qgpu-manager: pkg/types/device.go names a device by
  8 hexadecimal digits of a SHA-256; pkg/operator/gpushare.go links /dev/elastic-gpu-<id> to the
  card and /dev/elastic-gpuctl-<id> to the control device; pkg/plugins/gpushare.go gives the
  container `GPU` and `NVIDIA_VISIBLE_DEVICES=none`; cmd/elastic-gpu-hook finds the card by the two.
"""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from pydantic import Field

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
    whole_cards,
)

GI = 1 << 30
MODULE = Path("/proc/qgpu/version")
CONTROL = "/dev/nvidiactl"


class QGPUParameters(Parameters):
    """The driver's units, of a class: percent of core, GiB of memory, shares of a card."""

    core_step: Annotated[int, Field(ge=1, le=100)] = 5
    memory_step: Annotated[int, Field(ge=1)] = 1
    shares_per_card: Annotated[int, Field(ge=1)] = 16


class QGPU(Provisioner):
    """A percentage of one card's compute and a number of bytes of its memory, or whole cards."""

    name = "elasticgpu.io/qgpu"
    parameters: QGPUParameters = QGPUParameters()

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        """The first card, best first, that has both core and memory free; or whole cards."""
        if want.gpus:
            return whole_cards(want, node)
        if want.unsized or want.mig or want.tflops or want.count > 1:
            raise Refused(
                "qGPU cuts a share of one card: ask for at most 100% core, and memory, or for "
                "whole cards; MIG, TFLOPS and shares of several cards need another provisioner"
            )
        own = self.parameters
        return shares(want, node, Grain(own.core_step, own.memory_step * GI, own.shares_per_card))

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        """The card under the names of elastic-gpu-agent, and the share as variables."""
        parts = device.spec.source.devices
        cards = [host.card(part.gpu).status for part in parts]
        share = {
            "UUID": ",".join(card.uuid for card in cards),
            "CORE": sum(part.core for part in parts),
            "MEMORY": sum(part.memory_bytes for part in parts),
        }
        env = [f"{host.variable(name)}={value}" for name, value in share.items()]
        if any(card.simulated for card in cards):
            return ContainerEdits(env=[*env, f"{host.variable('ENFORCED')}=no, simulated card"])
        if not host.files.exists(MODULE):
            raise Refused(
                f"node {host.node_name} does not run qGPU: there is no {MODULE}. Install the qGPU "
                "add-on, whose DaemonSet qgpu-manager loads its kernel module"
            )
        for target, link in _links(device, host):
            done = await host.run(["ln", "-sfn", target, str(link)])
            if done.status:
                raise Refused(f"cannot link {link} to {target}: {done.output.strip()}")
        gpu = f"GPU={_id(device)}-0"
        return ContainerEdits(
            env=[*env, gpu, "NVIDIA_VISIBLE_DEVICES=none"],
            device_nodes=host.nodes(*(part.gpu for part in parts)),
        )

    async def unprepare(self, device: ElasticGPU, host: Host) -> None:
        """Take the names away."""
        for n in range(len(device.spec.source.devices)):
            for link in _names(device, n):
                host.files.remove(link)


def _id(device: ElasticGPU) -> str:
    """What elastic-gpu-agent would call it, were its name the kubelet's only device id."""
    return sha256(device.name.encode()).hexdigest()[:8]


def _names(device: ElasticGPU, n: int) -> tuple[Path, Path]:
    """The names of the device's card of this number, and of the control device for it."""
    of = f"{_id(device)}-{n}"
    return Path(f"/dev/elastic-gpu-{of}"), Path(f"/dev/elastic-gpuctl-{of}")


def _links(device: ElasticGPU, host: Host) -> Iterator[tuple[str, Path]]:
    """(what is named, its name)."""
    for n, part in enumerate(device.spec.source.devices):
        card, control = _names(device, n)
        yield f"/dev/nvidia{host.card(part.gpu).status.minor}", card
        yield CONTROL, control
