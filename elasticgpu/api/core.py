"""The objects of Kubernetes itself that this project reads or writes, as far as it does."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from .meta import KubeObject, Model, Resource


class ContainerClaim(Model):
    """A container's mention of one of the pod's `resourceClaims` entries."""

    name: str
    request: str = ""


class ContainerResources(Model):
    """`resources` of a container."""

    claims: list[ContainerClaim] = []


class Container(Model):
    """One container, init container or sidecar."""

    name: str
    resources: ContainerResources = ContainerResources()


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
    containers: list[Container] = []
    init_containers: list[Container] = []
    resource_claims: list[PodResourceClaim] = []


class PodStatus(Model):
    """What of a pod's status matters here."""

    phase: Literal["", "Pending", "Running", "Succeeded", "Failed", "Unknown"] = ""
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


class NodeStatus(Model):
    """What of a node's status matters here: what pods may ask of it in all."""

    allocatable: dict[str, int | str] = {}


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
