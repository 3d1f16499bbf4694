"""How answers look: tables as wide as the terminal, ages, colours where somebody sees them."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, cast

import click

GAP = "   "
NARROW = 8
"""Characters that a column keeps, however small the terminal is."""
COLOURS = {
    **dict.fromkeys(("Available", "Bound", "Healthy", "Running", "Succeeded"), "green"),
    **dict.fromkeys(("Pending", "Released", "Terminating", "Unknown", "Unschedulable"), "yellow"),
    **dict.fromkeys(("Failed", "Lost", "Unhealthy"), "red"),
}
MINUTE, HOUR, DAY, YEAR = 60, 3600, 24 * 3600, 365 * 24 * 3600
AGES = (
    (2 * MINUTE, 1, "s", 0, ""),
    (10 * MINUTE, MINUTE, "m", 1, "s"),
    (3 * HOUR, MINUTE, "m", 0, ""),
    (8 * HOUR, HOUR, "h", MINUTE, "m"),
    (2 * DAY, HOUR, "h", 0, ""),
    (8 * DAY, DAY, "d", HOUR, "h"),
    (2 * YEAR, DAY, "d", 0, ""),
    (8 * YEAR, YEAR, "y", DAY, "d"),
)
"""How kubectl writes ages: below so many seconds, in this unit, and the rest in that one."""


def age(since: str, now: str) -> str:
    """The time between two timestamps as kubectl writes it, the finer the shorter it is.

    >>> age("2026-01-01T00:00:00Z", "2026-01-01T00:04:30Z")
    '4m30s'
    >>> age("", "2026-01-01T00:04:30Z")
    '<unknown>'
    """
    try:
        seconds = int((datetime.fromisoformat(now) - datetime.fromisoformat(since)).total_seconds())
    except (TypeError, ValueError):
        return "<unknown>"
    for limit, unit, name, fine, fine_name in AGES:
        if seconds < limit:
            whole, rest = divmod(max(seconds, 0), unit)
            rest = rest // fine if fine else 0
            return f"{whole}{name}" + (f"{rest}{fine_name}" if rest else "")
    return f"{seconds // YEAR}y"


def memory(count: int) -> str:
    """Bytes for people: one decimal at most, and never more than there is.

    >>> memory(4 << 30), memory(23028 << 20), memory(512 << 20), memory(0)
    ('4Gi', '22.4Gi', '512Mi', '0')
    """
    for suffix, power in (("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)):
        if abs(count) >= 1 << power:
            tenths = count * 10 >> power
            return f"{tenths / 10:g}{suffix}"
    return str(count)


def room(core: int, count: int) -> str:
    """Percent of cards and bytes of their memory: `30% 4Gi`."""
    return f"{core}% {memory(count)}"


def width() -> int | None:
    """Columns of the terminal; None where the output is no terminal and nothing need be cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def table(
    titles: Sequence[str],
    rows: Iterable[Sequence[str]],
    columns: int | None = None,
    *,
    blank: str = "-",
) -> Iterator[str]:
    """The lines of a table; cells are cut to make it fit into so many columns."""
    cells = [list(titles), *([cell or blank for cell in row] for row in rows)]
    widths = _fitted([max(map(len, column)) for column in zip(*cells, strict=True)], columns)
    for row in cells:
        parts = [_cell(text, size) for text, size in zip(row, widths, strict=True)]
        yield GAP.join(parts).rstrip()


def _fitted(widths: list[int], columns: int | None) -> list[int]:
    """The widest columns give way first."""
    over = sum(widths) + len(GAP) * (len(widths) - 1) - (columns or sys.maxsize)
    while over > 0 and max(widths) > NARROW:
        widest = widths.index(max(widths))
        widths[widest] -= 1
        over -= 1
    return widths


def _cell(text: str, size: int) -> str:
    shown = text if len(text) <= size else text[: size - 1] + "…"
    colour = COLOURS.get(text)
    return (click.style(shown, fg=colour) if colour else shown) + " " * (size - len(shown))


def paragraph(text: str, indent: str = "", columns: int | None = None) -> str:
    """A paragraph, wrapped to the terminal; one line where there is none."""
    if columns is None:
        return indent + text
    return textwrap.fill(
        text,
        max(columns, 40),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def camel(body: Any) -> Any:
    """The same with its keys spelled as Kubernetes spells them.

    >>> camel({"core_free": 1, "looks": [{"memory_free": 2}]})
    {'coreFree': 1, 'looks': [{'memoryFree': 2}]}
    """
    if isinstance(body, dict):
        return {_camel(name): camel(value) for name, value in body.items()}
    return [camel(value) for value in body] if isinstance(body, list | tuple) else body


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def structured(body: Any, output: str) -> str:
    """JSON or YAML, as kubectl prints them: sorted keys, four spaces in JSON."""
    if output == "json":
        return json.dumps(body, indent=4, sort_keys=True, ensure_ascii=False)
    import yaml

    class Dumper(yaml.SafeDumper):
        """Quotes as kubectl does: doubly what would be read as no string; long texts are blocks."""

        def choose_scalar_style(self) -> str:
            style: str = super().choose_scalar_style()
            event = cast(yaml.ScalarEvent, self.event)
            return '"' if style == "'" and not event.implicit[0] else style

    text: str = yaml.dump(body, Dumper=Dumper, sort_keys=True, allow_unicode=True, width=2**31)
    return text.rstrip("\n")
