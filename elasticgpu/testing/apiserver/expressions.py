"""CEL as Kubernetes speaks it, by Google's own runtime: compiled once, evaluated on plain data.

Of Kubernetes' extensions it knows optionals, strings and quantities.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from elasticgpu.api import quantity

try:
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_optional, ext_strings
except ImportError as error:  # the extra `testing` is not installed
    raise ImportError("CEL is not installed: pip install 'elasticgpu[testing]'") from error

_T = cel.Type
_ESCAPED = re.compile(r"\.__([a-z]+)__\b")


class Failed(Exception):
    """The expression could not be compiled, or has no value for these data."""


def _quantity(text: str) -> dict[str, str]:
    # Values of types of our own cannot pass through the runtime; a map of one entry can.
    return {"quantity": str(quantity.parse(text))}


def _value(boxed: Mapping[str, str]) -> Fraction:
    return Fraction(boxed["quantity"])


def _is_integer(boxed: Mapping[str, str]) -> bool:
    exact = _value(boxed)
    return exact.denominator == 1 and -(2**63) <= exact < 2**63


def _is_quantity(text: str) -> bool:
    try:
        quantity.parse(text)
    except ValueError:
        return False
    return True


def _compare(a: Mapping[str, str], b: Mapping[str, str]) -> int:
    one, other = _value(a), _value(b)
    return (one > other) - (one < other)


def _function(name: str, returns: Any, takes: list[Any], member: bool, does: Any) -> Any:
    overload = cel.Overload(
        f"{name}_of_{len(takes)}",
        return_type=returns,
        parameters=takes,
        is_member=member,
        impl=does,
    )
    return cel.FunctionDecl(name, [overload])


_FUNCTIONS = [
    _function("quantity", _T.DYN, [_T.STRING], False, _quantity),
    _function("isQuantity", _T.BOOL, [_T.STRING], False, _is_quantity),
    _function("compareTo", _T.INT, [_T.MAP, _T.MAP], True, _compare),
    _function("isInteger", _T.BOOL, [_T.MAP], True, _is_integer),
    _function("asInteger", _T.INT, [_T.MAP], True, lambda boxed: int(_value(boxed))),
    _function("isGreaterThan", _T.BOOL, [_T.MAP, _T.MAP], True, lambda a, b: _compare(a, b) > 0),
    _function("isLessThan", _T.BOOL, [_T.MAP, _T.MAP], True, lambda a, b: _compare(a, b) < 0),
]


@lru_cache(maxsize=16)
def _environment(names: tuple[str, ...]) -> Any:
    return cel.NewEnv(
        variables=dict.fromkeys(names, _T.DYN),
        extensions=[ext_optional.ExtOptional(), ext_strings.ExtStrings()],
        functions=_FUNCTIONS,
    )


class Scope:
    """Values under names, made known to the runtime once for any number of expressions."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._names = tuple(values)
        self._activation = _environment(self._names).Activation(dict(values))

    def value(self, text: str) -> Any:
        """What the expression is here, as plain data. Raises Failed."""
        try:
            found = compiled(text, self._names).eval(self._activation)
        except RuntimeError as error:
            raise Failed(str(error)) from error
        if found.type() == _T.ERROR:
            raise Failed(str(found.value()))
        return found.plain_value()


@lru_cache(maxsize=4096)
def compiled(text: str, names: tuple[str, ...]) -> Any:
    """The expression, ready to be evaluated over these names. Raises Failed."""
    try:
        return _environment(names).compile(_ESCAPED.sub(r".\1", text))
    except RuntimeError as error:
        raise Failed(str(error)) from error
