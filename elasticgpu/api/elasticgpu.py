"""ElasticGPU: one device cut from cards: the PersistentVolume of this project.

Made by the controller for a claim, or by an admin ahead of time. `spec.claimRef` is the lock.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from .meta import (
    GROUP,
    VERSION,
    Conditions,
    KubeObject,
    Label,
    Model,
    Name,
    ObjectReference,
    Resource,
    Text,
)
from .quantity import Bytes, Quantity, to_int

DevicePhase = Literal["", "Pending", "Available", "Bound", "Released", "Failed"]
ReclaimPolicy = Literal["Retain", "Delete"]


class CardSlice(Model):
    """The part of one card that a device is made of."""

    gpu: Annotated[Name, Field(min_length=1, description="Name of the GPU object.")]
    uuid: Annotated[Label, Field(description="The card's own uuid.")] = ""
    core: Annotated[int, Field(ge=0, le=100, description="Percent of the card's compute.")] = 0
    memory: Annotated[Bytes, Field(description="Bytes of the card's memory.")] = 0
    mig_profile: Annotated[
        Label, Field(description="MIG profile of the instance, such as 1g.18gb; else empty.")
    ] = ""
    mig_start: Annotated[
        int, Field(ge=0, le=15, description="Memory slice at which the MIG instance starts.")
    ] = 0

    @property
    def memory_bytes(self) -> int:
        """Memory in bytes."""
        return to_int(self.memory)


class DeviceSource(Model):
    """Where the device comes from: which provisioner made it, of which cards; never changes."""

    driver: Annotated[Name, Field(min_length=1, description="The provisioner's name.")]
    handle: Annotated[
        str, StringConstraints(max_length=256), Field(description="The provisioner's own key.")
    ] = ""
    devices: Annotated[
        list[CardSlice],
        Field(
            max_length=16,
            description="The cards, each once; a remote device's are its servers'.",
        ),
    ] = []
    parameters: Annotated[
        dict[Name, Annotated[str, StringConstraints(max_length=512)]],
        Field(max_length=32, description="Those of its class when it was made; see there."),
    ] = {}
    attributes: Annotated[
        dict[Label, Annotated[str, StringConstraints(max_length=256)]],
        Field(max_length=32, description="What else the provisioner needs to remember."),
    ] = {}


class ElasticGPUSpec(Model):
    """What the device is, whose it is, and what becomes of it afterwards."""

    capacity: Annotated[
        dict[Label, Quantity],
        Field(max_length=16, description="What the device has, by canonical resource name."),
    ] = {}
    elastic_gpu_class_name: Annotated[
        Name,
        Field(
            alias="elasticGPUClassName",
            description='The class it belongs to; empty: only claims of class "" get it.',
        ),
    ] = ""
    reclaim_policy: Annotated[
        ReclaimPolicy,
        Field(description="When its claim is gone: Delete it, or Retain it for an admin."),
    ] = "Delete"
    claim_ref: Annotated[
        ObjectReference | None,
        Field(
            description="The claim it belongs to or, without uid, is reserved for. "
            "Remove it to let another claim have the device."
        ),
    ] = None
    node_name: Annotated[
        Name, Field(description="The node it is on; empty for a remote device.")
    ] = ""
    source: DeviceSource


class ElasticGPUStatus(Model):
    """Where in its life the device is."""

    phase: Annotated[
        DevicePhase,
        Field(
            description="Pending: no room for it yet; Available: free; Bound: has a claim; "
            "Released: its claim is gone; Failed: see reason and message."
        ),
    ] = ""
    reason: Annotated[
        str, StringConstraints(max_length=128), Field(description="Why, in one word for programs.")
    ] = ""
    message: Annotated[
        Text, Field(description="Why, in a sentence for people, and what to do.")
    ] = ""
    conditions: Conditions = []
    prepared_for: Annotated[
        list[Label],
        Field(
            max_length=256,
            description="Pod uids for which the node has it ready; the agent's field.",
        ),
    ] = []
    prepared_memory: Annotated[
        Bytes | None,
        Field(
            description="Bytes of memory, over all its cards, that these pods may have by now; "
            "absent if the backend cannot change it under them; the agent's field."
        ),
    ] = None


class ElasticGPU(KubeObject):
    """One usable GPU device: a part of a card, whole cards of a node, or a remote one."""

    resource: ClassVar[Resource] = Resource(
        GROUP, VERSION, "ElasticGPU", "elasticgpus", short="egpu"
    )

    spec: ElasticGPUSpec
    status: ElasticGPUStatus = ElasticGPUStatus()

    @property
    def memory_bytes(self) -> int:
        """Memory of all its parts in bytes. Raises ValueError if it cannot be read."""
        return sum(part.memory_bytes for part in self.spec.source.devices)

    @property
    def resizing(self) -> bool:
        """It grew, and its node has not yet let the pods that use it have that."""
        pods, have = self.status.prepared_for, self.status.prepared_memory
        return bool(pods) and have is not None and to_int(have) < self.memory_bytes

    @property
    def claim_uid(self) -> str:
        """Uid of the claim that owns it; empty while free or only reserved."""
        return self.spec.claim_ref.uid if self.spec.claim_ref else ""

    def with_status(self, **changes: object) -> ElasticGPU:
        """A copy whose status has these fields changed."""
        return self.but(status=self.status.but(**changes))
