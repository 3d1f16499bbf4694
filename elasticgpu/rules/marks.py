"""What is written on a claim for which a provisioner is at work, from first mark to last word.

Both marks go on before the first call and off after a final answer: a finalizer keeps the claim,
and `status.provisioning` has the request, so whoever goes on, after a crash too, repeats it in the
same words. (The record is in the status because annotations are anybody's to write.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elasticgpu.api.claim import ElasticGPUClaim, ProvisioningRequest
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import Condition, merge_condition
from elasticgpu.api.names import PROVISIONING, device_name

from .answers import EFFECTS, Answer, Kind
from .transaction import excluded


def wanted(claim: ElasticGPUClaim | None) -> bool:
    """Whether a device that is made for this claim will be bound to it, and is not yet."""
    if claim is None or claim.terminating or claim.status.phase in ("Bound", "Lost"):
        return False
    return claim.spec.elastic_gpu_name in ("", device_name(claim.uid))


def is_marked(claim: ElasticGPUClaim, request: ProvisioningRequest) -> bool:
    """Whether this request is written down on the claim, so that no crash can forget it."""
    return PROVISIONING in claim.metadata.finalizers and claim.status.provisioning == request


def has_marks(claim: ElasticGPUClaim) -> bool:
    """Whether anything on the claim says that it is, or was, in progress."""
    return PROVISIONING in claim.metadata.finalizers or claim.status.provisioning is not None


def recorded(claim: ElasticGPUClaim, request: ProvisioningRequest, *, now: str) -> ElasticGPUClaim:
    """The claim's status with the request that its provisioner is about to get."""
    where = f" on {request.node_name}" if request.node_name else ""
    answer = Answer(Kind.WORKING, f"{request.provisioner} makes its device{where}")
    noted = claim.with_status(provisioning=request, class_name=request.class_name)
    return told(noted, answer, now=now)


def told(claim: ElasticGPUClaim, answer: Answer, *, now: str, reason: str = "") -> ElasticGPUClaim:
    """The claim's status with what was answered; as it is, if it no longer waits for that."""
    if claim.status.phase in ("Bound", "Lost") or claim.spec.elastic_gpu_name:
        return claim
    condition = Condition(
        type="Bound",
        status="False",
        reason=reason or EFFECTS[answer.kind].reason,
        message=answer.words[:4096],
    )
    return claim.with_status(
        phase="Pending", conditions=merge_condition(claim.status.conditions, condition, now=now)
    )


def closed(
    claim: ElasticGPUClaim, node: str, answer: Answer | None, *, now: str
) -> ElasticGPUClaim:
    """The claim's status when it is in progress no longer, with what the last answer said.

    `node` is where the device was to be.
    """
    if claim.status.provisioning is not None:
        claim = claim.with_status(provisioning=None)
    if answer is None:
        return claim
    if answer.kind is Kind.ELSEWHERE:
        claim = excluded(claim, node)
    return told(claim, answer, now=now)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A final answer, and the claim and class it was given for."""

    answer: Answer
    claim: tuple[str, int]
    gpu_class: tuple[str, int]


def refusal(answer: Answer, claim: ElasticGPUClaim, gpu_class: ElasticGPUClass | None) -> Refusal:
    """The answer, to be remembered with what it was about."""
    return Refusal(answer, *_asked_for(claim, gpu_class))


def stands(said: Refusal | None, claim: ElasticGPUClaim, gpu_class: ElasticGPUClass | None) -> bool:
    """Whether it was said about this claim and this class as they are now."""
    return said is not None and (said.claim, said.gpu_class) == _asked_for(claim, gpu_class)


def _asked_for(
    claim: ElasticGPUClaim, gpu_class: ElasticGPUClass | None
) -> tuple[tuple[str, int], tuple[str, int]]:
    versions: Sequence[tuple[str, int]] = [
        (obj.uid, obj.metadata.generation) if obj is not None else ("", 0)
        for obj in (claim, gpu_class)
    ]
    return versions[0], versions[1]
