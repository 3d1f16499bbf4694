"""ElasticGPUClaim: what a user asks for; and ElasticGPUClaimTemplate: one claim a pod."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from .elasticgpu import CardSlice, ReclaimPolicy
from .meta import (
    GROUP,
    VERSION,
    Conditions,
    KubeObject,
    Label,
    Model,
    Name,
    ObjectMeta,
    Resource,
)
from .quantity import Quantity

ClaimPhase = Literal["", "Pending", "Bound", "Lost"]
SHOWN = 3
"""How many holders of a claim are named where a line has to do."""
ShortLabels = Annotated[dict[Name, Label], Field(max_length=16)]


class Requirement(Model):
    """One expression of a label selector."""

    key: Annotated[Name, Field(description="The label's key.")]
    operator: Annotated[
        Literal["In", "NotIn", "Exists", "DoesNotExist"],
        Field(description="How the label's value is compared with the values."),
    ]
    values: Annotated[
        list[Label], Field(max_length=32, description="For In and NotIn; else empty.")
    ] = []


class LabelSelector(Model):
    """Which ElasticGPUs may serve the claim, by their labels; everything given must fit."""

    match_labels: Annotated[
        ShortLabels, Field(description="Labels the ElasticGPU must carry.")
    ] = {}
    match_expressions: Annotated[
        list[Requirement],
        Field(max_length=16, description="Expressions the ElasticGPU's labels must fit."),
    ] = []


class GPUSelector(Model):
    """Which cards the device may be cut from; every field given must fit."""

    model: Annotated[
        str,
        StringConstraints(max_length=128),
        Field(description="The card's model, or a part of it, in any case: h200."),
    ] = ""
    architecture: Annotated[
        Label, Field(description="The card's architecture, such as hopper.")
    ] = ""
    memory: Annotated[
        Quantity | None, Field(description="The card has at least this much memory, such as 80Gi.")
    ] = None
    uuid: Annotated[Label, Field(description="The uuid of exactly this card.")] = ""
    node_name: Annotated[Name, Field(description="The node the card is in.")] = ""
    match_labels: Annotated[
        ShortLabels, Field(description="Labels the GPU object must carry.")
    ] = {}


class ResourceRequests(Model):
    """How much is asked for, in canonical names or a vendor's."""

    requests: Annotated[
        dict[Name, Quantity],
        Field(
            max_length=16,
            description="Amounts by resource name. Whole cards: elasticgpu.io/gpu. A share: "
            "elasticgpu.io/gpu-core (percent of a card; 200: two whole cards), "
            "elasticgpu.io/gpu-memory (such as 4Gi; below 1Mi it counts MiB, else bytes), "
            "elasticgpu.io/gpu-memory-percentage, elasticgpu.io/tflops (dense FP16); with "
            "elasticgpu.io/gpu-count it is split evenly over so many cards of one node. One MIG "
            "instance: elasticgpu.io/mig-<profile>: 1. The names of one vendor, such as "
            "aliyun.com/gpu-mem, are understood too.",
        ),
    ] = {}


class ClaimSpec(Model):
    """What is asked for, and what may serve it."""

    elastic_gpu_class_name: Annotated[
        Name | None,
        Field(
            alias="elasticGPUClassName",
            description="Class that serves the claim; set once. Absent: the default class; "
            '"": only devices made ahead, nothing is provisioned.',
        ),
    ] = None
    storage_class_name: Annotated[
        Name | None, Field(description="Another name of elasticGPUClassName.")
    ] = None
    resources: ResourceRequests = ResourceRequests()
    selector: Annotated[
        LabelSelector | None,
        Field(description="Which devices made ahead may serve the claim, by their labels."),
    ] = None
    gpu_selector: GPUSelector | None = None
    elastic_gpu_name: Annotated[
        Label,
        Field(
            alias="elasticGPUName",
            description="The ElasticGPU that serves the claim; set once, by you or by the bind.",
        ),
    ] = ""
    colocate_with: Annotated[
        list[Name],
        Field(
            max_length=16,
            description="Claims of this namespace to be placed on the same node as this one.",
        ),
    ] = []
    priority_class_name: Annotated[
        Name,
        Field(description="PriorityClass of the claim: a higher one may evict pods of a lower."),
    ] = ""
    shared: Annotated[
        bool, Field(description="True: several pods may use it at once; else one at a time.")
    ] = False


