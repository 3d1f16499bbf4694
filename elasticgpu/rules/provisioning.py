"""What a provisioner's answer leads to: from the request to the stored device, or its end.

A claim is *in progress* from before the first call until a final answer: a finalizer keeps it, and
`status.provisioning` has the request, so whoever goes on, after a crash too, repeats it in the same
words. (The record is in the status because annotations are anybody's to write.)

    answer     in progress    said on the claim     then
    done       until stored   nothing               its device is created
    working    yes            condition             asked again after `after` seconds
    unclear    as it was      condition, Warning    asked again, later each time
    later      no             condition, Warning    asked again, later each time, `after` at least
    refused    no             condition, Warning    when claim or class change, else slowly
    elsewhere  no             condition             at once, for another node
    foreign    no             condition             when claim or class change
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from elasticgpu.api.claim import ElasticGPUClaim, ProvisioningRequest
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import Condition, merge_condition
from elasticgpu.api.names import PROVISIONING, device_name
from elasticgpu.errors import NotOurs, Refused, Reschedule, Retry, Working

from .transaction import excluded

SLOW = 600.0
"""Seconds after which a provisioner that refused is asked again though nothing changed."""

DAY = 86_400.0
SOONEST = 0.5
"""Bounds of what a provisioner's `after` can mean, in seconds."""


class Kind(Enum):
    """What an answer of `provision` or `release` comes to."""

    DONE = "done"
    WORKING = "working"
    UNCLEAR = "unclear"
    LATER = "later"
    REFUSED = "refused"
    ELSEWHERE = "elsewhere"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call led to, in words for people; `after` is in seconds."""

    kind: Kind
    words: str = ""
    after: float = 0.0
    device: ElasticGPU | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """What an answer does to a claim in progress: a row of the table above."""

    reason: str
    final: bool = False
    warn: bool = False


EFFECTS: dict[Kind, Effect] = {
    Kind.DONE: Effect("Provisioning"),
    Kind.WORKING: Effect("Provisioning"),
    Kind.UNCLEAR: Effect("ProvisioningFailed", warn=True),
    Kind.LATER: Effect("ProvisioningFailed", warn=True),
    Kind.REFUSED: Effect("ProvisioningFailed", final=True, warn=True),
    Kind.ELSEWHERE: Effect("Rescheduled", final=True),
    Kind.FOREIGN: Effect("NotOurs", final=True),
}


CLEANUP_FAILED = "ProvisioningCleanupFailed"
"""Reason of a claim's condition while what was made for it can be neither stored nor released."""

WARNINGS = {CLEANUP_FAILED, *(row.reason for row in EFFECTS.values() if row.warn)}
"""Reasons that somebody should act on."""


def read(name: str, error: BaseException) -> Answer:
    """The answer that an exception of the provisioner `name` is."""
    match error:
        case Working(reason=reason, after=after):
            return Answer(Kind.WORKING, f"{name}: {reason}", _seconds(after))
        case Retry(reason=reason, after=after):
            return Answer(Kind.LATER, f"{name}: {reason}", _seconds(after))
        case Refused(reason=reason):
            return Answer(Kind.REFUSED, f"{name}: {reason}")
        case Reschedule():
            return Answer(Kind.ELSEWHERE, f"{name}: {error}")
        case NotOurs():
            return Answer(Kind.FOREIGN, f"{name} leaves it to somebody else")
        case TimeoutError():
            return Answer(Kind.UNCLEAR, f"{name} did not answer in time")
        case _:
            return Answer(Kind.UNCLEAR, f"provisioner {name} failed: {error!r}")


def _seconds(after: object) -> float:
    """Whatever a plugin wrote there, as seconds that a timer takes."""
    return min(float(after), DAY) if isinstance(after, int | float) and after > SOONEST else SOONEST


@dataclass(frozen=True, slots=True)
class ProgressView:
    """All that decides about one claim in progress, read at one moment.

    `claim` is None once it is gone. `asked`: its provisioner may have been, by this process or
    one before. `answer` is the last one; `unwanted` what it
    made and cannot be stored, `cleanup` the last answer to its release. `calling`: a call is under
    way. `due`: it is time for the next one.
    """

    request: ProvisioningRequest
    claim: ElasticGPUClaim | None
    asked: bool = False
    answer: Answer | None = None
    unwanted: ElasticGPU | None = None
    cleanup: Answer | None = None
    stored: bool = False
    installed: bool = True
    calling: bool = False
    due: bool = True


@dataclass(frozen=True, slots=True)
class Begin:
    """Put the finalizer on the claim, then the request into its status."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Call `provision` with the request."""


@dataclass(frozen=True, slots=True)
class Store:
    """Create the device that was answered."""

    device: ElasticGPU


@dataclass(frozen=True, slots=True)
class Undo:
    """Call `release` for what was made and cannot be stored."""

    device: ElasticGPU


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing now; what `answer` says is to be read on the claim."""

    answer: Answer | None = None


@dataclass(frozen=True, slots=True)
class End:
    """In progress no longer: the request leaves the status, then the finalizer goes."""

    answer: Answer | None = None


@dataclass(frozen=True, slots=True)
class Leave:
    """In progress no longer, and the bind that goes on takes request and finalizer with it."""


Decision = Begin | Ask | Store | Undo | Rest | End | Leave


def decide(view: ProgressView) -> Decision:
    """What to do about a claim in progress."""
    if view.stored:
        return Leave() if wanted(view.claim) else End()
    if view.calling:
        return Rest(_last(view))
    if not view.installed:
        return _unasked(view)
    if view.unwanted is not None:
        return Undo(view.unwanted) if view.due else Rest(_last(view))
    if view.answer is None:
        return _ask(view)
    if view.answer.device is not None:
        return Store(view.answer.device)
    if view.answer.kind is Kind.LATER and not wanted(view.claim):
        return End()
    return End(view.answer) if EFFECTS[view.answer.kind].final else _ask(view)


def _last(view: ProgressView) -> Answer | None:
    """What is told meanwhile: how the cleanup goes, once that has answered, else the making."""
    cleaning = view.unwanted is not None and view.cleanup is not None
    return view.cleanup if cleaning else view.answer


def _ask(view: ProgressView) -> Decision:
    claim = view.claim
    if not view.asked and not wanted(claim):
        return End()
    if claim is not None and not claim.terminating and not is_marked(claim, view.request):
        return Begin()
    return Ask() if view.due else Rest(view.answer)


def _unasked(view: ProgressView) -> Decision:
    name = view.request.provisioner
    words = (
        f"provisioner {name}, which was asked for its device, is not installed: install it, or, "
        f"if you know that it made none, remove the finalizer {PROVISIONING}"
    )
    return End() if view.claim is None else Rest(Answer(Kind.UNCLEAR, words))


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
        claim = excluded(claim, node, now=now)
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
