"""What is done to a pod by creating something below it: `binding` and `eviction`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from elasticgpu.api.meta import Key

from .kinds import Json, Kind
from .leaving import Options
from .life import stamp, terminating
from .refusal import Refusal, bad_request, conflict

SUCCESS: Json = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}
_BUDGETS = "policy/poddisruptionbudgets"


def bind(objects: Any, kind: Kind, key: Key, body: Json) -> Json:
    """Put the pod on the node, once."""
    pod = objects.get(kind, key).body
    what, name = replace(kind.resource, plural="pods/binding"), key[1]
    node = (body.get("target") or {}).get("name")
    if not node:
        raise bad_request("target.name: Required value")
    if terminating(pod):
        raise conflict(what, name, f"pod {name} is being deleted, cannot be assigned to a host")
    if there := pod["spec"].get("nodeName"):
        raise conflict(what, name, f'pod {name} is already assigned to node "{there}"')
    fact = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
    fact["lastTransitionTime"] = stamp(objects.now())
    status = pod.get("status", {})
    others = [one for one in status.get("conditions", []) if one["type"] != "PodScheduled"]
    meta = {**pod["metadata"]}
    if notes := (body.get("metadata") or {}).get("annotations"):
        meta["annotations"] = {**meta.get("annotations", {}), **notes}
    objects.amend(
        kind,
        key,
        {
            **pod,
            "metadata": meta,
            "spec": {**pod["spec"], "nodeName": node},
            "status": {**status, "conditions": [*others, fact]},
        },
    )
    return SUCCESS


def evict(objects: Any, kind: Kind, key: Key, body: Json) -> Json:
    """Delete the pod, if every disruption budget it falls under lets it go."""
    pod = objects.get(kind, key).body
    for budget in _budgets(objects, key[0], pod):
        if _healthy(pod) and _allowed(objects, kind, budget) <= 0:
            raise _too_many(budget)
    objects.delete(kind, key, Options.read(body.get("deleteOptions"), {}))
    return SUCCESS


def _too_many(budget: Json) -> Refusal:
    name = budget["metadata"]["name"]
    cause = {
        "reason": "DisruptionBudget",
        "message": f"The disruption budget {name} does not allow another disruption",
    }
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    return Refusal(429, "TooManyRequests", message, {"causes": [cause]})


def _budgets(objects: Any, namespace: str, pod: Json) -> list[Json]:
    entries = objects.store.table(_BUDGETS).entries
    bodies = [entry.body for key, entry in entries.items() if key[0] == namespace]
    return [body for body in bodies if _covers(body, pod)]


def _covers(budget: Json, pod: Json) -> bool:
    selector = budget.get("spec", {}).get("selector") or {}
    labels = pod["metadata"].get("labels", {})
    wanted = selector.get("matchLabels", {})
    return bool(wanted) and all(labels.get(name) == value for name, value in wanted.items())


def _allowed(objects: Any, kind: Kind, budget: Json) -> int:
    """How many pods may go now: what the disruption controller of a cluster would write."""
    namespace = budget["metadata"]["namespace"]
    entries = objects.store.table(kind.table).entries.items()
    pods = [entry.body for key, entry in entries if key[0] == namespace]
    pods = [pod for pod in pods if _covers(budget, pod)]
    healthy = sum(1 for pod in pods if _healthy(pod))
    spec = budget.get("spec", {})
    if "maxUnavailable" in spec:
        least = len(pods) - _share(spec["maxUnavailable"], len(pods))
    else:
        least = _share(spec.get("minAvailable", 1), len(pods))
    return healthy - least


def _share(value: Any, of: int) -> int:
    text = str(value)
    return -(-of * int(text[:-1]) // 100) if text.endswith("%") else int(text)


def _healthy(pod: Json) -> bool:
    facts = {one["type"]: one["status"] for one in pod.get("status", {}).get("conditions", [])}
    return facts.get("Ready") == "True" and not terminating(pod)
