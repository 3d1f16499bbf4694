"""The columns of Kubernetes' own kinds, where name and age are not enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .kinds import Column, Json


def _age(body: Json) -> Any:
    return body["metadata"].get("creationTimestamp")


def _last_seen(body: Json) -> Any:
    series = body.get("series") or {}
    return (
        series.get("lastObservedTime")
        or body.get("lastTimestamp")
        or body.get("deprecatedLastTimestamp")
        or body.get("eventTime")
        or _age(body)
    )


def _about(body: Json) -> str:
    ref = body.get("involvedObject") or body.get("regarding") or {}
    return f"{ref.get('kind', '').lower()}/{ref.get('name', '')}"


def _pod_status(body: Json) -> str:
    if "deletionTimestamp" in body["metadata"]:
        return "Terminating"
    status = body.get("status", {})
    return str(status.get("reason") or status.get("phase", ""))


def _pod_ready(body: Json) -> str:
    states = body.get("status", {}).get("containerStatuses", [])
    ready = sum(1 for one in states if one.get("ready"))
    return f"{ready}/{len(body.get('spec', {}).get('containers', []))}"


def _restarts(body: Json) -> str:
    states = body.get("status", {}).get("containerStatuses", [])
    return str(sum(one.get("restartCount", 0) for one in states))


def _node_status(body: Json) -> str:
    conditions = body.get("status", {}).get("conditions", [])
    ready = next((one["status"] for one in conditions if one["type"] == "Ready"), "Unknown")
    words = {"True": "Ready", "False": "NotReady"}.get(ready, "Unknown")
    return f"{words},SchedulingDisabled" if body.get("spec", {}).get("unschedulable") else words


def _roles(body: Json) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = body["metadata"].get("labels", {})
    return ",".join(sorted(k.removeprefix(prefix) for k in labels if k.startswith(prefix))) or "<none>"


_AGE = Column("Age", "date", _age)

PRINTERS: Mapping[str, tuple[Column, ...]] = {
    "Pod": (
        Column("Ready", "string", _pod_ready),
        Column("Status", "string", _pod_status),
        Column("Restarts", "string", _restarts),
        _AGE,
        Column("Node", "string", lambda b: b.get("spec", {}).get("nodeName", "<none>"), 1),
    ),
    "Node": (
        Column("Status", "string", _node_status),
        Column("Roles", "string", _roles),
        _AGE,
        Column(
            "Version",
            "string",
            lambda b: b.get("status", {}).get("nodeInfo", {}).get("kubeletVersion", ""),
        ),
    ),
    "Namespace": (
        Column("Status", "string", lambda b: b.get("status", {}).get("phase", "")),
        _AGE,
    ),
    "ConfigMap": (
        Column("Data", "integer", lambda b: len(b.get("data", {})) + len(b.get("binaryData", {}))),
        _AGE,
    ),
    "Lease": (
        Column("Holder", "string", lambda b: b.get("spec", {}).get("holderIdentity")),
        _AGE,
    ),
    "Event": (
        Column("Last Seen", "date", _last_seen),
        Column("Type", "string", lambda b: b.get("type")),
        Column("Reason", "string", lambda b: b.get("reason")),
        Column("Object", "string", _about),
        Column("Message", "string", lambda b: b.get("message") or b.get("note")),
    ),
    "CustomResourceDefinition": (
        Column("Created At", "date", _age),
    ),
}
