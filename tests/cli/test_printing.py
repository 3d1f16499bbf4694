"""How answers look: ages, amounts, tables, and what kubectl would make of them."""

from __future__ import annotations

import json

import click
import pytest
import yaml

from elasticgpu.cli.printing import age, memory, paragraph, structured, table

S, M, H, D = 1, 60, 3600, 86400
AGES = [
    (0, "0s"),
    (-5, "0s"),
    (119, "119s"),
    (2 * M, "2m"),
    (2 * M + 5, "2m5s"),
    (10 * M + 5, "10m"),
    (3 * H - 1, "179m"),
    (3 * H, "3h"),
    (3 * H + 5 * M, "3h5m"),
    (8 * H + 5 * M, "8h"),
    (47 * H, "47h"),
    (2 * D, "2d"),
    (2 * D + 3 * H, "2d3h"),
    (8 * D + 3 * H, "8d"),
    (729 * D, "729d"),
    (730 * D, "2y"),
    (2 * 365 * D + 9 * D, "2y9d"),
    (8 * 365 * D, "8y"),
    (30 * 365 * D, "30y"),
]


@pytest.mark.parametrize(("seconds", "said"), AGES)
def test_ages(seconds: int, said: str) -> None:
    """As kubectl writes them, the finer the shorter they are."""
    from datetime import UTC, datetime, timedelta

    since = datetime(2026, 1, 1, tzinfo=UTC)
    now = since + timedelta(seconds=seconds)
    assert age(since.isoformat(), now.isoformat()) == said


@pytest.mark.parametrize("since", ["", "yesterday", None])
def test_no_age(since: str) -> None:
    """What is no time has none."""
    assert age(since, "2026-01-01T00:00:00Z") == "<unknown>"


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0"),
        (1023, "1023"),
        (1024, "1Ki"),
        (1 << 30, "1Gi"),
        ((1 << 30) - 1, "1023.9Mi"),
        (1 << 40, "1Ti"),
        (-(3 << 29), "-1.5Gi"),
    ],
)
def test_memory(count: int, said: str) -> None:
    """Rounded down: nobody is promised what is not there."""
    assert memory(count) == said


ROWS = [("short", "a-name-that-is-rather-long", "5s"), ("", "b", "10s")]
TITLES = ("NAME", "DEVICE", "AGE")


def test_table() -> None:
    """Columns as wide as their widest cell; what is empty is a dash, or nothing."""
    assert list(table(TITLES, ROWS)) == [
        "NAME    DEVICE                       AGE",
        "short   a-name-that-is-rather-long   5s",
        "-       b                            10s",
    ]
    assert list(table(TITLES, ROWS, blank=""))[2] == "        b                            10s"


@pytest.mark.parametrize("columns", [40, 39, 30, 26, 5])
def test_a_table_fits_the_terminal(columns: int) -> None:
    """The widest column gives way, down to what can still be told apart."""
    lines = list(table(TITLES, ROWS, columns))
    assert max(map(len, lines)) == max(columns, 5 + 3 + 8 + 3 + 3) or columns == 40
    assert lines[2].split() == ["-", "b", "10s"]
    assert all("…" in line for line in lines[1:2]) is (columns < 40)


def test_colours_do_not_move_anything() -> None:
    """A phase is coloured, and as wide as it looks."""
    titles, rows = ("PHASE", "NAME"), [("Bound", "a"), ("Lost", "b")]
    coloured = list(table(titles, rows))
    assert click.style("Bound", fg="green") in coloured[1]
    assert [click.unstyle(line) for line in coloured] == ["PHASE   NAME", "Bound   a", "Lost    b"]


def test_paragraphs() -> None:
    """Wrapped for a terminal, whole for a program."""
    text = "one two three four five six seven eight nine ten eleven twelve"
    assert paragraph(text, "  ") == f"  {text}"
    lines = paragraph(text, "  ", 45).splitlines()
    assert len(lines) == 2
    assert all(line.startswith("  ") and len(line) <= 45 for line in lines)


BODY = {"b": ["1", "true", "2026-01-01T00:00:00Z", "ä", "x: y"], "a": {"n": 1, "none": None}}


def test_structured() -> None:
    """Sorted; what must be quoted in YAML is quoted as kubectl does it; nothing is lost."""
    assert json.loads(structured(BODY, "json")) == BODY
    text = structured(BODY, "yaml")
    assert yaml.safe_load(text) == BODY
    assert text.startswith('a:\n  n: 1\n  none: null\nb:\n- "1"\n- "true"\n')
