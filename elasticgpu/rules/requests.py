"""A request for a device, and the device that it asks for: what provisioners answer.

Placement has chosen the cards; whoever makes the device, its claim owns it from its first moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import CardSlice, DeviceSource, ElasticGPU, ElasticGPUSpec
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import ObjectMeta, ObjectReference
from elasticgpu.api.names import (
    BOUND_BY_CONTROLLER,
    DEVICE_PROTECTION,
    PROVISIONED_BY,
    device_name,
)
from elasticgpu.api.quantity import format_bytes
from elasticgpu.api.vocabulary import CORE, MEMORY, Demand

from .ledger import Slice


@dataclass(frozen=True, slots=True)
class Request:
    """One device to be made: for whom, by which class, and where placement put it.

    Asked again, all of it is the same, but for what somebody changed of the claim meanwhile.
    """

    claim: ElasticGPUClaim
    gpu_class: ElasticGPUClass
    want: Demand
    node: str
    place: Slice

    @property
    def name(self) -> str:
        """The device's name, from the claim's uid: a second try meets the first one."""
        return device_name(self.claim.uid)

    def device(
        self, *, handle: str = "", attributes: Mapping[str, str] | None = None
    ) -> ElasticGPU:
        """The ElasticGPU that is asked for, with your own key (`request.name` if you have none)
        and what else you need to remember. Both are fixed once it is stored."""
        return build(self.gpu_class.spec.provisioner, self, handle, attributes or {})


def build(
    driver: str, request: Request, handle: str = "", attributes: Mapping[str, str] | None = None
) -> ElasticGPU:
    """The ElasticGPU object of a request: owned by the claim from its first moment."""
    claim, parts = request.claim, request.place.devices
    return ElasticGPU(
        metadata=ObjectMeta(
            name=request.name,
            annotations={PROVISIONED_BY: driver, BOUND_BY_CONTROLLER: "yes"},
            finalizers=[DEVICE_PROTECTION],
        ),
        spec=ElasticGPUSpec(
            capacity=capacity(parts),
            elastic_gpu_class_name=request.gpu_class.name,
            reclaim_policy=request.gpu_class.spec.reclaim_policy,
            claim_ref=ObjectReference(namespace=claim.namespace, name=claim.name, uid=claim.uid),
            node_name=request.node,
            source=DeviceSource(
                driver=driver,
                handle=handle or request.name,
                devices=list(parts),
                parameters=dict(request.gpu_class.spec.parameters),
                attributes={**request.place.attributes, **(attributes or {})},
            ),
        ),
    )


def capacity(parts: tuple[CardSlice, ...]) -> dict[str, int | str]:
    """What the parts sum up to, in canonical names."""
    core, memory = sum(p.core for p in parts), sum(p.memory_bytes for p in parts)
    whole: dict[str, int | str] = {CORE: core, MEMORY: format_bytes(memory)}
    return {name: amount for name, amount in whole.items() if amount not in (0, "0")}
