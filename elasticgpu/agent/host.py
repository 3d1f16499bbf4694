"""The node as a provisioner's plugin sees it while a device is prepared or undone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from elasticgpu.api.gpu import GPU
from elasticgpu.errors import Refused
from elasticgpu.host import DeviceNode, Files, Finished, Nvml


class Run(Protocol):
    """Runs a program to its end: see `Host.run`."""

    def __call__(
        self, argv: Sequence[str], *, stdin: str, env: Mapping[str, str], timeout: float
    ) -> Awaitable[Finished]:
        """How it ended."""


@dataclass(frozen=True)
class Machine:
    """What is under every `Host` of this node: its library, files, programs and device files.

    `state_dir` outlives the boot, `run_dir` does not; both hold a directory for each plugin.
    `capabilities` are the device files of a GPU instance and a compute instance, by their ids.
    """

    nvml: Nvml
    files: Files
    run: Run
    nodes: Callable[[GPU], list[DeviceNode]]
    capabilities: Callable[[GPU, int, int], list[DeviceNode]]
    state_dir: Path
    run_dir: Path


@dataclass(frozen=True)
class NodeHost:
    """A `Host` for one entry of one pod: this node's cards, and the entry's variables.

    `tag` tells the entry's variables from those of the pod's other entries, `driver` one plugin's
    directories from those of others.
    """

    node_name: str
    cards: Mapping[str, GPU]
    tag: str
    driver: str
    machine: Machine

    @property
    def nvml(self) -> Nvml:
        """See `Host`."""
        return self.machine.nvml

    @property
    def files(self) -> Files:
        """See `Host`."""
        return self.machine.files

    @property
    def state_dir(self) -> Path:
        """See `Host`."""
        return self._own(self.machine.state_dir)

    @property
    def run_dir(self) -> Path:
        """See `Host`."""
        return self._own(self.machine.run_dir)

    def _own(self, parent: Path) -> Path:
        path = parent / self.driver.replace("/", "_")
        self.machine.files.directory(path)
        return path

    def card(self, gpu: str) -> GPU:
        """The card of this GPU name. Raises Refused if this node does not have it."""
        if gpu not in self.cards:
            raise Refused(f"node {self.node_name} has no card {gpu}")
        return self.cards[gpu]

    def nodes(self, *gpus: str) -> list[DeviceNode]:
        """See `Host`."""
        found = (node for gpu in gpus for node in self.machine.nodes(self.card(gpu)))
        return list({node.path: node for node in found}.values())

    def instance_nodes(self, gpu: str, instance: int, compute: int) -> list[DeviceNode]:
        """See `Host`."""
        return [*self.nodes(gpu), *self.machine.capabilities(self.card(gpu), instance, compute)]

    def variable(self, name: str) -> str:
        """The environment variable of this entry: `CORE` of tag 0 → `ELASTICGPU_0_CORE`."""
        return f"ELASTICGPU_{self.tag}_{name}"

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        timeout: float = 10.0,
    ) -> Finished:
        """See `Host`."""
        return await self.machine.run(argv, stdin=stdin, env=env or {}, timeout=timeout)
