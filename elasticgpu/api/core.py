"""The objects of Kubernetes itself that this project reads or writes, as far as it does."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from .meta import Key, KubeObject, Model, Resource, or_empty


class ContainerClaim(Model):
    """A container's mention of one of the pod's `resourceClaims` entries."""

    name: str
    request: str = ""


class ContainerResources(Model):
    """`resources` of a container, or of a pod as a whole; the server fills in `requests`."""

    claims: list[ContainerClaim] = []
    requests: dict[str, int | str] = {}


class Container(Model):
    """One container or init container; an init container that restarts always is a sidecar."""

    name: str
    resources: ContainerResources = ContainerResources()
    restart_policy: str | None = None


class NodeRequirement(Model):
    """One expression about a node's labels or fields."""

    key: str
    operator: str
    values: list[str] = []


class NodeSelectorTerm(Model):
    """Expressions that hold together; a term without any holds for no node."""

    match_expressions: list[NodeRequirement] = []
    match_fields: list[NodeRequirement] = []


class NodeSelector(Model):
    """Terms of which one has to hold."""

    node_selector_terms: list[NodeSelectorTerm] = []


class NodeAffinity(Model):
    """On which nodes the pod may run. What it only prefers is the scheduler's business."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None


class Affinity(Model):
    """A pod's affinity, as far as nodes alone decide it."""

    node_affinity: NodeAffinity | None = None


class Toleration(Model):
    """Taints that do not keep the pod away; an empty key or effect means any."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class PodResourceClaim(Model):
    """A pod-level `resourceClaims` entry."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodResourceClaimStatus(Model):
    """Which ResourceClaim kube-controller-manager made for an entry."""

    name: str
    resource_claim_name: str | None = None


class PodSpec(Model):
    """What of a pod's spec matters here."""

    node_name: str = ""
    scheduler_name: str = ""
    scheduling_gates: list[dict[str, Any]] = []
    containers: list[Container] = []
    init_containers: list[Container] = []
    resources: ContainerResources = ContainerResources()
    overhead: dict[str, int | str] = {}
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: list[Toleration] = []
    resource_claims: list[PodResourceClaim] = []


class PodCondition(Model):
    """One observed fact about a pod, such as PodScheduled."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: Annotated[str, BeforeValidator(or_empty)] = ""


class PodStatus(Model):
    """What of a pod's status matters here."""

    phase: Literal["", "Pending", "Running", "Succeeded", "Failed", "Unknown"] = ""
    nominated_node_name: str = ""
    conditions: list[PodCondition] = []
    resource_claim_statuses: list[PodResourceClaimStatus] = []


class Pod(KubeObject):
    """A pod."""

    resource: ClassVar[Resource] = Resource("", "v1", "Pod", "pods", True)

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def finished(self) -> bool:
        """Succeeded or Failed: its containers never run again."""
        return self.status.phase in ("Succeeded", "Failed")


class DeviceResult(Model):
    """One allocated device of a ResourceClaim."""

    request: str
    driver: str
    pool: str
    device: str


class DeviceAllocation(Model):
    """The devices of an allocation."""

    results: list[DeviceResult] = []


class Allocation(Model):
    """`status.allocation` of a ResourceClaim."""

    devices: DeviceAllocation = DeviceAllocation()
    node_selector: dict[str, Any] | None = None
    allocation_timestamp: str | None = None


class ConsumerReference(Model):
    """An entry of `status.reservedFor`: who may use, or keeps, the allocation."""

    api_group: str = ""
    resource: str
    name: str
    uid: str


class ResourceClaimStatus(Model):
    """Status of a ResourceClaim."""

    allocation: Allocation | None = None
    reserved_for: list[ConsumerReference] = []


class ResourceClaim(KubeObject):
    """DRA's per-pod claim, made by kube-controller-manager from our template."""

    resource: ClassVar[Resource] = Resource(
        "resource.k8s.io", "v1", "ResourceClaim", "resourceclaims", True
    )

    spec: dict[str, Any] = {}
    status: ResourceClaimStatus = ResourceClaimStatus()

    @property
    def pod_uid(self) -> str:
        """Uid of the pod that owns it, or empty."""
        owners = self.metadata.owner_references
        return next((o.uid for o in owners if o.kind == "Pod" and o.controller), "")

    @property
    def pods(self) -> list[Key]:
        """Keys of the pods among its owners.

        >>> from elasticgpu.api.meta import ObjectMeta, OwnerReference
        >>> web = OwnerReference(api_version="v1", kind="Pod", name="web", uid="uid-web")
        >>> ResourceClaim(metadata=ObjectMeta(namespace="team", owner_references=[web])).pods
        [('team', 'web')]
        """
        owners = self.metadata.owner_references
        return [(self.namespace, owner.name) for owner in owners if owner.kind == "Pod"]


class ResourceClaimTemplate(KubeObject):
    """DRA's template, from which kube-controller-manager makes one ResourceClaim a pod."""

    resource: ClassVar[Resource] = Resource(
        "resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates", True
    )

    spec: dict[str, Any] = {}


class Taint(Model):
    """A taint of a node: pods that do not tolerate it stay away."""

    key: str
    value: str = ""
    effect: str = ""


class NodeSpec(Model):
    """What of a node's spec matters here."""

    unschedulable: bool = False
    taints: list[Taint] = []


class NodeCondition(Model):
    """One observed fact of a node, as its kubelet or, when that is silent, Kubernetes wrote it."""

    type: str
    status: str = ""


class NodeStatus(Model):
    """What of a node's status matters here: what pods may ask of it in all, and how it is."""

    allocatable: dict[str, int | str] = {}
    conditions: list[NodeCondition] = []


class Node(KubeObject):
    """A node."""

    resource: ClassVar[Resource] = Resource("", "v1", "Node", "nodes")

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Lease(KubeObject):
    """A coordination lease."""

    resource: ClassVar[Resource] = Resource("coordination.k8s.io", "v1", "Lease", "leases", True)

    spec: dict[str, Any] = {}


class Event(KubeObject):
    """An event of `events.k8s.io/v1`."""

    resource: ClassVar[Resource] = Resource("events.k8s.io", "v1", "Event", "events", True)
