"""GPU: one physical card, as its node reports it, and who holds what of it.

Two writers, by server-side apply of disjoint fields: the agent (everything it found) and the
controller (`status.allocated`).
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from .meta import GROUP, VERSION, Conditions, KubeObject, Label, Model, Name, Resource, Text
from .quantity import Bytes, Quantity, to_int


class Link(Model):
    """A connection to another card of the same node."""

    peer: Annotated[Name, Field(description="Name of the other GPU object.")]
    kind: Annotated[
        Literal["NVLink", "NVSwitch", "PCIe", "Host", "NUMA"],
        Field(description="What joins them, fastest first: NVLink, NVSwitch, PCIe, Host, NUMA."),
    ]
    bandwidth: Annotated[int, Field(ge=0, description="Bandwidth in MB/s, one direction.")] = 0


class Holding(Model):
    """What one ElasticGPU holds of this card, for whom, and which pods use it."""

    elastic_gpu: Annotated[Label, Field(alias="elasticGPU", description="Name of the ElasticGPU.")]
    claim: Annotated[
        str,
        StringConstraints(max_length=317),
        Field(description="namespace/name of the claim, empty if none."),
    ] = ""
    pods: Annotated[
        list[Name], Field(max_length=256, description="Names of the pods that use it.")
    ] = []
    core: Annotated[int, Field(ge=0, description="Percent of the card's compute.")] = 0
    memory: Annotated[Quantity, Field(description="Bytes of the card's memory.")] = 0


MigMode = Literal["", "Enabled", "Disabled"]
"""Whether a card is, or will be, in MIG mode; empty: not known, or it has no such mode."""


class MigProfile(Model):
    """One row of the card's MIG table."""

    name: Annotated[Label, Field(description="The profile, such as 1g.18gb.")]
    id: Annotated[int, Field(description="The profile's id in NVML.")]
    memory: Annotated[Quantity, Field(description="Bytes of memory of one instance.")]
    slices: Annotated[int, Field(ge=1, description="Memory slices one instance takes.")]
    starts: Annotated[
        list[int], Field(max_length=16, description="Memory slices at which one may start.")
    ]
    max: Annotated[int, Field(ge=1, description="How many of them the card holds at most.")]


class GPUSpec(Model):
    """What is decided about a card: where it is, and what its admin allows."""

    node_name: Annotated[Name, Field(description="The node the card sits in; set once.")]
    unschedulable: Annotated[
        bool, Field(description="True: nothing new is placed on this card.")
    ] = False
    modes: Annotated[
        list[Label],
        Field(max_length=16, description="Backends that may take this card; empty means all."),
    ] = []


class GPUStatus(Model):
    """What the agent found, and what the controller placed."""

    index: Annotated[int, Field(ge=0, description="Its number on the node.")] = 0
    uuid: Annotated[Label, Field(description="The card's own uuid.")] = ""
    model: Annotated[
        str,
        StringConstraints(max_length=128),
        Field(description="What its maker calls it, such as NVIDIA H200."),
    ] = ""
    memory: Annotated[Bytes, Field(description="Usable bytes of memory.")] = 0
    minor: Annotated[int, Field(ge=0, description="n of /dev/nvidia<n>.")] = 0
    pci_bus_id: Annotated[Label, Field(description="Its place on the PCI bus.")] = ""
    pci_device_id: Annotated[
        Label, Field(description="PCI ids of device and vendor, such as 0x233510DE.")
    ] = ""
    numa_node: Annotated[
        int, Field(description="The NUMA node it is attached to; -1: not known.")
    ] = -1
    architecture: Annotated[Label, Field(description="Its architecture, such as hopper.")] = ""
    compute_capability: Annotated[
        Label, Field(description="Its CUDA compute capability, such as 9.0.")
    ] = ""
    tflops: Annotated[int, Field(ge=0, description="Dense FP16 TFLOPS.")] = 0
    driver_version: Annotated[Label, Field(description="Version of the node's driver.")] = ""
    simulated: Annotated[bool, Field(description="Made up by --simulate, no real card.")] = False
    mig: Annotated[
        list[MigProfile],
        Field(max_length=32, description="MIG profiles it can be cut into; empty: no MIG."),
    ] = []
    mig_mode: Annotated[
        MigMode, Field(description="Whether it is in MIG mode now; empty: not known.")
    ] = ""
    mig_mode_pending: Annotated[
        MigMode, Field(description="The MIG mode it will be in once it is reset.")
    ] = ""
    mig_needs_reset: Annotated[
        bool, Field(description="True: its MIG mode changes only when it is reset (Ampere).")
    ] = False
    links: Annotated[
        list[Link], Field(max_length=64, description="Connections to the node's other cards.")
    ] = []
    health: Annotated[
        Literal["Healthy", "Unhealthy", "Unknown"],
        Field(description="Unhealthy: nothing new is placed on it."),
    ] = "Unknown"
    health_message: Annotated[Text, Field(description="Why it is not healthy.")] = ""
    mode: Annotated[Label, Field(description="The backend that has the card now.")] = ""
    allocated: Annotated[
        list[Holding],
        Field(max_length=256, description="Who holds what of it; the controller's field."),
    ] = []
    conditions: Conditions = []


class GPU(KubeObject):
    """One physical card, as its node reports it, and who holds what of it."""

    resource: ClassVar[Resource] = Resource(GROUP, VERSION, "GPU", "gpus", short="gpu")

    spec: GPUSpec
    status: GPUStatus = GPUStatus()

    @property
    def memory(self) -> int:
        """The card's usable memory in bytes; 0, so that it serves nobody, if that is unreadable."""
        try:
            return to_int(self.status.memory)
        except ValueError:
            return 0
