"""Variables that two claims bring into one container.

Each claim's container edits are a file of their own, which the runtime merges: of two that set the
same variable the last one wins, and nobody is told. So what would differ is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Brought:
    """What one claim brings: the containers that use it, and their variables, `NAME=value`."""

    claim: str
    containers: Collection[str]
    env: Sequence[str]


def clash(mine: Brought, others: Iterable[Brought]) -> str | None:
    """Which variable of which container would have two values, in words; None if none has."""
    values = dict(_pairs(mine.env))
    for other in others:
        shared = sorted(set(mine.containers) & set(other.containers))
        for name, value in _pairs(other.env):
            if shared and values.get(name, value) != value:
                one, two = sorted((mine.claim, other.claim))
                return (
                    f"container {shared[0]} uses ElasticGPUClaims {one} and {two}, which set "
                    f"{name} to different values, and a container has but one of each variable: "
                    "use them in two containers, or ask for all of it in one claim"
                )
    return None


def _pairs(env: Iterable[str]) -> list[tuple[str, str]]:
    return [(name, value) for name, _, value in (line.partition("=") for line in env)]
