"""Events have two faces, `v1` and `events.k8s.io/v1`, and one memory: that of `v1`."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_NAMES = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
)


def shown(body: Json) -> Json:
    """A stored event as `events.k8s.io/v1` has it."""
    return _renamed(body, dict(_NAMES))


def stored(body: Json) -> Json:
    """An event of `events.k8s.io/v1` as it is stored."""
    return _renamed(body, {new: core for core, new in _NAMES})


def _renamed(body: Json, names: dict[str, str]) -> Json:
    return {names.get(key, key): value for key, value in body.items()}
