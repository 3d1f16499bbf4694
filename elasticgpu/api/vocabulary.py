"""What a container or a claim asks for, in whoever's words.

The rules of `words.py` are tried in their order on all names and labels together; one that applies
takes its names away, the next sees the rest. Claims are read by `demand`, pods are translated by
`read`: the names it took are those that their claims replace. Both are pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from types import MappingProxyType
from typing import TypeVar

from .canonical import (
    CORE,
    COUNT,
    GPU,
    MEMORY,
    MEMORY_PERCENTAGE,
    MIG_PREFIX,
    TFLOPS,
    WHOLE,
    Demand,
    checked,
    describe,
)
from .quantity import memory_bytes, parse, to_int
from .words import CANONICAL, PRIORITY, RULES, Rule, Word

__all__ = [
    "CORE",
    "COUNT",
    "GPU",
    "MEMORY",
    "MEMORY_PERCENTAGE",
    "MIG_PREFIX",
    "TFLOPS",
    "Demand",
    "Meaning",
    "demand",
    "describe",
    "read",
]

NOTHING = f"nothing is requested: name at least one resource, such as {CORE}"

Requests = Mapping[str, int | str]
Labels = Mapping[str, str]
_NO_LABELS: Labels = MappingProxyType({})
_LABELS = {rule.label for rule in RULES if rule.label}
N = TypeVar("N")


@dataclass(frozen=True, slots=True)
class Meaning:
    """What some of the names ask for: by which rule, and in how many claims of that demand."""

    rule: Rule
    names: frozenset[str]
    want: Demand
    times: int = 1

    @property
    def backend(self) -> str:
        """The provisioner that is meant; empty: none in particular."""
        return self.rule.backend


def read(requests: Requests, labels: Labels = _NO_LABELS, *, mode: str = "") -> tuple[Meaning, ...]:
    """What is asked for, a claim's worth each; names that nobody defined are passed over.

    An amount of 0 asks for nothing. `mode` is what the namespace says of itself.

    >>> [(m.backend, m.want.core) for m in read({"tke.cloud.tencent.com/qgpu-core": 10, "cpu": 1})]
    [('elasticgpu.io/qgpu', 10)]

    Raises ValueError with a sentence for the person who wrote it.
    """
    left = {name: value for name, value in requests.items() if _asked(name, value)}
    found: list[Meaning] = []
    for rule in RULES:
        if not rule.applies(left, labels, mode):
            continue
        if rule.refusal:
            raise ValueError(rule.refusal)
        words = {name: word for name in left if (word := _word(rule, name))}
        if rule.apart:
            found += [_apart(rule, name, left[name]) for name in sorted(words)]
        else:
            found.append(_together(rule, words, left, labels))
        left = {name: value for name, value in left.items() if name not in words}
    return tuple(found)


def demand(requests: Requests, labels: Labels = _NO_LABELS) -> Demand:
    """The one thing that a claim with these requests and labels asks for.

    >>> demand({"tke.cloud.tencent.com/qgpu-core": 10, "tke.cloud.tencent.com/qgpu-memory": "4Gi"})
    ... # doctest: +ELLIPSIS
    Demand(gpus=0, core=10, memory=4294967296, ...)

    Raises ValueError with a sentence for the person if a name is unknown, a value is no quantity or
    not positive, one thing is asked for twice, names exclude each other, or it is several things.
    """
    cards = {label: labels[label] for label in _LABELS if label in labels}
    return _demand(tuple(requests.items()), tuple(cards.items()))


@lru_cache(maxsize=1024)  # thousands of claims ask for the same
def _demand(asked: tuple[tuple[str, int | str], ...], under: tuple[tuple[str, str], ...]) -> Demand:
    requests, labels = dict(asked), dict(under)
    for name, value in asked:
        if not _known(name):
            raise ValueError(
                f"{name} is no resource this understands: write {', '.join(CANONICAL)}, "
                f"{MIG_PREFIX}<profile>, or the names of one vendor"
            )
        if not _asked(name, value):
            raise ValueError(_not_positive(name, value))
    found = read(requests, labels)
    if not found:
        raise ValueError(NOTHING)
    names = sorted(min(meaning.names) for meaning in found)
    if len(found) > 1:
        raise ValueError(
            f"{names[0]} and {names[1]} are two different things: make a claim of each"
        )
    if found[0].times > 1:
        raise ValueError(f"{names[0]} must be 1, not {found[0].times}: make a claim for each")
    return found[0].want


def _known(name: str) -> bool:
    return any(rule.word(name) for rule in RULES)


def _word(rule: Rule, name: str) -> Word | None:
    """What the rule takes the name for: its own word or, to complete them, one of ours."""
    return rule.word(name) or (None if rule.apart else CANONICAL.get(name))


def _asked(name: str, value: int | str) -> bool:
    """Whether somebody defined the name, and its amount is more than nothing."""
    if not _known(name):
        return False
    amount = _exact(name, value, parse)
    if amount < 0:
        raise ValueError(_not_positive(name, value))
    return amount > 0 or name == PRIORITY


def _not_positive(name: str, value: int | str) -> str:
    return f"{name} is {value}: ask for more than nothing"


def _exact(name: str, value: int | str, by: Callable[[int | str], N]) -> N:
    """The amount as a function of `quantity` reads it; a refusal says of which name."""
    try:
        return by(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _apart(rule: Rule, name: str, value: int | str) -> Meaning:
    """The claims that one name asks for by itself."""
    profile = name.partition("-")[2]
    return Meaning(rule, frozenset({name}), Demand(mig=profile), _exact(name, value, to_int))


def _together(rule: Rule, words: Mapping[str, Word], requests: Requests, labels: Labels) -> Meaning:
    """The claim that the names of one rule ask for together."""
    asked = {"count": _cards(rule.label, labels[rule.label])} if rule.label else {}
    for name, word in words.items():
        if word.dimension in asked:
            raise ValueError(f"{name} asks for {word.dimension} a second time: name it once")
        asked[word.dimension] = _amount(name, word, requests[name])
    if not rule.unsized and asked.keys() <= {"count"}:
        raise ValueError(NOTHING)
    for name, word in words.items():
        if word.each:
            asked[word.dimension] *= asked.get("count", 1)
        elif word.dimension == "core" and asked["core"] > WHOLE:
            asked = {"gpus": _whole_cards(name, asked)}
    want = replace(Demand(), **asked)  # type: ignore[arg-type] # keys are Demand's fields
    return Meaning(rule, frozenset(words), checked(want))


def _cards(label: str, value: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,3}", value):
        raise ValueError(f"label {label} is {value!r}: write how many cards")
    return int(value)


def _amount(name: str, word: Word, value: int | str) -> int:
    if word.dimension == "memory":
        return _exact(name, value, partial(memory_bytes, unit=word.unit))
    amount = _exact(name, value, to_int)
    if word.dimension == "core" and word.each and amount > WHOLE:
        raise ValueError(f"{name} is {amount}: it is percent of one card, at most {WHOLE}")
    return amount


def _whole_cards(name: str, asked: Mapping[str, int]) -> int:
    core = asked["core"]
    if core % WHOLE:
        raise ValueError(f"{name} is {core}: above {WHOLE} only whole cards, a multiple of {WHOLE}")
    if asked.keys() != {"core"}:
        raise ValueError(
            f"{name} is {core}, which is {core // WHOLE} whole cards: leave the other names out, "
            f"or ask for at most {WHOLE}"
        )
    return core // WHOLE
