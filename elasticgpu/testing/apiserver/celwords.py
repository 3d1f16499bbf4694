"""Kubernetes' CEL in words that the runtime knows.

Three things are written otherwise: literals of the types `Object…` and `JSONPatch` (maps here),
macros with two variables, and functions whose names the runtime keeps for itself.

>>> translated("Object{spec: Object.spec{n: ['a:b']}}")
"{'spec': {'n': ['a:b']}}"
>>> translated("a.b.transformMapEntry(i, v, {v: 1})")
'mergeMaps(a.b.map(v, {v: 1}))'
>>> translated("!format.dns1123Subdomain().validate(name).hasValue()")
'!format.dns1123Subdomain().refuses(name)'
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""r?'(?:\\.|[^'\\])*' | r?"(?:\\.|[^"\\])*"
      | (?P<type>(?:Object(?:\.\w+)*|JSONPatch)\s*(?=\{))
      | [A-Za-z_]\w* | \s+ | .""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"\.__([a-z]+)__\b")
_REFUSES = re.compile(r"\.validate\(([\w.\[\]]+)\)\.hasValue\(\)")
_TWO = re.compile(r"(?P<of>\w+(?:\.\w+)*)\s*\.(?P<macro>transformMapEntry|transformList)\(")


def translated(text: str) -> str:
    """The expression as the runtime reads it."""
    text = _REFUSES.sub(r".refuses(\1)", _ESCAPED.sub(r".\1", text))
    text = text.replace(".indexOf(", ".positionOf(")
    return _plain_macros("".join(_plain_literals(text)))


def _plain_literals(text: str) -> Iterator[str]:
    """Typed literals as maps: the type goes, the names of fields are quoted."""
    typed: list[bool] = []
    pending, at_key = False, False
    for found in _TOKEN.finditer(text):
        token = found[0]
        if found["type"]:
            pending = True
            continue
        if token in ("{", "[", "("):
            typed.append(token == "{" and pending)
            pending, at_key = False, typed[-1]
        elif token in ("}", "]", ")"):
            typed.pop()
        elif token == ",":
            at_key = typed[-1]
        elif at_key and token.strip():
            token, at_key = f"'{token}'", False
        yield token


def _plain_macros(text: str) -> str:
    while found := _TWO.search(text):
        end = _closing(text, found.end())
        first, second, rest = _arguments(text[found.end() : end])
        of = found["of"]
        if found["macro"] == "transformMapEntry":  # over a list: the index is of no use
            plain = f"mergeMaps({of}.map({second}, {rest}))"
        else:  # over a map: by its keys
            plain = f"{of}.map({first}, cel.bind({second}, {of}[{first}], {rest}))"
        text = text[: found.start()] + plain + text[end + 1 :]
    return text


def _closing(text: str, start: int) -> int:
    """Where the bracket closes that was open before `start`."""
    depth = 1
    for found in _TOKEN.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if not depth:
            return found.start()
    return len(text)


def _arguments(text: str) -> tuple[str, str, str]:
    first, second, rest = text.split(",", 2)
    return first.strip(), second.strip(), rest.strip()
