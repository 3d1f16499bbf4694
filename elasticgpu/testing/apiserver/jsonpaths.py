r"""The JSONPath of CRDs' columns: fields, escaped dots, indexes and one kind of filter.

>>> conditions = [{"type": "Bound", "message": "yes"}]
>>> find('.status.conditions[?(@.type=="Bound")].message')({"status": {"conditions": conditions}})
['yes']
>>> find(r".labels.example\.com/a")({"labels": {"example.com/a": 1}})
[1]
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_STEP = re.compile(
    r"""\.(?P<field>(?:\\.|[^.\[\\])+)
      | \[\?\(@\.(?P<key>[\w.]+)\s*==\s*["'](?P<value>[^"']*)["']\)\]
      | \['(?P<quoted>[^']+)'\]
      | \[(?P<index>\d+|\*)\]""",
    re.VERBOSE,
)

Step = Callable[[Any], list[Any]]


def find(path: str) -> Callable[[Any], list[Any]]:
    """A function that finds what is at the path. Raises ValueError for a path not understood."""
    steps, at = [], 0
    path = path.strip("{}")
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise ValueError(f"JSONPath {path} is not understood at {path[at:]}")
        steps.append(_step(found))
        at = found.end()

    def walk(value: Any) -> list[Any]:
        values = [value]
        for step in steps:
            values = [below for one in values for below in step(one)]
        return values

    return walk


def _step(found: re.Match[str]) -> Step:
    if found["key"]:
        key, value = found["key"], found["value"]
        return lambda body: [one for one in _items(body) if one.get(key) == value]
    if found["index"] == "*":
        return _items
    if found["index"]:
        index = int(found["index"])
        return lambda body: _items(body)[index : index + 1]
    name = found["quoted"] or re.sub(r"\\(.)", r"\1", found["field"])
    return lambda body: [body[name]] if isinstance(body, dict) and name in body else []


def _items(body: Any) -> list[Any]:
    return body if isinstance(body, list) else []
