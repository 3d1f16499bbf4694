"""The columns of Kubernetes' own kinds, where name and age are not enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .kinds import Column, Json


def _text(name: str, read: Callable[[Json], Any], *, wide: bool = False) -> Column:
    return Column(name, "string", read, int(wide))


def created(body: Json) -> Any:
    """When the object was created."""
    return body["metadata"].get("creationTimestamp")


NAME = Column("Name", "string", lambda body: body["metadata"]["name"], format="name")
AGE = Column("Age", "age", created)


def _of(section: str, name: str, default: str = "<none>") -> Callable[[Json], Any]:
    return lambda body: body.get(section, {}).get(name) or default


def _last_seen(body: Json) -> Any:
    series = body.get("series") or {}
    return (
        series.get("lastObservedTime")
        or body.get("lastTimestamp")
        or body.get("deprecatedLastTimestamp")
        or body.get("eventTime")
        or created(body)
    )


def _first_seen(body: Json) -> Any:
    stamp = body.get("firstTimestamp") or body.get("deprecatedFirstTimestamp")
    return stamp or body.get("eventTime") or created(body)


def _ref(body: Json) -> Json:
    return body.get("involvedObject") or body.get("regarding") or {}


def _about(body: Json) -> str:
    return f"{_ref(body).get('kind', '').lower()}/{_ref(body).get('name', '')}"


def _source(body: Json) -> str:
    source = body.get("source") or body.get("deprecatedSource") or {}
    who = [source.get("component"), source.get("host")]
    if not any(who):
        controller = body.get("reportingComponent") or body.get("reportingController")
        who = [controller, body.get("reportingInstance")]
    return ", ".join(filter(None, who))


def _count(body: Json) -> int:
    series = body.get("series") or {}
    return int(series.get("count") or body.get("count") or body.get("deprecatedCount") or 1)


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
    roles = sorted(name.removeprefix(prefix) for name in labels if name.startswith(prefix))
    return ",".join(roles) or "<none>"


def _claim_state(body: Json) -> str:
    status = body.get("status", {})
    states = ["allocated"] if status.get("allocation") else []
    states += ["reserved"] if status.get("reservedFor") else []
    states += ["deleted"] if "deletionTimestamp" in body["metadata"] else []
    return ",".join(states) or "pending"


def _keys(*names: str) -> Callable[[Json], int]:
    return lambda body: sum(len(body.get(name) or {}) for name in names)


PRINTERS: Mapping[str, tuple[Column, ...]] = {
    "Pod": (
        NAME,
        _text("Ready", _pod_ready),
        _text("Status", _pod_status),
        _text("Restarts", _restarts),
        AGE,
        _text("IP", _of("status", "podIP"), wide=True),
        _text("Node", _of("spec", "nodeName"), wide=True),
        _text("Nominated Node", _of("status", "nominatedNodeName"), wide=True),
    ),
    "Node": (
        NAME,
        _text("Status", _node_status),
        _text("Roles", _roles),
        AGE,
        _text(
            "Version",
            lambda b: (
                _of("status", "nodeInfo", "")(b)
                and b["status"]["nodeInfo"].get("kubeletVersion", "")
            ),
        ),
    ),
    "Namespace": (NAME, _text("Status", _of("status", "phase", "")), AGE),
    "ConfigMap": (NAME, _text("Data", _keys("data", "binaryData")), AGE),
    "Secret": (
        NAME,
        _text("Type", lambda b: b.get("type", "Opaque")),
        _text("Data", _keys("data")),
        AGE,
    ),
    "Lease": (NAME, _text("Holder", _of("spec", "holderIdentity", "")), AGE),
    "ResourceClaim": (NAME, _text("State", _claim_state), AGE),
    "Event": (
        Column("Last Seen", "age", _last_seen),
        _text("Type", lambda b: b.get("type")),
        _text("Reason", lambda b: b.get("reason")),
        _text("Object", _about),
        _text("Subobject", lambda b: _ref(b).get("fieldPath", ""), wide=True),
        _text("Source", _source, wide=True),
        _text("Message", lambda b: (b.get("message") or b.get("note") or "").strip()),
        Column("First Seen", "age", _first_seen, 1),
        Column("Count", "string", _count, 1),
        NAME._replace(priority=1),
    ),
    "CustomResourceDefinition": (NAME, Column("Created At", "date", created)),
}
