"""Which faults are drawn for the real API server."""

from __future__ import annotations

from collections.abc import Sequence

from .faults import Fault
from .sample import STRIKES, kind_of, sampled
from .scenario import Scenario
from .themes import SCENARIOS, THEMES
from .trial import STALE, every_fault


def writes_of(row: Scenario) -> list[str]:
    return [write for chain in row.chains for write in chain]


def drawn(rows: Sequence[Scenario]) -> list[tuple[str, str]]:
    """Fault and kind of write, or the kinds that are held back."""
    found = list[tuple[str, str]]()
    for row in rows:
        writes = writes_of(row)
        for fault in sampled(row, writes):
            where = kind_of(writes[fault.at - 1]) if fault.at else str(sorted(fault.held))
            found.append((fault.kind, where))
    return found


def test_every_theme_has_every_fault_at_every_kind_of_write_once() -> None:
    for theme in THEMES:
        rows = [row for row in theme.SCENARIOS if not row.only]
        kinds = {kind_of(write) for row in rows for write in writes_of(row)}
        want: list[tuple[str, str]] = [(strike, kind) for strike in STRIKES for kind in kinds]
        want += [("stale", str(sorted(held))) for held in STALE]
        assert sorted(drawn(theme.SCENARIOS)) == sorted(want)


def test_what_is_drawn_is_among_all_faults() -> None:
    """So the embedded server has seen it."""

    def tried(row: Scenario) -> set[Fault]:
        return set(every_fault(row, writes_of(row)))

    assert all(set(sampled(row, writes_of(row))) <= tried(row) for row in SCENARIOS)


def test_it_is_a_sample() -> None:
    everything = sum(len(list(every_fault(row, writes_of(row)))) for row in SCENARIOS)
    assert 0.05 < len(drawn(SCENARIOS)) / everything < 0.25
