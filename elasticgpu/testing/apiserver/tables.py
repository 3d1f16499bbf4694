"""Tables: what `kubectl get` prints is the server's to say."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from .kinds import Column, Json, Kind
from .printers import AGE, NAME, PRINTERS
from .store import Entry


class Printer:
    """Turns objects of a kind into rows; `now` is when they are looked at."""

    def __init__(self, kind: Kind, include: str, now: datetime) -> None:
        self._kind = kind
        self._include = include or "Metadata"
        self._now = now
        built_in = PRINTERS.get(kind.resource.kind, (NAME, AGE))
        self._columns = built_in if kind.columns is None else (NAME, *kind.columns)

    def table(self, entries: list[Entry], metadata: Json) -> Json:
        """The Table of these objects."""
        return {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "columnDefinitions": [_definition(column) for column in self._columns],
            "rows": [self.row(entry) for entry in entries],
        }

    def row(self, entry: Entry) -> Json:
        """One object as a row."""
        body = self._kind.view(entry.body) if self._kind.view else entry.body
        cells = [self._cell(column, body) for column in self._columns]
        return {"cells": cells, "object": self._object(entry)}

    def _cell(self, column: Column, body: Json) -> Any:
        value = column.read(body)
        if column.type == "age" or (column.type == "date" and self._kind.custom):
            return age(value, self._now)
        if column.type == "string" and isinstance(value, bool):
            return str(value).lower()
        if column.type == "string" and self._kind.custom and value is not None:
            return str(value)
        return value

    def _object(self, entry: Entry) -> Any:
        if self._include == "Object":
            return self._kind.shown(entry)
        if self._include == "None":
            return None
        head = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
        return {**head, "metadata": entry.body["metadata"]}


def _definition(column: Column) -> Json:
    return {
        "name": column.name,
        "type": "string" if column.type == "age" else column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def age(since: Any, now: datetime) -> str:
    """How long ago, as kubectl writes it.

    >>> age("2026-01-01T00:00:00Z", datetime.fromisoformat("2026-01-01T00:02:05Z"))
    '2m5s'
    """
    if not since:
        return "<unknown>"
    seconds = int((now - datetime.fromisoformat(since)).total_seconds())
    return duration(max(0, seconds))


def duration(seconds: int) -> str:
    """A duration in two units at most.

    >>> [duration(n) for n in (5, 125, 900, 3 * 3600 + 60, 50 * 3600, 10 * 86400)]
    ['5s', '2m5s', '15m', '3h1m', '2d2h', '10d']
    """
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    return f"{days}d" if days < 730 else f"{days // 365}y"


def _two(large: int, unit: str, small: int, below: str) -> str:
    return f"{large}{unit}{small}{below}" if small else f"{large}{unit}"
