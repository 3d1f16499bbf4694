"""The canonical names of requests, and the one demand that they, or a vendor's, add up to.

`vocabulary.py` reads a claim into a `Demand`; from there on nobody asks what its words were.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .meta import GROUP
from .quantity import format_bytes

GPU = f"{GROUP}/gpu"
CORE = f"{GROUP}/gpu-core"
MEMORY = f"{GROUP}/gpu-memory"
MEMORY_PERCENTAGE = f"{GROUP}/gpu-memory-percentage"
COUNT = f"{GROUP}/gpu-count"
TFLOPS = f"{GROUP}/tflops"
MIG_PREFIX = f"{GROUP}/mig-"

WHOLE = 100
"""Percent of a card's compute that is all of it."""

MOST_CARDS = 16
"""Cards of one claim at most: as many as a device has room for in `spec.source.devices`."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What a claim asks for, whatever words it was asked in.

    Either `gpus` whole cards, or one MIG instance of profile `mig`, or a share of each of `count`
    cards of one node: `core` (percent), `memory` (bytes) and `tflops` (dense FP16) are totals that
    divide evenly over them, `memory_percentage` is of each. `priority` is among the containers on
    a card, 0 before 1, for backends that know one; None: not said.
    """

    gpus: int = 0
    core: int = 0
    memory: int = 0
    memory_percentage: int = 0
    count: int = 1
    tflops: int = 0
    mig: str = ""
    priority: int | None = None

    @property
    def unsized(self) -> bool:
        """It names no amount: the share of each card is as large as its class makes them.

        >>> Demand(count=2).unsized, Demand(core=10).unsized
        (True, False)
        """
        sized = self.core or self.memory or self.memory_percentage or self.tflops
        return not (self.gpus or self.mig or sized)

    def memory_of(self, card: int) -> int:
        """The bytes it asks of each card that has `card` bytes; never less than was written.

        >>> Demand(memory_percentage=50).memory_of(81), Demand(memory=8, count=2).memory_of(81)
        (41, 4)
        """
        return max(self.memory // self.count, -(-card * self.memory_percentage // 100))


def checked(want: Demand) -> Demand:
    """The demand, if it makes sense.

    Raises ValueError with a sentence for the person: what is wrong and what to do.
    """
    wrong = next(_contradictions(want), None)
    if wrong:
        raise ValueError(wrong)
    return want


def _contradictions(want: Demand) -> Iterator[str]:
    part = want.core or want.memory or want.memory_percentage or want.tflops
    if want.gpus and part:
        yield f"{GPU} asks for whole cards: leave core, memory and tflops out"
    if want.gpus and want.count > 1:
        yield f"{GPU} says how many cards already: leave {COUNT} out"
    if max(want.gpus, want.count) > MOST_CARDS:
        cards = max(want.gpus, want.count)
        yield f"{cards} cards are more than one claim can have: ask for at most {MOST_CARDS}"
    if want.memory_percentage > 100:
        yield f"{MEMORY_PERCENTAGE} is {want.memory_percentage}: at most 100"
    for name, total in ((CORE, want.core), (MEMORY, want.memory), (TFLOPS, want.tflops)):
        if total % want.count:
            yield (
                f"{name} does not divide evenly over {want.count} cards: "
                f"ask for a multiple of {want.count}"
            )


def describe(want: Demand) -> str:
    """The demand in words.

    >>> describe(Demand(core=10, memory=4 << 30))
    '10% core and 4Gi memory'
    """
    parts = [
        f"{want.gpus} whole card{'s' if want.gpus > 1 else ''}" if want.gpus else "",
        f"MIG {want.mig}" if want.mig else "",
        f"{want.core}% core" if want.core else "",
        f"{format_bytes(want.memory)} memory" if want.memory else "",
        f"{want.memory_percentage}% of the memory" if want.memory_percentage else "",
        f"{want.tflops} TFLOPS" if want.tflops else "",
        "a share as large as the class makes them" if want.unsized else "",
    ]
    spread = f" over {want.count} cards" if want.count > 1 else ""
    return " and ".join(part for part in parts if part) + spread
