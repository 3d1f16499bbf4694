"""MPS keeps the contract of every provisioner, with equal shares and with stated ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from elasticgpu_mps import MPS

from elasticgpu.provisioner import Demand, Finished
from elasticgpu.testing import ProvisionerContract
from elasticgpu.testing.host import FakeNode
from elasticgpu.testing.mps_control import Control


class MPSContract(ProvisionerContract):
    """On a node with a stand-in for the control program, whose daemons are gone in the end."""

    plugin = MPS

    def node(self) -> FakeNode:
        """The node with its control daemons, which a reboot ends."""
        node, control = super().node(), Control()

        def program(argv: Sequence[str], stdin: str, env: Mapping[str, str]) -> Finished:
            _forget(node, control)
            return Finished(*control.run(argv, stdin, env))

        node.programs.known["nvidia-cuda-mps-control"] = program
        self.controls = {**getattr(self, "controls", {}), id(node): (node, control)}
        return node

    def remains(self, node: FakeNode) -> object:
        """The daemons that run."""
        _, control = self.controls[id(node)]
        _forget(node, control)
        return sorted(daemon.visible for daemon in control.daemons.values())


def _forget(node: FakeNode, control: Control) -> None:
    """A daemon whose pipes went with the machine is none any more."""
    for pipe in list(control.daemons):
        if not node.files.exists(Path(pipe)):
            del control.daemons[pipe]


class TestStated(MPSContract):
    """As large as the claim says."""

    bad_parameters = (
        ({"replicas": "1"}, "replicas"),
        ({"replicas": "49"}, "replicas"),
        ({"multiUser": "perhaps"}, "multiUser"),
        ({"shmSize": "none"}, "shmSize"),
    )
    serves = (
        {"elasticgpu.io/gpu-core": 30, "elasticgpu.io/gpu-memory": "8Gi"},
        {"elasticgpu.io/gpu-memory-percentage": 50},
        {
            "elasticgpu.io/gpu-core": 60,
            "elasticgpu.io/gpu-memory": "16Gi",
            "elasticgpu.io/gpu-count": 2,
        },
    )
    refuses = ({"elasticgpu.io/gpu-core": 30}, {"nvidia.com/gpu.shared": 1})


class TestReplicas(MPSContract):
    """Quarters."""

    parameters = {"replicas": "4"}
    serves = ({"nvidia.com/gpu.shared": 1}, Demand(count=2))
    refuses = ({"elasticgpu.io/gpu-core": 25, "elasticgpu.io/gpu-memory": "8Gi"},)


del MPSContract, ProvisionerContract
