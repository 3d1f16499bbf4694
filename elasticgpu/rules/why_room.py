"""Why no card serves a claim: each of them, what it lacks and who holds it, and what would help."""

from __future__ import annotations

from dataclasses import replace

from elasticgpu.api.quantity import format_bytes
from elasticgpu.api.vocabulary import Demand, demand

from . import making, placement, remedies
from .claim_case import ClaimCase, asks, of_pods, reply, said_before, unheard
from .explaining import AGENTS, Explanation, Look, Step, sentence
from .fleet import CardView
from .placement import Wish

TREE = Step("See who holds what", "elasticgpu tree")


def in_company(case: ClaimCase, want: Demand) -> Explanation:
    """Others have a say in its node. What they say only the controller weighs; the cards are shown
    as they are for this claim alone."""
    wish, mode = making.wish(case.view, want), case.view.placer.name if case.view.placer else ""
    pods = [pod.name for pod in case.pods if not pod.finished]
    waits = case.said if case.said and case.said.status == "False" else None
    said, reason = (waits.message, waits.reason) if waits else ("", "")
    facts = [
        asks(case),
        sentence(said) if said else "",
        "Where its device goes depends on the pods that use it and the claims beside it too.",
        of_pods(pods, "waits for it", "wait for it") or "No pod names it yet.",
        case.note,
    ]
    steps = [
        Step(
            f"See what pod {name} waits for", f"elasticgpu why pod/{name} -n {case.claim.namespace}"
        )
        for name in pods[:1]
    ]
    answer = reply(case, facts, [*steps, *remedies.remedies(case.view, reason), TREE])
    return unheard(case, replace(answer, looks=_looks(case, wish, mode, otherwise="")))


def without_room(case: ClaimCase) -> Explanation:
    """No card has what it asks for: every card, what each lacks, who holds it, what would help."""
    view, want = case.view, demand(case.claim.spec.resources.requests, case.claim.metadata.labels)
    wish, mode = making.wish(view, want), view.placer.name if view.placer else ""
    offer = making.offered(view, want)
    verb = "was" if len(case.cards) == 1 else "were"
    looked = f"no card can give that; {len(case.cards)} {verb} looked at"
    facts = [
        asks(case),
        sentence(looked if case.cards else placement.explain(wish, mode, ()).message),
        f"{offer.held} of cards it may use." if offer else "",
        said_before(case, "NoCapacity"),
        case.note,
    ]
    steps = [*_opened(case, wish, mode), *_less(case, wish, mode), TREE]
    if offer and offer.names:
        text = "An admin makes room for it" if offer.delete else "An admin gives it one that fits"
        steps.insert(0, Step(text, offer.command))
    if not case.cards:
        steps = [Step("No node publishes a card. See whether the agents run", AGENTS)]
    looks = _looks(case, wish, mode, otherwise=placement.otherwise(wish))
    answer = replace(reply(case, facts, _begun(steps)), looks=looks)
    return unheard(case, answer)


def _begun(steps: list[Step]) -> list[Step]:
    """The steps, of which the first is no other's alternative."""
    first, *rest = steps
    text = first.text.removeprefix("Or ")
    return [replace(first, text=text[0].upper() + text[1:]), *rest]


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
    if wish.want.unsized or wish.want.mig:
        return []
    cards = [card for _, card in case.cards if not placement.unfit(wish, mode, card)]
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
        never = placement.unfit(wish, mode, card) is not None
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
