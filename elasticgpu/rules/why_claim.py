"""Why a claim is as it is: what the binder decides about it, told to the person who asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Pod
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Condition, find_condition
from elasticgpu.api.quantity import format_bytes
from elasticgpu.api.vocabulary import CORE, MEMORY, Demand, demand, describe

from . import binding, making, placement, remedies
from .answers import WARNINGS
from .decisions import (
    Bind,
    ClaimView,
    Contradiction,
    Decision,
    Lost,
    Maker,
    Provision,
    Seek,
    Settled,
    Wait,
)
from .explaining import (
    AGENTS,
    CONTROLLER,
    Explanation,
    Holder,
    Look,
    Step,
    kubectl,
    listed,
    sentence,
)
from .fleet import CardView, NodeView
from .holders import holds
from .placement import Wish

TREE = Step("See who holds what", "elasticgpu tree")


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


def explain(case: ClaimCase) -> Explanation:
    """The answer about a claim."""
    if case.claim.terminating:
        return _leaving(case)
    if case.unseen or case.claim.status.provisioning:
        return _as_written(case, case.unseen)
    match binding.decide(case.view):
        case Settled():
            return _served(case)
        case Lost(_, message):
            return _answer(case, [sentence(message)], remedies.anew(case.view), state="Lost")
        case Contradiction(message):
            said = f"The controller chose its device, yet {message}"
            return _answer(case, [_asks(case), sentence(said)], remedies.anew(case.view))
        case Wait("NoProvisioner", message) | Seek(_, Wait("NoProvisioner", message)) if (
            case.said and case.said.reason != "NoProvisioner"
        ):
            return _as_written(case, f"This cannot be checked from here: {message}.")
        case Wait("NoCapacity"):
            return _without_room(case)
        case Seek(want, Maker()):
            return _in_company(case, want)
        case Wait(reason, message) | Seek(_, Wait(reason, message)):
            facts = [_asks(case), sentence(message), _said_before(case, reason), case.note]
            return _unheard(case, _answer(case, facts, remedies.remedies(case.view, reason)))
        case decision:
            return _under_way(case, decision)


def _answer(
    case: ClaimCase, facts: Sequence[str], steps: Sequence[Step], *, state: str = ""
) -> Explanation:
    claim = case.claim
    since = case.said.last_transition_time if case.said else ""
    return Explanation(
        subject=f"ElasticGPUClaim {claim.namespace}/{claim.name}",
        state=state or claim.status.phase or "Pending",
        since=since or claim.metadata.creation_timestamp,
        facts=tuple(fact for fact in facts if fact),
        steps=tuple(steps),
    )


def _unheard(case: ClaimCase, answer: Explanation) -> Explanation:
    """The answer, and that the controller has not given it yet, if it has not."""
    if case.said is not None:
        return answer
    mute = "The controller has not said anything about it yet."
    step = Step("See whether the controller runs", CONTROLLER)
    return replace(answer, facts=(*answer.facts, mute), steps=(*answer.steps, step))


def _leaving(case: ClaimCase) -> Explanation:
    """It is being deleted, and something keeps it."""
    claim, users = case.claim, [row.pod_name for row in case.claim.status.users]
    if users:
        keeps = f"{listed('pod', users)} {'have' if len(users) > 1 else 'has'} ended"
        step = Step("End what holds it", kubectl("delete", "pod", claim.namespace, *users))
    else:
        keeps = f"{listed('finalizer', claim.metadata.finalizers)} is taken off"
        step = Step("Who put it there takes it off. See whether the controller runs", CONTROLLER)
    facts = [f"It is being deleted, and stays until {keeps}."]
    answer = _answer(case, facts, [step], state="Terminating")
    return replace(answer, since=claim.metadata.deletion_timestamp or "")


def _as_written(case: ClaimCase, note: str) -> Explanation:
    """Only the controller's own words, and why there are no others."""
    said = sentence(case.said.message) if case.said and case.said.message else ""
    answer = _answer(case, [_asks(case), said, note], remedies.describe(case.view))
    return _unheard(case, answer)


def _served(case: ClaimCase) -> Explanation:
    """Nothing is wrong: what it has, and who uses it."""
    claim, device = case.claim, case.view.named
    users = [row.pod_name for row in claim.status.users]
    waiting = [pod.name for pod in case.pods if not pod.finished and not holds(claim, pod.uid)]
    facts = [
        *([_has(device), _afterwards(device)] if device else []),
        _of_pods(users, "uses it", "use it") or "No pod uses it.",
        _of_pods(waiting, "waits for it", "wait for it"),
    ]
    steps = [
        Step(f"See what pod {name} waits for", f"elasticgpu why pod/{name} -n {claim.namespace}")
        for name in waiting[:1]
    ]
    return _answer(case, facts, steps, state="Bound")


def _of_pods(names: Sequence[str], one_does: str, they_do: str) -> str:
    return f"{listed('Pod', names)} {they_do if len(names) > 1 else one_does}." if names else ""


def _has(device: ElasticGPU) -> str:
    has = device.spec.capacity
    cards = ", ".join(part.gpu for part in device.spec.source.devices)
    where = f" of {cards} on node {device.spec.node_name}" if cards else ""
    amount = f"{has.get(CORE, 0)}% core and {has.get(MEMORY, 0)} memory"
    return f"It has ElasticGPU {device.name}: {amount}{where}."


def _afterwards(device: ElasticGPU) -> str:
    if device.spec.reclaim_policy == "Delete":
        return "When the claim is deleted, the device is deleted too."
    return "When the claim is deleted, the device stays Released until an admin gives it back."


