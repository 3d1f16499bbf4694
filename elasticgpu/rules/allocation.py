"""A ResourceClaim's status as this project writes and reads it: whose device, and who keeps it.

The allocation names the claim's device. The `reservedFor` entry for the ElasticGPUClaim itself
keeps it: without that the scheduler's PostFilter erases an allocation whenever the pod does not fit
the node at the moment. An entry of anybody else is the scheduler's, who then has chosen the node.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import (
    Allocation,
    ConsumerReference,
    DeviceAllocation,
    DeviceResult,
    ResourceClaim,
)
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpuclass import Topology
from elasticgpu.api.meta import GROUP
from elasticgpu.api.names import DEVICE_REQUEST, DRIVER, REMOTE

CLAIMS = ElasticGPUClaim.resource.plural


@dataclass(frozen=True, slots=True)
class Allocate:
    """Write this ResourceClaim's allocation; `reserve` it with our entry.

    `topologies` are the nodes on which a device without node may be used; none: on any.
    """

    resource_claim: ResourceClaim
    claim: ElasticGPUClaim
    device: ElasticGPU
    reserve: bool
    topologies: tuple[Topology, ...] = ()


def allocated(action: Allocate, *, now: str) -> ResourceClaim:
    """The ResourceClaim with its allocation, and our entry if the pod has no node yet."""
    device, claim = action.device, action.claim
    node = device.spec.node_name
    result = DeviceResult(
        request=DEVICE_REQUEST, driver=DRIVER, pool=node or REMOTE, device=device.name
    )
    entry = ConsumerReference(api_group=GROUP, resource=CLAIMS, name=claim.name, uid=claim.uid)
    allocation = Allocation(devices=DeviceAllocation(results=[result]), allocation_timestamp=now)
    if node:
        allocation = allocation.but(node_selector=on_node(node))
    elif action.topologies:
        allocation = allocation.but(node_selector=inside(action.topologies))
    status = action.resource_claim.status.but(allocation=allocation)
    if action.reserve:
        status = status.but(reserved_for=[*status.reserved_for, entry])
    return action.resource_claim.but(status=status)


def on_node(name: str) -> dict[str, object]:
    """A node selector that only this node matches."""
    term = {"key": "metadata.name", "operator": "In", "values": [name]}
    return {"nodeSelectorTerms": [{"matchFields": [term]}]}


def inside(topologies: Iterable[Topology]) -> dict[str, object]:
    """A node selector that the nodes of each of these match."""
    terms = [
        {
            "matchExpressions": [
                {"key": term.key, "operator": "In", "values": term.values}
                for term in topology.match_label_expressions
            ]
        }
        for topology in topologies
    ]
    return {"nodeSelectorTerms": terms}


def unreserved(resource_claim: ResourceClaim) -> ResourceClaim:
    """The ResourceClaim without our entry."""
    rest = [entry for entry in resource_claim.status.reserved_for if not _is_ours(entry)]
    return resource_claim.but(status=resource_claim.status.but(reserved_for=rest))


def unallocated(resource_claim: ResourceClaim) -> ResourceClaim:
    """The ResourceClaim without its allocation, and without our entry, which kept it."""
    bare = unreserved(resource_claim)
    return bare.but(status=bare.status.but(allocation=None))


def allocated_device(resource_claim: ResourceClaim) -> str:
    """Name of the device the ResourceClaim is allocated; empty if none."""
    allocation = resource_claim.status.allocation
    results = allocation.devices.results if allocation else []
    return results[0].device if results else ""


def misallocated(claim: ElasticGPUClaim, resource_claim: ResourceClaim) -> bool:
    """Whether what it was allocated is not the claim's device any more."""
    device = allocated_device(resource_claim)
    return bool(device) and claim.spec.elastic_gpu_name != device


def reserved_by_us(resource_claim: ResourceClaim) -> bool:
    """Whether our entry is in it."""
    return any(map(_is_ours, resource_claim.status.reserved_for))


def scheduled(resource_claims: Iterable[ResourceClaim]) -> bool:
    """Whether the scheduler has reserved one of them for its pod: that pod has its node, almost."""
    return any(not _is_ours(entry) for rc in resource_claims for entry in rc.status.reserved_for)


def movable(resource_claim: ResourceClaim) -> bool:
    """Whether its allocation can be taken away: the scheduler has not reserved it for its pod."""
    return resource_claim.status.allocation is not None and not scheduled((resource_claim,))


def _is_ours(entry: ConsumerReference) -> bool:
    return entry.api_group == GROUP and entry.resource == CLAIMS
