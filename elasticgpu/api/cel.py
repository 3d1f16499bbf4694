"""Rules that the API server enforces: CEL expressions, and the sentences people read.

They need Kubernetes 1.30 or newer. A rule about change sits on the object that always exists and
never on the field it is about: there it would not run when the field is taken away, and so a name
could be removed and set anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from .quantity import BYTES_PATTERN, PATTERN


@dataclass(frozen=True, slots=True)
class Rule:
    """What must hold, and the sentence that a person reads if it does not.

    `at` is the field that the sentence is about, below the object that the rule stands on. The
    sentence is fixed: one that quotes a key of a map costs too much, keys having no bound in CEL.
    """

    holds: str
    message: str
    at: str = ""

    @property
    def reason(self) -> Literal["FieldValueInvalid", "FieldValueForbidden"]:
        """A value may be wrong by itself, or right but forbidden after what was there before."""
        return "FieldValueForbidden" if "oldSelf" in self.holds else "FieldValueInvalid"


def fixed(field: str, message: str) -> Rule:
    """The field never changes, appears or goes."""
    return Rule(_equal(f"self.{field}", f"oldSelf.{field}"), message, f".{field}")


def once(field: str, message: str) -> Rule:
    """The field goes from empty to a value once, and then never changes."""
    was, now = f"oldSelf.?{field}.orValue('')", f"self.?{field}.orValue('')"
    return Rule(f"{was} in ['', {now}]", message, f".{field}")


def while_bound(field: str) -> Rule:
    """The field does not change while the claim is bound."""
    same = _equal(f"self.spec.{field}", f"oldSelf.spec.{field}")
    return Rule(
        f"oldSelf.?status.?phase.orValue('') != 'Bound' || ({same})",
        f"{field} says how the device was chosen, and the claim is bound: "
        "delete the claim and make a new one",
        f".spec.{field}",
    )


def grows(field: str, grown: str, message: str) -> Rule:
    """The field never changes, appears or goes, unless it has only `grown`."""
    same = _equal(f"self.{field}", f"oldSelf.{field}")
    both = f"has(self.{field}) && has(oldSelf.{field})"
    return Rule(f"({same}) || {both} && {grown}", message, f".{field}")


def alike(now: str, was: str, fields: Iterable[str]) -> str:
    """Both have the same in these fields."""
    return " && ".join(f"({_equal(f'{now}.{name}', f'{was}.{name}')})" for name in fields)


def _equal(now: str, was: str) -> str:
    """Both absent or both the same. Comparing the optional values would cost without bound."""
    return f"has({now}) ? has({was}) && {now} == {was} : !has({was})"


# Never `quantity()` or `isQuantity()` on what a user wrote: 1e999999999 keeps the server busy for
# minutes, and every rule runs whatever another one has refused.
_IS_QUANTITY = "{0}.matches(r'" + PATTERN.replace("{", "{{").replace("}", "}}") + "')"


def amount(name: str, of: str = "self") -> str:
    """The quantity of that name; 1 where it is none, which is for its own rule to say."""
    return _amount(f"{of}[{name}]")


def size(of: str) -> str:
    """The bytes in field `memory`, as a quantity; 0 where it is left out."""
    return f"(has({of}.memory) ? {_amount(f'{of}.memory')} : quantity('0'))"


def _amount(value: str) -> str:
    text = f"string({value})"
    return f"quantity({_IS_QUANTITY.format(text)} ? {text} : '1')"


QUANTITY = Rule(
    _IS_QUANTITY.format("string(self)"),
    "this is not a quantity: write a number such as 10, 4Gi or 3k",
)
"""Stands on every quantity: a `pattern` would be read aloud to the person."""

BYTES = Rule(
    f"string(self).matches(r'{BYTES_PATTERN}')",
    "this is not a number of bytes: write a whole one such as 4294967296 or 4Gi",
)
"""The same for what is bytes."""
