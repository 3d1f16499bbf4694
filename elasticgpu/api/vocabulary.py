"""Resource names → one canonical demand. The names are data; the order of the table is the rule.

First cut: the canonical names and qGPU's. The other vendors' sets join with their backends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from .meta import GROUP
from .quantity import MI, format_bytes, memory_bytes, to_int

GPU = f"{GROUP}/gpu"
CORE = f"{GROUP}/gpu-core"
MEMORY = f"{GROUP}/gpu-memory"
MEMORY_PERCENTAGE = f"{GROUP}/gpu-memory-percentage"
COUNT = f"{GROUP}/gpu-count"
TFLOPS = f"{GROUP}/tflops"
MIG_PREFIX = f"{GROUP}/mig-"

GI = 1 << 30
Dimension = Literal["gpus", "core", "memory", "memory_percentage", "count", "tflops"]


@dataclass(frozen=True, slots=True)
class Demand:
    """What a claim asks for, whatever words it was asked in.

    `gpus` whole cards; `core` percent and `memory` bytes of each of `count` cards together (they
    divide evenly); `memory_percentage` of a card; `tflops` dense FP16; `mig` a profile name.
    """

    gpus: int = 0
    core: int = 0
    memory: int = 0
    memory_percentage: int = 0
    count: int = 1
    tflops: int = 0
    mig: str = ""


@dataclass(frozen=True, slots=True)
class Word:
    """One resource name: which dimension it asks for, and the unit of a small memory value."""

    name: str
    dimension: Dimension
    unit: int = MI
    source: str = ""


WORDS: tuple[Word, ...] = (
    Word(GPU, "gpus", source="canonical"),
    Word(CORE, "core", source="canonical"),
    Word(MEMORY, "memory", MI, "canonical"),
    Word(MEMORY_PERCENTAGE, "memory_percentage", source="canonical"),
    Word(COUNT, "count", source="canonical"),
    Word(TFLOPS, "tflops", source="canonical"),
    Word("tke.cloud.tencent.com/qgpu-core", "core", source="qGPU: percent of one card"),
    Word("tke.cloud.tencent.com/qgpu-memory", "memory", GI, "qGPU: GiB"),
)
_BY_NAME = {word.name: word for word in WORDS}


def demand(requests: Mapping[str, int | str]) -> Demand:
    """The canonical demand of a claim's requests.

    >>> demand({"tke.cloud.tencent.com/qgpu-core": 10, "tke.cloud.tencent.com/qgpu-memory": "4Gi"})
    Demand(gpus=0, core=10, memory=4294967296, memory_percentage=0, count=1, tflops=0, mig='')

    Raises ValueError with a sentence for the person if a name is unknown, a value is no
    quantity or not positive, one thing is asked for twice, or names exclude each other.
    """
    asked: dict[str, int | str] = {}
    for name, value in requests.items():
        dimension, amount = _read(name, value)
        if dimension in asked:
            raise ValueError(f"{name} asks for {dimension} a second time: name it once")
        asked[dimension] = amount
    if not any(amount for dimension, amount in asked.items() if dimension != "count"):
        raise ValueError("nothing is requested: name at least one resource, such as " + CORE)
    return _checked(replace(Demand(), **asked))  # type: ignore[arg-type] # keys are Demand's fields


def _read(name: str, value: int | str) -> tuple[str, int | str]:
    if name.startswith(MIG_PREFIX):
        if str(value) != "1":
            raise ValueError(f"{name} must be 1, not {value}: one claim is one MIG instance")
        return "mig", name.removeprefix(MIG_PREFIX)
    word = _BY_NAME.get(name)
    if word is None:
        known = ", ".join(word.name for word in WORDS)
        raise ValueError(
            f"{name} is no resource this understands: known are {known}, mig-<profile>"
        )
    try:
        amount = memory_bytes(value, word.unit) if word.dimension == "memory" else to_int(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    if amount <= 0:
        raise ValueError(f"{name} is {value}: ask for more than nothing")
    return word.dimension, amount


def _checked(want: Demand) -> Demand:
    if want.core > 100:
        if want.core % 100:
            raise ValueError(
                f"{CORE} is {want.core}: above 100 only whole cards, a multiple of 100"
            )
        if want.gpus:
            raise ValueError(f"{GPU} and {CORE} above 100 both ask for whole cards: name one")
        if want.memory or want.memory_percentage or want.tflops:
            raise ValueError(
                f"{CORE} is {want.core}, which is {want.core // 100} whole cards: leave memory and "
                "tflops out, or ask for at most 100"
            )
        want = replace(want, gpus=want.core // 100, core=0)
    if want.gpus and (want.core or want.memory or want.memory_percentage or want.tflops):
        raise ValueError(f"{GPU} asks for whole cards: leave core, memory and tflops out")
    if want.memory_percentage > 100:
        raise ValueError(f"{MEMORY_PERCENTAGE} is {want.memory_percentage}: at most 100")
    if want.count > 1 and (want.core % want.count or want.memory % want.count):
        raise ValueError(f"{COUNT} is {want.count}: core and memory must divide evenly by it")
    return want


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
    ]
    spread = f" over {want.count} cards" if want.count > 1 else ""
    return " and ".join(part for part in parts if part) + spread
