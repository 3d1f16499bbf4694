"""The table that the scenarios leave on the terminal."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from .faults import Fault
from .words import EVENTS, EXCLUDED, OURS, UPSTREAM


@dataclass
class Line:
    """What became of one scenario, or one case of it."""

    server: str
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

    @property
    def good(self) -> bool:
        """Whether all its runs were as they should."""
        return self.seconds is not None and not self.bad

    def cells(self) -> tuple[str, ...]:
        """Its part of the row that is printed."""
        counts = (str(self.runs.get(kind, 0)) for kind in KINDS)
        result = f"{self.bad} FAILED" if self.bad else "ok" if self.good else "FAILED"
        return (*counts, "-" if self.seconds is None else f"{self.seconds:.1f}", result)


SERVERS = ("embedded", "real")
KINDS = ("crash", "lost", "unsent", "stale")
HEAD = ("crashes", "lost", "unsent", "stale", "s", "result")


def printed(lines: Sequence[Line]) -> Iterator[str]:
    """The scenarios, then what differs from the words of the origin."""
    servers = [name for name in SERVERS if any(line.server == name for line in lines)]
    rows = [
        (
            "",
            "case",
            "writes",
            *(f"{name}:" if n == 0 else "" for name in servers for n in range(6)),
        )
    ]
    head = [text for _ in servers for text in HEAD]
    rows.append(("", "", "", *head))
    by_row: dict[tuple[int, str], dict[str, Line]] = defaultdict(dict)
    for line in lines:
        by_row[line.number, line.case][line.server] = line
    for (number, case), found in sorted(by_row.items(), key=lambda row: row[0][0]):
        writes = max(len(line.writes) for line in found.values())
        cells = (found[s].cells() if s in found else ("",) * 6 for s in servers)
        rows.append((str(number), case, str(writes), *chain(*cells)))
    totals = (_total([line for line in lines if line.server == s]) for s in servers)
    rows.append(("", "all", "", *chain(*totals)))
    yield from _aligned(rows)
    yield from _beside("differs on purpose", OURS)
    yield from _beside("has no counterpart here", EXCLUDED)
    yield "events, theirs and ours: " + "; ".join(f"{old} = {new}" for old, new in EVENTS.items())


def _total(lines: Sequence[Line]) -> tuple[str, ...]:
    runs = Counter[str]()
    for line in lines:
        runs.update(line.runs)
    seconds = sum(line.seconds or 0 for line in lines)
    good = f"{sum(line.good for line in lines)} of {len(lines)} ok"
    return (*(str(runs[kind]) for kind in KINDS), f"{seconds:.0f}", good)


def _beside(title: str, new: dict[int, str]) -> Iterator[str]:
    for number in sorted(new):
        yield f"{number}. {UPSTREAM[number]}"
        yield f"    {title}: {new[number]}"


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if column == 1 or column % 6 == 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
