"""A claim that somebody asks about: all that can explain it, and how answers begin and end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Pod
from elasticgpu.api.meta import Condition, find_condition
from elasticgpu.api.vocabulary import demand, describe

from .decisions import ClaimView
from .explaining import CONTROLLER, Explanation, Holder, Step, listed
from .fleet import CardView, NodeView


@dataclass(frozen=True, slots=True)
class ClaimCase:
    """A claim with all that can explain it.

    `view` is what the binder decides by. `nodes` are all nodes with cards, `holders` says who has
    what of each card, `pods` name the claim. `unseen` says why cards and devices could not be
    read; then only what the controller wrote down counts. `note` says what else was not read.
    """

    view: ClaimView
    nodes: tuple[NodeView, ...] = ()
    holders: Mapping[str, tuple[Holder, ...]] = field(default_factory=dict)
    pods: tuple[Pod, ...] = ()
    unseen: str = ""
    note: str = ""

    @property
    def claim(self) -> ElasticGPUClaim:
        """The claim that is asked about."""
        return self.view.claim

    @property
    def said(self) -> Condition | None:
        """What the controller wrote on it."""
        return find_condition(self.claim.status.conditions, "Bound")

    @property
    def cards(self) -> list[tuple[str, CardView]]:
        """All cards, with their nodes."""
        return [(node.name, card) for node in self.nodes for card in node.cards]


def reply(
    case: ClaimCase, facts: Sequence[str], steps: Sequence[Step], *, state: str = ""
) -> Explanation:
    """The answer of these facts and steps, about this claim."""
    claim = case.claim
    since = case.said.last_transition_time if case.said else ""
    return Explanation(
        subject=f"ElasticGPUClaim {claim.namespace}/{claim.name}",
        state=state or claim.status.phase or "Pending",
        since=since or claim.metadata.creation_timestamp,
        facts=tuple(fact for fact in facts if fact),
        steps=tuple(steps),
    )


def unheard(case: ClaimCase, answer: Explanation) -> Explanation:
    """The answer, and that the controller has not given it yet, if it has not."""
    if case.said is not None:
        return answer
    mute = "The controller has not said anything about it yet."
    step = Step("See whether the controller runs", CONTROLLER)
    return replace(answer, facts=(*answer.facts, mute), steps=(*answer.steps, step))


def asks(case: ClaimCase) -> str:
    """What it asks for, if that can be understood; if not, the refusal says so."""
    claim, name = case.claim, case.view.class_name
    try:
        want = describe(demand(claim.spec.resources.requests, claim.metadata.labels))
    except ValueError:
        return ""
    if name is None:
        return f"It asks for {want}."
    default = ", the default" if claim.class_name is None else ""
    return f"It asks for {want} of class {name}{default}." if name else f"It asks for {want}."


def said_before(case: ClaimCase, reason: str) -> str:
    """What the controller wrote, if that was about something else than what is so now."""
    said = case.said
    if said is None or said.status != "False" or said.reason == reason:
        return ""
    return f"The controller last said {said.reason}: {said.message}."


def of_pods(names: Sequence[str], one_does: str, they_do: str) -> str:
    """These pods do it, in a sentence; empty if there are none."""
    return f"{listed('Pod', names)} {they_do if len(names) > 1 else one_does}." if names else ""
