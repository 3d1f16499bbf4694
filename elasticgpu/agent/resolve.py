"""Whose device a ResourceClaim stands for: the first half of Prepare, all of it read live.

Trusted are only `status.allocation` of the ResourceClaim, the pod's spec, what
kube-controller-manager wrote into the pod's status, and our own objects' status: people with the
built-in `edit` role can write the rest of a ResourceClaim.

What may still come true is `NotYet`, what cannot is `Refused`; both say it in a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import DeviceResult, Pod, ResourceClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Key, KubeObject, ObjectReference
from elasticgpu.api.names import DRIVER, REMOTE
from elasticgpu.errors import NotFound, Refused, Retry
from elasticgpu.rules.entries import Entry, entries, resource_claim_name
from elasticgpu.rules.holders import holds

from .ledger import Record, snapshot
from .ports import Api, T


class NotYet(Retry):
    """It may come true at any moment: look again soon."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, after=0.0)


class RefusedPod(Refused):
    """Refused, and the pod is known that has to hear it."""

    def __init__(self, pod: Pod, reason: str) -> None:
        super().__init__(reason)
        self.pod = pod


@contextmanager
def concerning(pod: Pod) -> Iterator[None]:
    """A refusal inside is one that this pod has to hear."""
    try:
        yield
    except Refused as error:
        raise RefusedPod(pod, error.reason) from error


@dataclass(frozen=True)
class Asked:
    """What a Prepare is about: for this pod's entry, this claim's device."""

    resource_claim: ResourceClaim
    request: str
    pod: Pod
    entry: Entry
    claim: ElasticGPUClaim
    device: ElasticGPU

    def record(self, boot_id: str) -> Record:
        """The ledger's record of it, before anything is done."""
        return Record(
            resource_claim=_reference(self.resource_claim),
            pod=_reference(self.pod),
            claim=_reference(self.claim),
            device=snapshot(self.device),
            tag=self.entry.tag,
            request=self.request,
            state="preparing",
            boot_id=boot_id,
        )


def _reference(obj: KubeObject) -> ObjectReference:
    return ObjectReference(namespace=obj.namespace, name=obj.name, uid=obj.uid)


async def resolve(api: Api, node: str, key: Key, uid: str) -> Asked:
    """Who asks for what. Raises NotYet, Refused or RefusedPod."""
    resource_claim = await _need(api, ResourceClaim, key)
    if resource_claim.uid != uid:
        raise Refused(f"ResourceClaim {'/'.join(key)} was made anew: its uid is not {uid}")
    result = _result(resource_claim, node)
    pod = await _pod(api, resource_claim, node)
    with concerning(pod):
        entry = _entry(pod, resource_claim.name)
        claim = await _need(api, ElasticGPUClaim, entry.key)
        device = await _need(api, ElasticGPU, ("", result.device))
        check(claim, device, pod.uid, node)
    return Asked(resource_claim, result.request, pod, entry, claim, device)


async def _need(api: Api, kind: type[T], key: Key) -> T:
    try:
        return await api.get(kind, key)
    except NotFound as error:
        name = "/".join(filter(None, key))
        raise Refused(f"{kind.resource.kind} {name} does not exist") from error


def _result(resource_claim: ResourceClaim, node: str) -> DeviceResult:
    """The one device of ours in the allocation."""
    allocation = resource_claim.status.allocation
    if allocation is None:
        raise NotYet(f"ResourceClaim {resource_claim.name} has no allocation")
    ours = [result for result in allocation.devices.results if result.driver == DRIVER]
    if len(ours) != 1:
        raise Refused(
            f"ResourceClaim {resource_claim.name} has {len(ours)} {DRIVER} devices, not 1"
        )
    if ours[0].pool not in (node, REMOTE):
        raise Refused(f"device {ours[0].device} is on node {ours[0].pool}, this is node {node}")
    return ours[0]


async def _pod(api: Api, resource_claim: ResourceClaim, node: str) -> Pod:
    """The one pod the ResourceClaim is reserved for, if it is to run here."""
    name = resource_claim.name
    pods = [
        r for r in resource_claim.status.reserved_for if r.resource == "pods" and not r.api_group
    ]
    if not pods:
        raise NotYet(f"ResourceClaim {name} is reserved for no pod")
    if len(pods) > 1:
        raise Refused(f"ResourceClaim {name} is reserved for {len(pods)} pods: each needs its own")
    pod = await _need(api, Pod, (resource_claim.namespace, pods[0].name))
    if pod.uid != pods[0].uid:
        raise Refused(f"pod {pod.name} was made anew; ResourceClaim {name} was its predecessor's")
    if pod.finished:
        raise RefusedPod(pod, f"pod {pod.name} has ended")
    if not pod.spec.node_name:
        raise NotYet(f"pod {pod.name} has no node")
    if pod.spec.node_name != node:
        raise RefusedPod(pod, f"pod {pod.name} is on node {pod.spec.node_name}, this is {node}")
    return pod


def _entry(pod: Pod, resource_claim: str) -> Entry:
    """The pod's entry for which this ResourceClaim was made."""
    mine = entries(pod)
    for entry in mine:
        if resource_claim_name(pod, entry) == resource_claim:
            return entry
    if any(not resource_claim_name(pod, entry) for entry in mine):
        raise NotYet(f"pod {pod.name} does not say yet which ResourceClaims were made for it")
    raise Refused(
        f"ResourceClaim {resource_claim} was not made from an ElasticGPUClaim of pod {pod.name}: "
        "name the claim in an annotation of the pod, elasticgpu.io/egpuc-<container>"
    )


def check(claim: ElasticGPUClaim, device: ElasticGPU, pod_uid: str, node: str) -> None:
    """Whether claim, device, pod and node belong together. Raises NotYet or Refused if not."""
    if claim.spec.elastic_gpu_name not in ("", device.name):
        raise Refused(
            f"ElasticGPUClaim {claim.name} has ElasticGPU {claim.spec.elastic_gpu_name}, "
            f"the ResourceClaim was allocated {device.name}"
        )
    if device.spec.node_name not in (node, ""):
        raise Refused(f"ElasticGPU {device.name} is on {device.spec.node_name}")
    check_device(device, claim)
    if not claim.spec.elastic_gpu_name:
        raise NotYet(f"ElasticGPUClaim {claim.name} does not name its device yet")
    if not holds(claim, pod_uid):
        raise NotYet(f"ElasticGPUClaim {claim.name} is not handed to this pod: {held_by(claim)}")


def check_device(device: ElasticGPU, claim: ElasticGPUClaim | ObjectReference) -> None:
    """Whether the device is the claim's, bound and to stay. Raises NotYet or Refused if not."""
    phase, ref = device.status.phase, device.spec.claim_ref
    if device.terminating:
        raise Refused(f"ElasticGPU {device.name} is being deleted")
    if phase in ("Failed", "Released"):
        raise Refused(
            f"ElasticGPU {device.name} is {phase}: {device.status.message or 'no reason'}"
        )
    if ref is not None and ref.uid not in ("", claim.uid):
        raise Refused(f"ElasticGPU {device.name} belongs to {ref.namespace}/{ref.name}")
    if device.claim_uid != claim.uid or phase != "Bound":
        raise NotYet(f"ElasticGPU {device.name} is not bound to ElasticGPUClaim {claim.name} yet")


def held_by(claim: ElasticGPUClaim) -> str:
    """Who holds the claim, in words."""
    names = ", ".join(row.pod_name or row.pod_uid for row in claim.status.users)
    return f"held by pod {names}" if names else "no pod holds it yet"
