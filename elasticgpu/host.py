"""The node as a provisioner touches it while a device is prepared or undone, and what it answers.

`agent` has the real one, `testing` a made-up one; a plugin has no other way to a node, so that
what runs on hardware is what ran in its tests. Every call that leaves the process is bounded in
time by who serves it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Protocol

from pydantic import Field

from elasticgpu.api.gpu import GPU, MigMode
from elasticgpu.api.meta import Model

ComputeMode = Literal["DEFAULT", "EXCLUSIVE_PROCESS", "PROHIBITED"]
"""Who may compute on a card, in the words of `nvidia-smi --compute-mode`."""


class DeviceNode(Model):
    """A device file of the container (CDI `deviceNodes`)."""

    path: str
    host_path: str | None = None
    type: str | None = None
    major: int | None = None
    minor: int | None = None
    permissions: str | None = None


class Mount(Model):
    """A mount of the container (CDI `mounts`)."""

    host_path: str
    container_path: str
    type: str | None = None
    options: list[str] = []


class ContainerEdits(Model):
    """What the container gets: CDI container edits (CNCF Container Device Interface 0.5)."""

    env: Annotated[list[str], Field(description="NAME=value; wins over the pod's own.")] = []
    device_nodes: list[DeviceNode] = []
    mounts: list[Mount] = []


LARGEST = 16 << 20
"""Bytes of a file that a plugin may read. What is mounted into containers can grow to any size."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended: its exit status, and what it wrote on both outputs."""

    status: int
    output: str


@dataclass(frozen=True, slots=True)
class GpuInstance:
    """A GPU instance of a card in MIG mode: its profile by the library's id, and where it starts.

    `id` is the library's while the instance is there; the next one may get it again.
    """

    id: int
    profile: int
    start: int


@dataclass(frozen=True, slots=True)
class ComputeInstance:
    """A compute instance of a GPU instance; its uuid is what CUDA calls it, another each time."""

    id: int
    uuid: str


class Nvml(Protocol):
    """What NVIDIA's management library is asked about a card, by the name of its GPU object.

    Source: NVML API reference; the method's names are the library's. Each raises Retry if the
    library does not answer in time or says "in use", Refused for what the card cannot do.
    """

    async def compute_mode(self, gpu: str) -> ComputeMode:
        """Who may compute on it."""

    async def set_compute_mode(self, gpu: str, mode: ComputeMode) -> None:
        """Let others, or one process only, compute on it. Lost when the driver is reloaded."""

    async def processes(self, gpu: str) -> list[int]:
        """The PIDs, on the host, of what computes on it now."""

    async def mig_mode(self, gpu: str) -> tuple[MigMode, MigMode]:
        """Whether it is in MIG mode now, and whether it will be after its next reset."""

    async def set_mig_mode(self, gpu: str, mode: MigMode) -> None:
        """Have it in MIG mode, or out of it; its device file may get another minor.

        Raises Refused if the change is pending now until the card is reset.
        """

    async def gpu_instances(self, gpu: str) -> list[GpuInstance]:
        """Its GPU instances, whoever made them, by id; none outside MIG mode."""

    async def create_gpu_instance_with_placement(
        self, gpu: str, profile: int, start: int
    ) -> GpuInstance:
        """A new GPU instance of this profile. Raises Refused, “insufficient resources”, where
        something is already."""

    async def destroy_gpu_instance(self, gpu: str, instance: int) -> None:
        """Have no such GPU instance; its compute instances must be gone. Takes about a second."""

    async def compute_instances(self, gpu: str, instance: int) -> list[ComputeInstance]:
        """The compute instances of this GPU instance, by id."""

    async def create_compute_instance(self, gpu: str, instance: int) -> ComputeInstance:
        """A new compute instance with all compute slices of this GPU instance."""

    async def destroy_compute_instance(self, gpu: str, instance: int, compute: int) -> None:
        """Have no such compute instance; nothing may compute on it."""


class Files(Protocol):
    """Files of the node, by absolute path. Whatever fails raises Refused with path and cause."""

    def directory(self, path: Path, mode: int = 0o755) -> None:
        """Have this directory, with exactly this mode; parents are made, and may be there."""

    def write(self, path: Path, content: bytes, mode: int = 0o644) -> None:
        """Have this file, whole or not at all, with exactly this mode."""

    def patch(self, path: Path, offset: int, content: bytes) -> None:
        """Overwrite bytes of a file that exists, in place: others have it mapped."""

    def read(self, path: Path) -> bytes | None:
        """What is in the file, at most `LARGEST` bytes; None if there is none."""

    def exists(self, path: Path) -> bool:
        """Whether there is anything of this name."""

    def remove(self, path: Path) -> None:
        """Have nothing of this name: a directory goes with all that is in it."""

    async def mount_tmpfs(self, path: Path, size: int) -> None:
        """Have a tmpfs of so many bytes on this directory; mounted already is success."""

    async def unmount(self, path: Path) -> None:
        """Have nothing mounted there; nothing mounted is success."""


class Host(Protocol):
    """A plugin's only way to touch the node: real, fake or simulated."""

    @property
    def node_name(self) -> str:
        """The node's name."""

    @property
    def nvml(self) -> Nvml:
        """The cards' own library."""

    @property
    def files(self) -> Files:
        """The node's files."""

    @property
    def state_dir(self) -> Path:
        """The plugin's own directory that outlives agent and machine; made on first use."""

    @property
    def run_dir(self) -> Path:
        """The plugin's own directory that is empty after a reboot; made on first use."""

    def card(self, gpu: str) -> GPU:
        """The card of this GPU name. Raises Refused if this node does not have it."""

    def nodes(self, *gpus: str) -> list[DeviceNode]:
        """The device files by which a container sees these cards, each once."""

    def instance_nodes(self, gpu: str, instance: int, compute: int) -> list[DeviceNode]:
        """Those by which it sees this MIG instance: the card's, and the instance's capabilities."""

    def variable(self, name: str) -> str:
        """The environment variable of this preparation: `CORE` → `ELASTICGPU_0_CORE`.

        A container may have several claims, and one variable can hold but one value.
        """

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        timeout: float = 10.0,
    ) -> Finished:
        """Run a program to its end. `env` is added to the agent's own.

        Raises Refused if there is no such program, Retry if it takes longer than `timeout`
        seconds: it is killed then.
        """
