"""Which faults are tried on the real API server, when not all of them.

For every theme, every kind of write in it (`device status`, `claim`, `event`, …) and every fault
one scenario of the theme that has such a write, drawn by a fixed seed; and for every theme one
scenario with each set of stale caches. So each controller meets each fault at each write it makes.
What a scenario says of many objects at once (`only`) is left to the embedded server, and so are the
writes to cards, which come in a time of their own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import Literal

from .faults import Fault
from .scenario import Scenario
from .themes import THEMES
from .trial import STALE

SEED = 1
STRIKES: tuple[Literal["crash", "lost", "unsent"], ...] = ("crash", "lost", "unsent")


def sampled(scenario: Scenario, writes: Sequence[str]) -> Iterator[Fault]:
    """The faults drawn for this scenario, which writes this."""
    for fault, write in _drawn().get(scenario.title, ()):
        yield replace(fault, at=writes.index(write) + 1) if write else fault


def kind_of(write: str) -> str:
    """The write without the name of its object: `device status`, `claim`, `template created`."""
    word, *rest = write.split()
    return word if word == "event" else " ".join([word, *rest[1:]])


@cache
def _drawn() -> dict[str, list[tuple[Fault, str]]]:
    """By title: faults, and the writes at which they strike."""
    random, found = Random(SEED), defaultdict(list)
    for theme in THEMES:
        rows = [row for row in theme.SCENARIOS if not row.only]
        places = defaultdict(list)
        for row in rows:
            for write in dict.fromkeys(write for chain in row.chains for write in chain):
                places[kind_of(write)].append((row, write))
        for kind in sorted(places):
            for strike in STRIKES:
                row, write = random.choice(places[kind])
                found[row.title].append((replace(row.own, kind=strike), write))
        for held in STALE:
            row = random.choice(rows)
            found[row.title].append((replace(row.own, kind="stale", held=held), ""))
    return dict(found)
