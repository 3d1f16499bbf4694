"""Kubernetes quantities, exact: no float, no overflow, no rounding.

The grammar is that of `k8s.io/apimachinery/pkg/api/resource`: a signed decimal number and one
suffix (`n u m k M G T P E`, `Ki … Ei`, or an exponent `e3`). It is bounded, 32 characters and
exponents of two digits, so that no text costs more than another; within the bounds nothing is
rounded, as Kubernetes itself does below `1n` and above 64 bits.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Annotated

from pydantic import Field

PATTERN = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$"
MAX_LENGTH = 32

Quantity = Annotated[
    int | str,
    Field(json_schema_extra={"x-kubernetes-quantity": "any"}),
]
"""A quantity as people write it: `10`, `"4Gi"`, `"3k"`."""

BYTES_PATTERN = r"^[0-9]+([kMGTPE]|[KMGTPE]i)?$"

Bytes = Annotated[
    int | str,
    Field(json_schema_extra={"x-kubernetes-quantity": "bytes"}),
]
"""A whole number of bytes, not negative: what cards have and devices are cut from."""

MI = 1 << 20
_QUANTITY = re.compile(PATTERN)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


@lru_cache(maxsize=4096)
def parse(value: int | str) -> Fraction:
    """The exact value.

    >>> parse("3k"), parse("4Gi") == 4 * 1024**3, parse("100m"), parse("1e3")
    (Fraction(3000, 1), True, Fraction(1, 10), Fraction(1000, 1))

    Raises ValueError if `value` is no quantity or is longer than 32 characters.
    """
    text = str(value)
    found = _QUANTITY.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if found is None:
        raise ValueError(
            f"{text[:MAX_LENGTH]!r} is not a quantity: write a number such as 10, 4Gi or 3k"
        )
    suffix = found[3] or ""
    number = Fraction(text.removesuffix(suffix))
    if suffix in _BINARY:
        return number * (1 << _BINARY[suffix])
    return number * Fraction(10) ** (_DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:]))


@lru_cache(maxsize=4096)
def to_int(value: int | str) -> int:
    """The value as a whole number. Raises ValueError for a fraction such as `1.5` or `100m`."""
    exact = parse(value)
    if exact.denominator != 1:
        raise ValueError(f"{value} is not a whole number")
    return exact.numerator


def format_bytes(count: int) -> str:
    """Bytes with the largest binary suffix that keeps them exact.

    >>> format_bytes(4 * 1024**3), format_bytes(1536 * 1024**2), format_bytes(1000)
    ('4Gi', '1536Mi', '1000')
    """
    for suffix, power in reversed(_BINARY.items()):
        if count and count % (1 << power) == 0:
            return f"{count >> power}{suffix}"
    return str(count)


def memory_bytes(value: int | str, unit: int = MI) -> int:
    """The one unit rule for memory: a value below 1Mi is in the vendor's `unit`, else it is bytes.

    The API server stores `3000` in a pod as `"3k"`, so the suffix says nothing about the unit.

    >>> memory_bytes("3k") == 3000 * MI, memory_bytes("4Gi") == 4 << 30, memory_bytes(4, 1 << 30)
    (True, True, 4294967296)
    """
    exact = parse(value)
    scaled = exact * unit if exact < MI else exact
    if scaled.denominator != 1:
        raise ValueError(f"{value} is not a whole number of bytes")
    return scaled.numerator
