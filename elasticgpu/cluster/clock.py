"""The wall clock as Kubernetes writes it. The only place of the library that asks for the date."""

from __future__ import annotations

from datetime import UTC, datetime


def timestamp() -> str:
    """Now, in UTC, to the second: `2026-11-20T10:00:00Z` (metav1.Time)."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def microtime() -> str:
    """Now, in UTC, to the microsecond: `2026-11-20T10:00:00.000000Z` (metav1.MicroTime)."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
