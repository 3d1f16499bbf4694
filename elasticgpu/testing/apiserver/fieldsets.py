"""Sets of fields, as `managedFields` has them: which leaves of an object somebody speaks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from elasticgpu.cluster.transport import loads

from .shapes import Shape

Path = tuple[str, ...]
"""Steps such as `f:spec`, `k:{"name":"a"}` and `v:"x"`."""
FieldSet = frozenset[Path]


def leaves(shape: Shape, value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every leaf with its value; an item of a keyed list is one itself, with the value None."""
    if isinstance(value, dict) and value:
        for name, one in value.items():
            yield from leaves(shape.below(name), one, (*path, f"f:{name}"))
    elif isinstance(value, list) and value and shape.step(value[0]):
        for one in value:
            here = (*path, shape.step(one))
            yield here, None
            if isinstance(one, dict):
                yield from leaves(shape.item(), one, here)
    else:
        yield path, value


def nested(fields: FieldSet) -> dict[str, Any]:
    """The set as `fieldsV1`."""
    found: dict[str, Any] = {}
    inner = {path[:end] for path in fields for end in range(1, len(path))}
    for path in sorted(fields):
        at = found
        for step in path:
            at = at.setdefault(step, {})
        if path in inner:
            at["."] = {}
    return found


def flat(fields: dict[str, Any], path: Path = ()) -> Iterator[Path]:
    """The paths of a `fieldsV1`."""
    for step, below in fields.items():
        if step == ".":
            yield path
        elif below:
            yield from flat(below, (*path, step))
        else:
            yield (*path, step)


def told(path: Path) -> str:
    """A path as people read it.

    >>> told(("f:spec", "f:parts", 'k:{"name":"a"}', "f:count"))
    '.spec.parts[name="a"].count'
    """
    return "".join(_step(step) for step in path)


def _step(step: str) -> str:
    kind, _, rest = step.partition(":")
    if kind == "f":
        return f".{rest}"
    if kind == "v":
        return f"[={rest}]"
    return "[" + ",".join(f'{key}="{value}"' for key, value in loads(rest.encode()).items()) + "]"
