"""`elasticgpu tree` on the terminal: reads the cluster, prints its tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TypeVar

import click

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.errors import Forbidden, Refused

from .forest import MISSING, Card, Forest, Leaf, Node, Room, grow
from .printing import structured, table, width
from .session import Json, Session

TITLES = ("NAME", "MODE", "SIZE", "HELD", "FREE", "PHASE", "CLAIM", "POD")
T = TypeVar("T")
Row = tuple[str, str, str, str, str, str, str, str]


async def tree(session: Session, node: str, namespace: str, output: str) -> bool:
    """Print the tree of all nodes or of one; with a namespace, only what its claims hold."""
    gpus = await session.many(GPU, fields=f"spec.nodeName={node}" if node else "")
    if node and not gpus:
        raise Refused(f"node {node} has no cards; `elasticgpu get gpus` shows which nodes do")
    devices = await session.many(ElasticGPU)
    claims, unseen = await _claims(session, namespace)
    if node:
        names = {gpu.name for gpu in gpus}
        devices = [d for d in devices if names & {part.gpu for part in d.spec.source.devices}]
        claims = [claim for claim in claims if claim.spec.elastic_gpu_name]
    forest = grow(gpus, devices, claims, namespace)
    if output in ("json", "yaml"):
        click.echo(structured(as_json(forest), output))
    else:
        for line in lines(forest, None if output == "wide" else width()):
            click.echo(line)
    if unseen:
        click.echo(unseen, err=True)
    return True


async def _claims(session: Session, namespace: str) -> tuple[list[ElasticGPUClaim], str]:
    """The claims, and what to say if they may not be read: the tree does without them."""
    try:
        return await session.many(ElasticGPUClaim, namespace), ""
    except Forbidden as error:
        return [], f"Pods and waiting claims are left out: {error.message}"


def lines(forest: Forest, columns: int | None) -> Iterator[str]:
    """The tree as a table, and what it amounts to."""
    yield from table(TITLES, list(_rows(forest)), columns, blank="")
    yield ""
    yield from _summary(forest)


def _rows(forest: Forest) -> Iterator[Row]:
    for node in forest.nodes:
        yield _row(node.name, node.size, node.held)
        for card, branch, trunk in branches(node.cards):
            yield _card_row(branch, card)
            for leaf, twig, _ in branches(card.devices):
                yield _leaf_row(trunk + twig, leaf)
    if forest.remote:
        yield _titled("remote")
        for leaf, twig, _ in branches(forest.remote):
            yield _leaf_row(twig, leaf)
    if forest.waiting:
        yield _titled("waiting")
        for claim, twig, _ in branches(forest.waiting):
            whole_name = f"{claim.namespace}/{claim.name}"
            yield (twig + claim.name, "", claim.asks, "", "", claim.phase, whole_name, "")
    if forest.nodes and forest.size != forest.nodes[0].size:
        yield _row("all nodes", forest.size, forest.held)


def branches(items: Sequence[T]) -> Iterator[tuple[T, str, str]]:
    """Each item with the line that leads to it, and the one that what hangs on it begins with."""
    for item in items:
        last = item is items[-1]
        yield item, "└─ " if last else "├─ ", "   " if last else "│  "


def _titled(name: str) -> Row:
    return (name, "", "", "", "", "", "", "")


def _row(name: str, whole: Room, held: Room, phase: str = "", mode: str = "") -> Row:
    return (name, mode, str(whole), str(held), str(whole - held), phase, "", "")


def _card_row(branch: str, card: Card) -> Row:
    made_up = ", simulated" if card.simulated else ""
    name = f"{branch}{card.name} ({card.model}{made_up})" if card.model else branch + card.name
    if card.health == MISSING:
        return (name, "", "", str(card.held), "", card.health, "", "")
    return _row(name, card.size, card.held, card.health, card.mode)


def _leaf_row(branch: str, leaf: Leaf) -> Row:
    name, pods = branch + leaf.name, ",".join(leaf.pods)
    size, held = str(leaf.size), str(leaf.held)
    return (name, leaf.profile, size, held, "", leaf.phase, leaf.claim, pods)


def _summary(forest: Forest) -> Iterator[str]:
    cards = forest.cards
    made_up = sum(card.simulated for card in cards)
    closed = sum(card.health != "Healthy" for card in cards)
    notes = [f"{made_up} simulated"] if made_up else []
    notes += [f"{closed} not for new devices"] if closed else []
    noted = f" ({', '.join(notes)})" if notes else ""
    leaves = {leaf.name for card in cards for leaf in card.devices} | {
        r.name for r in forest.remote
    }
    yield (
        f"{_count(len(forest.nodes), 'node')}, {_count(len(cards), 'card')}{noted}, "
        f"{_count(len(leaves), 'device')}."
    )
    if forest.waiting:
        first = forest.waiting[0]
        command = f"elasticgpu why claim/{first.name} -n {first.namespace}"
        yield f"{_count(len(forest.waiting), 'claim')} without a device: `{command}` says why."
    if forest.released:
        verb = "holds" if len(forest.released) == 1 else "hold"
        command = "elasticgpu release --all-released"
        command += f" -n {forest.namespace}" if forest.namespace else ""
        yield (
            f"{_count(len(forest.released), 'Released device')} {verb} {forest.idle} for nobody: "
            f"`{command}` gives all of it back."
        )


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def as_json(forest: Forest) -> Json:
    """The tree for programs; memory in bytes, core in percent."""
    return {
        **_sums(forest.size, forest.held),
        "nodes": [_node_json(node) for node in forest.nodes],
        "remote": [asdict(leaf) for leaf in forest.remote],
        "waiting": [asdict(claim) for claim in forest.waiting],
        "released": list(forest.released),
    }


def _sums(whole: Room, held: Room) -> Json:
    return {"size": asdict(whole), "held": asdict(held), "free": asdict(whole - held)}


def _node_json(node: Node) -> Json:
    cards = [{**asdict(card), **_sums(card.size, card.held)} for card in node.cards]
    return {"name": node.name, **_sums(node.size, node.held), "cards": cards}
