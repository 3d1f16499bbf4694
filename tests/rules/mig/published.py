"""NVIDIA's published layouts, as they are committed, and the orders in which one comes about."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import permutations
from pathlib import Path

import yaml

from elasticgpu.agent.migtables import TABLES
from elasticgpu.api.gpu import MigProfile
from elasticgpu.rules.mig import Instance

Layout = frozenset[Instance]

PUBLISHED: dict[str, list[Layout]] = {
    model: [
        frozenset(Instance(name, start) for name, starts in layout.items() for start in starts)
        for layout in layouts
    ]
    for model, layouts in yaml.safe_load(
        Path(__file__).with_name("layouts.yaml").read_text()
    ).items()
}
MODELS = sorted(PUBLISHED)


@cache
def profiles(model: str) -> tuple[MigProfile, ...]:
    """The rows of the model's table that the figures show."""
    names = {instance.profile for layout in PUBLISHED[model] for instance in layout}
    return tuple(row for row in TABLES[model] if row.name in names)


def published(model: str, held: Layout) -> bool:
    """Whether it is a layout of the figure, or a part of one."""
    return any(held <= layout for layout in PUBLISHED[model])


def sets(model: str) -> list[tuple[str, ...]]:
    """What the layouts are made of, wherever it is: several are of the same."""
    return sorted({tuple(sorted(one.profile for one in layout)) for layout in PUBLISHED[model]})


def orders(wanted: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Every order in which these can be asked for."""
    yield from sorted(set(permutations(wanted)))
