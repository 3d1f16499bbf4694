"""By what the caches find objects besides their names, so that no loop ever walks through all."""

from __future__ import annotations

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Pod, ResourceClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Key
from elasticgpu.api.names import CLAIM_PROTECTION
from elasticgpu.cluster.store import Index
from elasticgpu.rules.entries import entries


def _claim_key(device: ElasticGPU) -> list[Key]:
    ref = device.spec.claim_ref
    return [ref.key] if ref else []


def _is_released(device: ElasticGPU) -> list[bool]:
    return [True] if device.status.phase == "Released" else []


def _colocated(claim: ElasticGPUClaim) -> list[Key]:
    return [(claim.namespace, name) for name in claim.spec.colocate_with]


def _node_name(device: ElasticGPU) -> list[str]:
    return [device.spec.node_name] if device.spec.node_name else []


def _prepared_for(device: ElasticGPU) -> list[str]:
    return device.status.prepared_for


def _device_name(claim: ElasticGPUClaim) -> list[str]:
    return [claim.spec.elastic_gpu_name] if claim.spec.elastic_gpu_name else []


def _protected_namespace(claim: ElasticGPUClaim) -> list[str]:
    waits = claim.terminating and CLAIM_PROTECTION in claim.metadata.finalizers
    return [claim.namespace] if waits else []


def _uid(pod: Pod) -> list[str]:
    return [pod.uid]


def _claims_named(pod: Pod) -> list[Key]:
    return [entry.key for entry in entries(pod)]


def _templates_named(pod: Pod) -> list[Key]:
    return [entry.template_key for entry in entries(pod)]


def _claim_templates_named(pod: Pod) -> list[Key]:
    named = (entry.claim_template for entry in entries(pod))
    return [(pod.namespace, name) for name in named if name]


def _pod_key(resource_claim: ResourceClaim) -> list[Key]:
    return resource_claim.pods


DEVICES: dict[str, Index[ElasticGPU]] = {
    "claim": _claim_key,
    "node": _node_name,
    "prepared for": _prepared_for,
    "released": _is_released,
}
CLAIMS: dict[str, Index[ElasticGPUClaim]] = {
    "device": _device_name,
    "colocated": _colocated,
    "going": _protected_namespace,
}
PODS: dict[str, Index[Pod]] = {
    "uid": _uid,
    "claim": _claims_named,
    "template": _templates_named,
    "claim template": _claim_templates_named,
}
RESOURCE_CLAIMS: dict[str, Index[ResourceClaim]] = {"pod": _pod_key}
