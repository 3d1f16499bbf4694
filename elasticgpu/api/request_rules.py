"""What a claim may ask for, as the API server says it: the same as `canonical.py`, in CEL."""

from __future__ import annotations

from .canonical import (
    CORE,
    COUNT,
    GPU,
    MEMORY,
    MEMORY_PERCENTAGE,
    MIG_PREFIX,
    MOST_CARDS,
    TFLOPS,
    WHOLE,
)
from .cel import Rule, amount
from .meta import GROUP
from .quantity import MI
from .words import PRIORITY

_KNOWN = [GPU, CORE, MEMORY, MEMORY_PERCENTAGE, COUNT, TFLOPS]
_PARTS = [CORE, MEMORY, MEMORY_PERCENTAGE, TFLOPS]
_TOTALS = [CORE, MEMORY, TFLOPS]
_INTEGERS = [GPU, CORE, MEMORY_PERCENTAGE, COUNT, TFLOPS]


def _where(name: str, holds: str, message: str) -> Rule:
    """What holds of that name's amount `q`, if it is asked for.

    A list of one is how CEL gives a value a name.
    """
    asked = amount(f"'{name}'")
    return Rule(f"!('{name}' in self) || [{asked}].all(q, {holds})", message)


def _at_most(most: int) -> str:
    return f"q.compareTo(quantity('{most}')) <= 0"


def _in_bytes(total: str) -> str:
    """The whole number of what is asked under name `n`, the unit rule of memory applied."""
    number = f"{total}.asInteger()"
    return f"(n == '{MEMORY}' && {number} < {MI} ? {number} * {MI} : {number})"


REQUESTS: list[Rule] = [
    Rule(
        f"self.all(n, n == '{PRIORITY}' || {amount('n')}.compareTo(quantity('0')) > 0)",
        "an amount is zero or less: write how much is asked for, or leave the name out",
    ),
    Rule(
        f"self.all(n, !n.startsWith('{GROUP}/') || n in {_KNOWN} || "
        f"n.startsWith('{MIG_PREFIX}') && n != '{MIG_PREFIX}')",
        f"a name under {GROUP}/ is not known: write one of {', '.join(_KNOWN)}, "
        f"{MIG_PREFIX}<profile>",
    ),
    *(
        _where(
            name,
            "q.isInteger()",
            f"{name} is broken or too large: write a whole number",
        )
        for name in _INTEGERS
    ),
    Rule(
        f"!self.exists(n, n.startsWith('{MIG_PREFIX}')) || size(self) == 1 && "
        f"self.all(n, {amount('n')}.compareTo(quantity('1')) == 0)",
        f"one {MIG_PREFIX}<profile> is all that a claim asks for: write 1, leave other names "
        "out, and make a claim for each instance",
    ),
    Rule(
        f"!('{GPU}' in self) || !{_PARTS}.exists(n, n in self)",
        f"{GPU} asks for whole cards, the others for a part of one: keep either {GPU} "
        f"or {', '.join(_PARTS)}",
    ),
    Rule(
        f"!('{COUNT}' in self) || size(self) > 1",
        f"{COUNT} alone asks for no part of any card: write beside it what is asked of them",
    ),
    Rule(
        f"!('{GPU}' in self) || !('{COUNT}' in self)",
        f"{GPU} says how many cards already: leave {COUNT} out",
    ),
    _where(
        CORE,
        f"{_at_most(WHOLE)} || !q.isInteger() || q.asInteger() % {WHOLE} == 0",
        f"{CORE} is percent of one card: write 1 to {WHOLE}, or a multiple of {WHOLE} for "
        "whole cards",
    ),
    _where(
        CORE,
        f"{_at_most(WHOLE)} || size(self) == 1",
        f"{CORE} above {WHOLE} asks for whole cards: leave the other names out, or write at "
        f"most {WHOLE}",
    ),
    _where(
        MEMORY_PERCENTAGE,
        _at_most(100),
        f"{MEMORY_PERCENTAGE} is percent of one card's memory: write 1 to 100",
    ),
    *(
        _where(
            name,
            _at_most(most),
            f"{name} asks for more than the {MOST_CARDS} cards that one claim can have: "
            f"write at most {most}",
        )
        for name, most in ((GPU, MOST_CARDS), (COUNT, MOST_CARDS), (CORE, MOST_CARDS * WHOLE))
    ),
    _where(
        COUNT,
        f"!q.isInteger() || q.asInteger() < 1 || {_TOTALS}.all(n, !(n in self) || "
        f"[{amount('n')}].all(total, !total.isInteger() || {_in_bytes('total')} "
        "% q.asInteger() == 0))",
        f"{', '.join(_TOTALS)} are of all cards together and do not divide evenly by {COUNT}: "
        "write multiples of it",
    ),
]
"""What stands on the map of what a claim asks for."""
