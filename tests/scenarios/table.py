"""The table that the scenarios leave on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from .faults import Fault
from .words import EVENTS, EXCLUDED, OURS, UPSTREAM


@dataclass
class Line:
    """What became of one scenario, or one case of it."""

    number: int
    case: str
    writes: Sequence[str]
    runs: dict[str, int] = field(default_factory=dict)
    bad: int = 0
    seconds: float | None = None

    def ran(self, fault: Fault, *, ok: bool) -> None:
        """Count a run with a fault."""
        self.runs[fault.kind] = self.runs.get(fault.kind, 0) + 1
        self.bad += not ok

    def cells(self) -> tuple[str, ...]:
        """The line as it is printed."""
        counts = (self.runs.get(kind, 0) for kind in ("crash", "lost", "unsent", "stale"))
        done = self.seconds is not None
        result = ("ok" if not self.bad else f"{self.bad} FAILED") if done else "FAILED"
        seconds = f"{self.seconds:.1f}" if self.seconds is not None else "-"
        number = str(self.number)
        return (number, self.case, str(len(self.writes)), *map(str, counts), seconds, result)


HEAD = ("", "case", "writes", "crashes", "lost", "unsent", "stale", "s", "result")


def printed(lines: Sequence[Line]) -> Iterator[str]:
    """The scenarios, then what differs from the words of the origin."""
    rows = [HEAD, *(line.cells() for line in sorted(lines, key=lambda line: line.number))]
    runs = Counter[str]()
    for line in lines:
        runs.update(line.runs)
    total = sum(line.seconds or 0 for line in lines)
    counts = (str(runs[kind]) for kind in ("crash", "lost", "unsent", "stale"))
    writes = sum(len(line.writes) for line in lines)
    good = sum(line.seconds is not None and not line.bad for line in lines)
    rows.append(("", "all", str(writes), *counts, f"{total:.0f}", f"{good} of {len(lines)} ok"))
    yield from _aligned(rows)
    yield from _beside("differs on purpose", OURS)
    yield from _beside("has no counterpart here", EXCLUDED)
    yield "events, theirs and ours: " + "; ".join(f"{old} = {new}" for old, new in EVENTS.items())


def _beside(title: str, new: dict[int, str]) -> Iterator[str]:
    for number in sorted(new):
        yield f"{number}. {UPSTREAM[number]}"
        yield f"    {title}: {new[number]}"


def _aligned(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    rows = list(rows)
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    for row in rows:
        cells = [
            cell.ljust(width) if column in (1, 8) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
