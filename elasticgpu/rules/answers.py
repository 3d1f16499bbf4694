"""What a provisioner answers when it is asked for a device, or to release one, as a value.

What each answer does to a claim in progress:

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

from dataclasses import dataclass
from enum import Enum

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.errors import NotOurs, Refused, Reschedule, Retry, Working

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
