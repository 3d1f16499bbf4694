"""What reaches out of the process, as the interpreter tells it: `place` must do nothing of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

OUTSIDE = ("open", "os.", "shutil.", "socket.", "subprocess.", "urllib.", "sqlite3.", "ctypes.")
"""Audit events of what reaches out of the process: see Python's audit events table."""


@contextmanager
def listening() -> Iterator[list[str]]:
    """What reaches out of this process meanwhile, by the interpreter's own audit events."""
    _hook()
    heard: list[str] = []
    _LISTENERS.append(heard)
    try:
        yield heard
    finally:
        _LISTENERS.pop()


_LISTENERS: list[list[str]] = []


@cache
def _hook() -> None:
    """Hear audit events from now on: a hook cannot be taken away again."""
    sys.addaudithook(_heard)


def _heard(event: str, arguments: tuple[object, ...]) -> None:
    if _LISTENERS and event.startswith(OUTSIDE):
        _LISTENERS[-1].append(f"{event}{arguments!r:.80}")