def _under_way(case: ClaimCase, decision: Decision | Seek) -> Explanation:
    """Nothing stands in its way: the controller is at it, or should be."""
    match decision:
        case Bind(device):
            doing = f"ElasticGPU {device.name} serves it: the controller binds the two."
        case Provision(_, _, node, place):
            cards = ", ".join(part.gpu for part in place.devices)
            doing = f"There is room on {cards} of node {node}: the controller cuts a device there."
        case _:
            doing = "The controller is putting it right."
    facts = [_asks(case), doing, _said_before(case, ""), case.note]
    if case.said and case.said.reason in WARNINGS:
        return _answer(case, facts, remedies.describe(case.view))
    lasting = Step("This takes a moment. If it lasts, see whether the controller runs", CONTROLLER)
    return _answer(case, facts, [lasting])


def _in_company(case: ClaimCase, want: Demand) -> Explanation:
    """Others have a say in its node. What they say only the controller weighs; the cards are shown
    as they are for this claim alone."""
    wish, mode = making.wish(case.view, want), case.view.placer.name if case.view.placer else ""
    pods = [pod.name for pod in case.pods if not pod.finished]
    said = case.said.message if case.said and case.said.status == "False" else ""
    facts = [
        _asks(case),
        sentence(said) if said else "",
        "Where its device goes depends on the pods that use it and the claims beside it too.",
        _of_pods(pods, "waits for it", "wait for it") or "No pod names it yet.",
        case.note,
    ]
    steps = [
        Step(
            f"See what pod {name} waits for", f"elasticgpu why pod/{name} -n {case.claim.namespace}"
        )
        for name in pods[:1]
    ]
    answer = _answer(case, facts, [*steps, *remedies.describe(case.view), TREE])
    return _unheard(case, replace(answer, looks=_looks(case, wish, mode, otherwise="")))


def _without_room(case: ClaimCase) -> Explanation:
    """No card has what it asks for: every card, what each lacks, who holds it, what would help."""
    view, want = case.view, demand(case.claim.spec.resources.requests, case.claim.metadata.labels)
    wish, mode = making.wish(view, want), view.placer.name if view.placer else ""
    offer = making.offered(view, want)
    verb = "was" if len(case.cards) == 1 else "were"
    looked = f"no card can give that; {len(case.cards)} {verb} looked at"
    facts = [
        _asks(case),
        sentence(looked if case.cards else placement.explain(wish, mode, ()).message),
        f"{offer.held} of cards it may use." if offer else "",
        _said_before(case, "NoCapacity"),
        case.note,
    ]
    steps = [*_opened(case, wish, mode), *_less(case, wish, mode), TREE]
    if offer and offer.names:
        text = "An admin makes room for it" if offer.delete else "An admin gives it one that fits"
        steps.insert(0, Step(text, offer.command))
    if not case.cards:
        steps = [Step("No node publishes a card. See whether the agents run", AGENTS)]
    looks = _looks(case, wish, mode, otherwise=placement.NEIGHBOURS)
    answer = replace(_answer(case, facts, steps), looks=looks)
    return _unheard(case, answer)


def _opened(case: ClaimCase, wish: Wish, mode: str) -> list[Step]:
    """A card that would do, were not it or its node closed."""
    for node, card in case.cards:
        gpu = card.gpu.but(spec=card.gpu.spec.but(unschedulable=False))
        opened = replace(card, gpu=gpu, closed="")
        if opened == card or placement.missing(wish, mode, opened):
            continue
        if card.closed:
            shut = card.closed.replace(f"node {node} ", f"node {node}, which ", 1)
            return [Step(f"Or an admin sees to {shut}", f"kubectl describe node {node}")]
        body = """'{"spec":{"unschedulable":false}}'"""
        command = f"kubectl patch gpu {card.name} --type=merge -p {body}"
        return [Step(f"Or an admin lets new devices onto {card.name}", command)]
    return []


def _less(case: ClaimCase, wish: Wish, mode: str) -> list[Step]:
    """For one who can do with less: the freest card that may serve at all."""
    cards = [card for _, card in case.cards if not placement.unfit(wish.selector, mode, card)]
    free = [card for card in cards if card.core_free > 0 and card.memory_free > 0]
    if not free:
        return []
    best = max(free, key=lambda card: (card.core_free, card.memory_free))
    most = f"{best.core_free}% core and {format_bytes(best.memory_free)} memory"
    return [Step(f"Or ask for less, in a new claim: {best.name} has {most} free")]


def _looks(case: ClaimCase, wish: Wish, mode: str, *, otherwise: str) -> tuple[Look, ...]:
    """Every card; those that may serve at all come first, and of them those with most free.

    `otherwise` is said of a card that by itself would do.
    """

    def order(found: tuple[str, CardView]) -> tuple[bool, int, int, str, str]:
        node, card = found
        never = placement.unfit(wish.selector, mode, card) is not None
        return (never, -card.core_free, -card.memory_free, node, card.name)

    return tuple(
        Look(
            node,
            card.name,
            card.core_free,
            card.memory_free,
            placement.missing(wish, mode, card) or otherwise,
            case.holders.get(card.name, ()),
        )
        for node, card in sorted(case.cards, key=order)
    )


def _asks(case: ClaimCase) -> str:
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


def _said_before(case: ClaimCase, reason: str) -> str:
    """What the controller wrote, if that was about something else than what is so now."""
    said = case.said
    if said is None or said.status != "False" or said.reason == reason:
        return ""
    return f"The controller last said {said.reason}: {said.message}."
