"""The fleet as a tree, node → card → device → claim → pod, each share drawn to scale."""

from __future__ import annotations

from collections.abc import Iterator

from elasticgpu.cli.forest import Card, Forest, Leaf, Room
from elasticgpu.cli.growing import branches
from elasticgpu.cli.printing import memory, table

from .screen import short

TITLES = ("", "MODE", "CORE", "MEMORY", "PHASE", "CLAIM", "POD")
CELLS = 10
"""Width of a whole card."""
Row = tuple[str, str, str, str, str, str, str]


def bar(start: int, length: int, whole: int, cells: int = CELLS) -> str:
    """A stretch of a whole, drawn to scale; whatever is there at all has a cell at least.

    >>> bar(0, 10, 100, 10), bar(10, 30, 100, 10), bar(0, 1, 1000, 10), bar(0, 0, 10, 4)
    ('▓░░░░░░░░░', '░▓▓▓░░░░░░', '▓░░░░░░░░░', '░░░░')
    """
    if not length or not whole:
        return "░" * cells
    first = min(round(start * cells / whole), cells - 1)
    last = max(first + 1, min(round((start + length) * cells / whole), cells))
    return "░" * first + "▓" * (last - first) + "░" * (cells - last)


def lines(forest: Forest, columns: int | None) -> Iterator[str]:
    """The tree."""
    yield from table(TITLES, _rows(forest), columns, blank="")


def _rows(forest: Forest) -> Iterator[Row]:
    for node in forest.nodes:
        yield (node.name, "", *_whole(node.held, node.size), "", "", "")
        for card, branch, trunk in branches(node.cards):
            title = f"{branch}{card.name} {_model(card)}"
            yield (title, card.mode, *_whole(card.held, card.size), card.health, "", "")
            for leaf, twig, before in _laid_out(card):
                yield _leaf(trunk + twig, leaf, before, card.size)
    if forest.remote:
        yield ("remote", "", "", "", "", "", "")
        for leaf, twig, _ in branches(forest.remote):
            claim, pods = leaf.claim.partition("/")[2], ",".join(leaf.pods)
            yield (twig + short(leaf.name), "", str(leaf.size), "", leaf.phase, claim, pods)
    yield ("waiting", "", "", "", "", "", "")
    for waiting, twig, _ in branches(forest.waiting):
        yield (twig + waiting.name, "", waiting.asks, "", waiting.phase, waiting.name, "")


def _laid_out(card: Card) -> Iterator[tuple[Leaf, str, Room]]:
    """The devices of a card side by side: each with its branch, and what lies before it."""
    before = Room()
    for leaf, twig, _ in branches(card.devices):
        yield leaf, twig, before
        before += leaf.held


def _model(card: Card) -> str:
    """The model as people say it."""
    said = card.model
    for maker in ("NVIDIA ", "GeForce ", "Tesla "):
        said = said.removeprefix(maker)
    return said


def _whole(held: Room, size: Room) -> tuple[str, str]:
    return (
        f"{bar(0, held.core, size.core)} {held.core}% of {size.core}%",
        f"{bar(0, held.memory, size.memory)} {memory(held.memory)} of {memory(size.memory)}",
    )


def _leaf(branch: str, leaf: Leaf, before: Room, size: Room) -> Row:
    return (
        branch + short(leaf.name),
        leaf.profile,
        f"{bar(before.core, leaf.held.core, size.core)} {leaf.held.core}%",
        f"{bar(before.memory, leaf.held.memory, size.memory)} {memory(leaf.held.memory)}",
        leaf.phase,
        leaf.claim.partition("/")[2],
        ",".join(leaf.pods),
    )
