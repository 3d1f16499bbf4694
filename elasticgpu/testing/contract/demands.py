"""What people ask for, in every way there is, and the words by which a refusal names it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from elasticgpu.api.gpu import GPU
from elasticgpu.api.vocabulary import Demand, demand

Want = Demand | Mapping[str, int | str]
"""A demand, or the requests of a claim as they are written in a manifest."""

NAMES: Mapping[str, str] = {
    "gpus": r"whole|elasticgpu\.io/gpu\b|cards?\b",
    "mig": r"\bmig\b|\bprofile",
    "tflops": r"tflops",
    "count": r"\bcards?\b|count",
    "core": r"core|share|comput|%|percent",
    "memory": r"memory|share|gib|bytes",
    "memory_percentage": r"memory|share|percent",
    "unsized": r"ask for|how much|how large|size|amount",
}
"""By part of a demand: what a sentence about it has in it, as a regular expression."""


def read(want: Want) -> Demand:
    """The demand. Raises ValueError if its names or amounts make no sense."""
    return want if isinstance(want, Demand) else demand(want)


def common(cards: Sequence[GPU]) -> Iterator[Demand]:
    """Demands of every kind, none larger than these cards, all of one node, could serve."""
    quarter = min(card.memory for card in cards) // 4
    profiles = (row.name for card in cards for row in card.status.mig)
    yield Demand(core=25, memory=quarter)
    yield Demand(core=10)
    yield Demand(memory=quarter)
    yield Demand(core=90)
    yield Demand(memory_percentage=30)
    yield Demand(memory_percentage=90)
    yield Demand()
    yield Demand(gpus=1)
    yield Demand(mig=next(profiles, "1g.10gb"))
    if all(card.status.tflops for card in cards):
        yield Demand(tflops=min(card.status.tflops for card in cards) // 10)
    if len(cards) > 1:
        yield Demand(gpus=2)
        yield Demand(core=40, memory=quarter * 2, count=2)


def named(reason: str, want: Demand) -> bool:
    """Whether a refusal says a word of what was asked for: of the part that sets it apart."""
    parts = [name for name in ("gpus", "mig", "tflops") if getattr(want, name)]
    if want.count > 1:
        parts.append("count")
    parts = parts or [
        name for name in ("core", "memory", "memory_percentage", "unsized") if getattr(want, name)
    ]
    return any(re.search(NAMES[part], reason, re.IGNORECASE) for part in parts)
