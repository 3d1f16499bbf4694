"""Label and field selectors, read from the texts that clients send."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .kinds import Kind
from .refusal import bad_request

Json = dict[str, Any]
Selects = Callable[[Json], bool]

_KEY = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?(/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_SET = re.compile(rf"\s*(?P<key>{_KEY})\s+(?P<op>in|notin)\s*\((?P<values>[^)]*)\)\s*")
_EQUAL = re.compile(rf"\s*(?P<key>{_KEY})\s*(?P<op>==|=|!=)\s*(?P<value>[-A-Za-z0-9_.]*)\s*")
_THERE = re.compile(rf"\s*(?P<not>!?)\s*(?P<key>{_KEY})\s*")
_SPLIT = re.compile(r",(?![^(]*\))")
_TERM = re.compile(r"(?P<path>[^=!]+)(?P<op>==|=|!=)(?P<value>.*)")


def selector(kind: Kind, labels: str, fields: str) -> Selects | None:
    """What both selectors take; None if they take everything. Raises Refusal."""
    tests = [*_by_labels(labels), *_by_fields(kind, fields)]
    if not tests:
        return None
    return lambda body: all(test(body) for test in tests)


def _by_labels(text: str) -> list[Selects]:
    return [_requirement(part) for part in _SPLIT.split(text)] if text.strip() else []


def _requirement(text: str) -> Selects:
    if found := _SET.fullmatch(text):
        values = {value.strip() for value in found["values"].split(",")}
        return _member(found["key"], values, found["op"] == "in")
    if found := _EQUAL.fullmatch(text):
        return _member(found["key"], {found["value"]}, found["op"] != "!=")
    if found := _THERE.fullmatch(text):
        key, wanted = found["key"], not found["not"]
        return lambda body: (key in _labels(body)) == wanted
    raise bad_request(f"unable to parse requirement: {text!r} is no requirement")


def _member(key: str, values: set[str], wanted: bool) -> Selects:
    # An object without the label is not in the set, and so satisfies `notin` and `!=`.
    return lambda body: (_labels(body).get(key) in values) == wanted


def _labels(body: Json) -> Json:
    return body["metadata"].get("labels") or {}


def _by_fields(kind: Kind, text: str) -> list[Selects]:
    return [_term(kind, part) for part in text.split(",")] if text else []


def _term(kind: Kind, text: str) -> Selects:
    found = _TERM.fullmatch(text)
    if not found:
        raise bad_request(f"invalid selector: '{text}'; can't understand '{text}'")
    read = field_reader(kind, found["path"])
    value, wanted = found["value"], found["op"] != "!="
    return lambda body: (read(body) == value) == wanted


def field_reader(kind: Kind, path: str) -> Callable[[Json], str]:
    """How a selectable field is read. Raises Refusal for one that is not."""
    if path in ("metadata.name", "metadata.namespace"):
        key = path.rpartition(".")[2]
        return lambda body: str(body["metadata"].get(key, ""))
    if path in kind.fields:
        return kind.fields[path]
    if kind.custom:
        raise bad_request(f"field label not supported: {path}")
    raise bad_request(f'"{path}" is not a known field selector: only {_known(kind)}')


def _known(kind: Kind) -> str:
    return ", ".join(f'"{path}"' for path in ("metadata.name", "metadata.namespace", *kind.fields))


def at_path(path: str) -> Callable[[Json], str]:
    """A reader of the scalar under a dotted path, empty where there is none."""
    parts = path.strip(".").split(".")

    def read(body: Json) -> str:
        value: Any = body
        for part in parts:
            value = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, bool):
            return str(value).lower()
        return "" if value is None else str(value)

    return read
