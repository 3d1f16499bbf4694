"""CEL as Kubernetes speaks it, by Google's own runtime: compiled once, evaluated on plain data.

Of Kubernetes' extensions it knows optionals, strings, lists, quantities and formats of names, as
far as `celwords` can say them.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from elasticgpu.api import quantity

from . import names
from .celwords import translated

try:
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings
except ImportError as error:  # the extra `testing` is not installed
    raise ImportError("CEL is not installed: pip install 'elasticgpu[testing]'") from error

_T = cel.Type


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


def _distinct(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if item not in found:
            found.append(item)
    return found


def _flat(items: list[Any]) -> list[Any]:
    return [one for item in items for one in (item if isinstance(item, list) else [item])]


def _position(items: Any, item: Any) -> int:
    if isinstance(items, str):
        return items.find(item)
    return items.index(item) if item in items else -1


def _joined(maps: list[Mapping[str, Any]]) -> dict[str, Any]:
    return {key: value for one in maps for key, value in one.items()}


def _refuses(grammar: Mapping[str, str], name: str) -> bool:
    return bool(names.faults(name, "label" if grammar["format"] == "label" else "subdomain"))


def _function(name: str, returns: Any, does: Any, *takes: Any, of: Any = None) -> Any:
    """A function, or a method of type `of`; several lists of types may be taken."""
    several = [[of, *takes]] if of is not None else [list(takes)]
    if isinstance(of, tuple):
        several = [[one, *takes] for one in of]
    overloads = [
        cel.Overload(
            f"{name}_{number}".replace(".", "_"),
            return_type=returns,
            parameters=types,
            is_member=of is not None,
            impl=does,
        )
        for number, types in enumerate(several)
    ]
    return cel.FunctionDecl(name, overloads)


_FUNCTIONS = [
    _function("quantity", _T.DYN, _quantity, _T.STRING),
    _function("isQuantity", _T.BOOL, _is_quantity, _T.STRING),
    _function("compareTo", _T.INT, _compare, _T.MAP, of=_T.MAP),
    _function("isInteger", _T.BOOL, _is_integer, of=_T.MAP),
    _function("asInteger", _T.INT, lambda boxed: int(_value(boxed)), of=_T.MAP),
    _function("isGreaterThan", _T.BOOL, lambda a, b: _compare(a, b) > 0, _T.MAP, of=_T.MAP),
    _function("isLessThan", _T.BOOL, lambda a, b: _compare(a, b) < 0, _T.MAP, of=_T.MAP),
    _function("distinct", _T.LIST, _distinct, of=_T.LIST),
    _function("flatten", _T.LIST, _flat, of=_T.LIST),
    _function("sort", _T.LIST, sorted, of=_T.LIST),
    _function("positionOf", _T.INT, _position, _T.STRING, of=(_T.LIST, _T.STRING)),
    _function("lists.range", _T.LIST, lambda end: list(range(end)), _T.INT),
    _function("mergeMaps", _T.MAP, _joined, _T.LIST),
    _function("format.dns1123Subdomain", _T.MAP, lambda: {"format": "subdomain"}),
    _function("format.dns1123Label", _T.MAP, lambda: {"format": "label"}),
    _function("refuses", _T.BOOL, _refuses, _T.STRING, of=_T.MAP),
]


@lru_cache(maxsize=16)
def _environment(names: tuple[str, ...]) -> Any:
    return cel.NewEnv(
        variables=dict.fromkeys(names, _T.DYN),
        extensions=[
            ext_bindings.ExtBindings(),
            ext_optional.ExtOptional(),
            ext_strings.ExtStrings(),
        ],
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
        return _environment(names).compile(translated(text))
    except RuntimeError as error:
        raise Failed(str(error)) from error
