"""`elasticgpu why`: finds what is meant, has it explained, prints the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import click

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Pod
from elasticgpu.api.meta import Key
from elasticgpu.errors import NotFound, Refused
from elasticgpu.rules import why_claim, why_pod
from elasticgpu.rules.explaining import Explanation, Holder, Look, Step

from .getting import BY_WORD
from .printing import age, camel, paragraph, room, structured, table, width
from .session import NO_SUCH_PATH, Json, Session
from .surveying import Survey

PODS = ("pod", "pods", "po")
SHOWN = 12
"""Cards in a text for people; -o json has them all."""
HOLDERS = 3
"""Claims on one card that a text names."""


async def why(session: Session, name: str, output: str) -> bool:
    """Print why the claim or pod of this name is as it is."""
    answer = await _explain(session, name)
    if output:
        click.echo(structured(camel(asdict(answer)), output))
        return True
    for line in lines(answer, session.now, width()):
        click.echo(line)
    return True


async def _explain(session: Session, name: str) -> Explanation:
    survey = Survey(session)
    kind, slash, bare = name.partition("/")
    key = (session.namespace, bare if slash else name)
    if slash and kind.lower() in PODS:
        return why_pod.explain(await survey.pod(await session.one_raw(Pod, key)))
    if slash and (shown := BY_WORD.get(kind.lower())) and shown.kind is ElasticGPUClaim:
        return why_claim.explain(await survey.claim(await session.one(ElasticGPUClaim, key)))
    if slash:
        raise click.UsageError(f"only claims and pods are explained, not {kind}: say claim/NAME")
    return await _either(session, survey, key)


async def _either(session: Session, survey: Survey, key: Key) -> Explanation:
    """A bare name may be a claim's or a pod's; it may not be both."""
    name = key[1]
    claim, pod = await _claim(session, key), await _pod(session, key)
    if claim and pod:
        raise Refused(f"{name} is both a claim and a pod: say claim/{name} or pod/{name}")
    if claim:
        return why_claim.explain(await survey.claim(claim))
    if pod:
        return why_pod.explain(await survey.pod(pod))
    missing = [await session.missing(kind, key) for kind in (ElasticGPUClaim, Pod)]
    raise Refused("; ".join(missing))


async def _claim(session: Session, key: Key) -> ElasticGPUClaim | None:
    try:
        return await session.client.get(ElasticGPUClaim, key)
    except NotFound as error:
        if error.reason == NO_SUCH_PATH:
            raise
        return None


async def _pod(session: Session, key: Key) -> Json | None:
    try:
        return await session.client.raw("GET", Pod.resource.path(*key))
    except NotFound:
        return None


def lines(
    answer: Explanation, now: str, columns: int | None = None, indent: str = ""
) -> Iterator[str]:
    """The answer for people."""
    since = f" for {age(answer.since, now)}" if answer.since else ""
    yield f"{indent}{answer.subject}: {click.style(answer.state, bold=True)}{since}"
    inner = indent + "  "
    for fact in answer.facts:
        yield paragraph(fact, inner, columns)
    if answer.looks:
        yield ""
        yield from _cards(answer.looks, columns, inner)
    if answer.steps:
        yield ""
        yield from _steps(answer.steps, columns, inner)
    for other in answer.about:
        yield ""
        yield from lines(other, now, columns, inner)


def _cards(looks: Sequence[Look], columns: int | None, indent: str) -> Iterator[str]:
    titles = ("CARD", "NODE", "FREE", "LACKS", "HELD BY")
    rows = [
        (k.card, k.node, room(k.core_free, k.memory_free), k.lacks, _held_by(k.holders))
        for k in looks[:SHOWN]
    ]
    for line in table(titles, rows, columns - len(indent) if columns else None):
        yield indent + line
    if len(looks) > SHOWN:
        yield f"{indent}and {len(looks) - SHOWN} more cards: -o json shows them all"


def _held_by(holders: Sequence[Holder]) -> str:
    """The claims with the largest parts, and all that is Released together."""
    idle = [h for h in holders if h.phase == "Released"]
    busy = sorted(set(holders) - set(idle), key=lambda h: (-h.core, -h.memory, h.device))
    named = [f"{h.claim or h.device} {room(h.core, h.memory)}" for h in busy[:HOLDERS]]
    if len(busy) > HOLDERS:
        named.append(f"{len(busy) - HOLDERS} more")
    if idle:
        whole = room(sum(h.core for h in idle), sum(h.memory for h in idle))
        named.append(f"{len(idle)} Released {whole}")
    return ", ".join(named)


def _steps(steps: Sequence[Step], columns: int | None, indent: str) -> Iterator[str]:
    yield f"{indent}What to do:"
    for step in steps:
        colon = ":" if step.command else "."
        yield paragraph(step.text + colon, indent + "  ", columns)
        if step.command:
            yield f"{indent}    {step.command}"