class ClaimUser(Model):
    """A pod that holds the claim, and its containers that see the device."""

    pod_uid: Annotated[Label, Field(min_length=1, description="The pod's uid.")]
    pod_name: Annotated[Name, Field(description="The pod's name.")] = ""
    node_name: Annotated[Name, Field(description="The node it runs on.")] = ""
    containers: Annotated[
        list[Label], Field(max_length=64, description="Its containers that see the device.")
    ] = []


class ProvisioningRequest(Model):
    """What the claim's provisioner was asked for, to be asked for again in the same words."""

    provisioner: Annotated[Name, Field(min_length=1, description="Whom it was asked of.")]
    class_name: Annotated[Name, Field(description="The class it is made for.")] = ""
    parameters: Annotated[
        dict[Name, Annotated[str, StringConstraints(max_length=512)]],
        Field(max_length=32, description="What the class told the provisioner."),
    ] = {}
    reclaim_policy: Annotated[
        ReclaimPolicy, Field(description="What becomes of the device afterwards.")
    ] = "Delete"
    requests: Annotated[
        dict[Name, Quantity], Field(max_length=16, description="What the claim asked for.")
    ] = {}
    node_name: Annotated[Name, Field(description="The node chosen for the device.")] = ""
    devices: Annotated[
        list[CardSlice], Field(max_length=16, description="The parts of cards chosen for it.")
    ] = []
    attributes: Annotated[
        dict[Label, Annotated[str, StringConstraints(max_length=256)]],
        Field(max_length=32, description="What placement noted for the provisioner."),
    ] = {}


class ClaimStatus(Model):
    """Where in its life the claim is."""

    phase: Annotated[
        ClaimPhase,
        Field(
            description="Pending: waits for a device; Bound: has one; Lost: its device is gone, "
            "delete the claim."
        ),
    ] = ""
    class_name: Annotated[Name, Field(description="The class in effect.")] = ""
    capacity: Annotated[
        dict[Label, Quantity], Field(max_length=16, description="What the bound device has.")
    ] = {}
    conditions: Conditions = []
    users: Annotated[
        list[ClaimUser], Field(max_length=256, description="The pods that hold the claim.")
    ] = []
    provisioning: Annotated[
        ProvisioningRequest | None,
        Field(description="The device being made for it: present until there is a final answer."),
    ] = None
    used_by: Annotated[
        str,
        StringConstraints(max_length=1024),
        Field(description="Who holds the claim, in short: three names at most, and how many more."),
    ] = ""
    excluded_nodes: Annotated[
        list[Name],
        Field(
            max_length=64,
            description="Nodes that were tried for it in vain: the next device is elsewhere.",
        ),
    ] = []
    excluded_for: Annotated[
        list[Label],
        Field(
            max_length=256,
            description="Uids of the pods that did not get to the last of these nodes: for other "
            "pods none is excluded.",
        ),
    ] = []


class ElasticGPUClaim(KubeObject):
    """A request for a part of a card, a whole card or several, bound to one ElasticGPU."""

    resource: ClassVar[Resource] = Resource(
        GROUP, VERSION, "ElasticGPUClaim", "elasticgpuclaims", True, "egpuc"
    )

    spec: ClaimSpec
    status: ClaimStatus = ClaimStatus()

    @property
    def class_name(self) -> str | None:
        """The class it names under either name; None if it names none, "" for "never provision"."""
        named = self.spec.elastic_gpu_class_name
        return named if named is not None else self.spec.storage_class_name

    def with_status(self, **changes: object) -> ElasticGPUClaim:
        """A copy whose status has these fields changed."""
        return self.but(status=self.status.but(**changes))

    def with_users(self, users: Sequence[ClaimUser]) -> ElasticGPUClaim:
        """A copy that these pods hold, and that says so in short."""
        names = [row.pod_name for row in users]
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        return self.with_status(users=list(users), used_by=", ".join(names[:SHOWN]) + more)


class ClaimTemplateSpec(Model):
    """Metadata and spec of the claims that are made from a template."""

    metadata: Annotated[
        ObjectMeta, Field(description="Labels and annotations of the claims made from it.")
    ] = ObjectMeta()
    spec: Annotated[ClaimSpec, Field(description="Spec of the claims made from it.")]


class ElasticGPUClaimTemplate(KubeObject):
    """One claim a pod, made when the pod is and owned by it."""

    resource: ClassVar[Resource] = Resource(
        GROUP, VERSION, "ElasticGPUClaimTemplate", "elasticgpuclaimtemplates", True, "egpuct"
    )

    spec: ClaimTemplateSpec
