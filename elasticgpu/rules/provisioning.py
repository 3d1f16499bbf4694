"""What a provisioner's answer leads to: from the request to the stored device, or its end.

A claim is *in progress* from before the first call until a final answer (`answers.py`), and is
marked as such all that time (`marks.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from elasticgpu.api.claim import ElasticGPUClaim, ProvisioningRequest
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.names import PROVISIONING

from .answers import EFFECTS, Answer, Kind
from .marks import is_marked, wanted


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
