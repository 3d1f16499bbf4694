"""qGPU keeps the contract of every provisioner, on simulated cards and where its driver is."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from elasticgpu_qgpu import QGPU

from elasticgpu.api.gpu import GPU, GPUSpec, GPUStatus
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.provisioner import Finished
from elasticgpu.testing import ProvisionerContract
from elasticgpu.testing.host import FakeNode

MODULE = Path("/proc/qgpu/version")


class TestQGPU(ProvisionerContract):
    """Its own names mean what they mean in its documentation."""

    plugin = QGPU
    refuses = ({"nvidia.com/mig-1g.10gb": 1}, {"elasticgpu.io/tflops": 100})
    bad_parameters = (({"coreStep": "few"}, "coreStep"),)


def card(index: int) -> GPU:
    """A card that is not simulated."""
    status = GPUStatus(
        index=index, minor=index, uuid=f"GPU-{index}", memory="80Gi", health="Healthy"
    )
    meta = ObjectMeta(name=f"card-{index}")
    return GPU(metadata=meta, spec=GPUSpec(node_name="node-a"), status=status)


class TestOnItsNode(ProvisionerContract):
    """Where the driver is, names of elastic-gpu-agent come and go as well."""

    plugin = QGPU
    cards = (card(0), card(1))

    def node(self) -> FakeNode:
        """A node that runs qGPU, with a stand-in for `ln`."""
        made = super().node()
        made.files.directory(MODULE.parent)
        made.files.write(MODULE, b"3.0.5\n")
        made.files.directory(Path("/dev"))

        def link(argv: Sequence[str], stdin: str, env: Mapping[str, str]) -> Finished:
            made.files.write(Path(argv[3]), argv[2].encode())
            return Finished(0, "")

        made.programs.known["ln"] = link
        return made
