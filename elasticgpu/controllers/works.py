"""The claims for which a provisioner is at work: what binder and provisioning loop tell each other.

The binder chooses a place and begins; from then until the end the claim is the provisioning loop's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from elasticgpu.api.claim import ElasticGPUClaim, ProvisioningRequest
from elasticgpu.api.gpuclass import ClassSpec, ElasticGPUClass
from elasticgpu.api.meta import Key, ObjectMeta
from elasticgpu.api.vocabulary import demand
from elasticgpu.provisioner import Request
from elasticgpu.rules.ledger import Slice
from elasticgpu.rules.marks import Refusal


class Ref(NamedTuple):
    """One claim and no other of its name."""

    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> Key:
        """(namespace, name)."""
        return (self.namespace, self.name)


def ref(claim: ElasticGPUClaim) -> Ref:
    """The claim, to be found again."""
    return Ref(claim.namespace, claim.name, claim.uid)


@dataclass(eq=False)
class Work:
    """One claim in progress, as last seen; its request, and whether anybody may have got that."""

    ref: Ref
    claim: ElasticGPUClaim
    request: ProvisioningRequest
    asked: bool = False


@dataclass
class Works:
    """All of them, and what provisioners refused lately."""

    by_uid: dict[str, Work] = field(default_factory=dict)
    refusals: dict[str, Refusal] = field(default_factory=dict)
    on_begun: list[Callable[[Ref], None]] = field(default_factory=list)
    on_ended: list[Callable[[Key], None]] = field(default_factory=list)

    def __contains__(self, uid: str) -> bool:
        return uid in self.by_uid

    def add(self, work: Work) -> None:
        """A claim is in progress from now on."""
        self.by_uid[work.ref.uid] = work
        for handler in self.on_begun:
            handler(work.ref)

    def end(self, at: Ref) -> None:
        """It is no longer, or what was refused may be asked for again: the binder decides anew."""
        self.by_uid.pop(at.uid, None)
        for handler in self.on_ended:
            handler(at.key)


def record(request: Request) -> ProvisioningRequest:
    """The request as it is written down on the claim."""
    spec = request.gpu_class.spec
    return ProvisioningRequest(
        provisioner=spec.provisioner,
        class_name=request.gpu_class.name,
        parameters=spec.parameters,
        reclaim_policy=spec.reclaim_policy,
        requests=request.claim.spec.resources.requests,
        node_name=request.node,
        devices=list(request.place.devices),
        attributes=dict(request.place.attributes),
    )


def recall(claim: ElasticGPUClaim, written: ProvisioningRequest) -> Request:
    """The request that was written down, for the claim as it is now."""
    spec = ClassSpec(
        provisioner=written.provisioner,
        parameters=written.parameters,
        reclaim_policy=written.reclaim_policy,
    )
    return Request(
        claim=claim,
        gpu_class=ElasticGPUClass(metadata=ObjectMeta(name=written.class_name), spec=spec),
        want=demand(written.requests),
        node=written.node_name,
        place=Slice(tuple(written.devices), dict(written.attributes)),
    )
