"""Whether a device that exists serves a claim, and which of several that do is the best.

The match has several dimensions (core, memory, cards); its order is deterministic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from elasticgpu.api.claim import ElasticGPUClaim, LabelSelector, Requirement
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.api.meta import labels_match
from elasticgpu.api.quantity import to_int
from elasticgpu.api.vocabulary import CORE, MEMORY, Demand

from . import mig, placement
from .fleet import WHOLE


@dataclass(frozen=True, slots=True)
class Candidate:
    """A device that exists, with the cards it is made of.

    `closed` says why its node gets nothing new, empty if it does.
    """

    device: ElasticGPU
    cards: tuple[GPU, ...] = ()
    closed: str = ""

    def of(self, device: ElasticGPU) -> Candidate:
        """Another state of the device, on the same cards."""
        return replace(self, device=device)


def unsuitable(
    claim: ElasticGPUClaim,
    class_name: str,
    want: Demand,
    candidate: Candidate,
    *,
    by_name: bool = False,
) -> str | None:
    """Why an existing device does not serve the claim; None if it does.

    A device chosen `by_name` (by the claim, or by its own claimRef) need not match the selector,
    nor lie where new devices go.
    """
    device = candidate.device
    if device.terminating:
        return "is being deleted"
    if device.status.phase != "Available":
        return f"is {device.status.phase or 'Pending'}, not Available"
    if device.spec.elastic_gpu_class_name != class_name:
        return f"is of class {device.spec.elastic_gpu_class_name!r}, not {class_name!r}"
    if short := too_small(want, device):
        return short
    if by_name:
        return None
    if candidate.closed:
        return f"is not to be had: {candidate.closed}"
    if short := _share_too_small(want, candidate):
        return short
    if claim.spec.selector and not selects(claim.spec.selector, device.metadata.labels):
        return "does not match the selector"
    if claim.spec.gpu_selector:
        said = (placement.mismatch(claim.spec.gpu_selector, card) for card in candidate.cards)
        return next((reason for reason in said if reason), None)
    return None


def too_small(want: Demand, device: ElasticGPU) -> str | None:
    """Which dimension of the device falls short of the demand; None if all reach it."""
    try:
        core, memory = size(device)
        least = min((part.memory_bytes for part in device.spec.source.devices), default=memory)
    except ValueError as error:
        return f"has a capacity that cannot be read: {error}"
    parts = device.spec.source.devices
    whole = sum(part.core == WHOLE for part in parts)
    if want.gpus:
        return None if whole == want.gpus else f"is {whole} whole cards, not {want.gpus}"
    if want.mig and [mig.normal(part.mig_profile) for part in parts] != [mig.normal(want.mig)]:
        return f"is no MIG {want.mig}"
    if core < want.core:
        return f"has {core}% core, not {want.core}%"
    if memory < want.memory:
        return f"has {memory} bytes of memory, not {want.memory}"
    if (parts or want.count > 1) and len(parts) != want.count:
        return f"lies on {len(parts)} cards, not {want.count}"
    if least * want.count < want.memory or any(p.core * want.count < want.core for p in parts):
        return "is not divided evenly over its cards"
    return None


def _share_too_small(want: Demand, candidate: Candidate) -> str | None:
    """The same for what is asked relative to the cards, which therefore have to be known."""
    if not (want.memory_percentage or want.tflops):
        return None
    parts = candidate.device.spec.source.devices
    cards = {card.name: card for card in candidate.cards}
    if not parts or any(part.gpu not in cards for part in parts):
        return "lies on cards that are not known"
    memory = sum(cards[part.gpu].memory for part in parts)
    if sum(part.memory_bytes for part in parts) * 100 < memory * want.memory_percentage:
        return f"has less than {want.memory_percentage}% of its card's memory"
    if sum(cards[part.gpu].status.tflops * part.core for part in parts) < want.tflops * 100:
        return f"has less than {want.tflops} TFLOPS"
    return None


def falls_short(want: Demand, candidate: Candidate) -> str | None:
    """In what a device that a claim has is less than the claim asks for, as far as its cards are
    known; None if in nothing."""
    known = len(candidate.cards) == len(candidate.device.spec.source.devices)
    share = _share_too_small(want, candidate) if known else None
    return too_small(want, candidate.device) or share


def size(device: ElasticGPU) -> tuple[int, int]:
    """The device's capacity: percent of core, bytes of memory."""
    have = device.spec.capacity
    return to_int(have.get(CORE, 0)), to_int(have.get(MEMORY, 0))


def leftover(want: Demand, device: ElasticGPU) -> tuple[float, int, int, str]:
    """Order of fit: the larger wasted share first, then core, then memory, then the name."""
    core, memory = size(device)
    over_core, over_memory = core - want.core, memory - want.memory
    waste = max(over_core / max(core, 1), over_memory / max(memory, 1))
    return (waste, over_core, over_memory, device.name)


def selects(selector: LabelSelector, labels: dict[str, str]) -> bool:
    """Whether a label selector matches, all its parts together."""
    return labels_match(selector.match_labels, labels) and all(
        _meets(term, labels) for term in selector.match_expressions
    )


def _meets(term: Requirement, labels: dict[str, str]) -> bool:
    match term.operator:
        case "In":
            return labels.get(term.key) in term.values
        case "NotIn":
            return labels.get(term.key) not in term.values
        case "Exists":
            return term.key in labels
        case "DoesNotExist":
            return term.key not in labels
