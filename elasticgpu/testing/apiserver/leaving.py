"""Deletion: preconditions, grace, finalizers, and what becomes of dependents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from .kinds import Kind
from .life import stamp, terminating
from .refusal import bad_options, conflict

Json = dict[str, Any]

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_GRACE = 30
_POLICIES = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class Options:
    """`DeleteOptions`, from body or query."""

    uid: str = ""
    version: str = ""
    grace: int | None = None
    policy: str = ""
    dry: bool = False

    @classmethod
    def read(cls, body: Any, query: dict[str, str]) -> Options:
        """The options of a request; raises Refusal."""
        given = body if isinstance(body, dict) else {}
        conditions = given.get("preconditions") or {}
        grace = given.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
        policy = given.get("propagationPolicy") or query.get("propagationPolicy", "")
        if given.get("orphanDependents", query.get("orphanDependents") == "true"):
            policy = policy or "Orphan"
        if policy not in ("", *_POLICIES):
            known = ", ".join(f'"{one}"' for one in (*_POLICIES, "nil"))
            text = f'Unsupported value: "{policy}": supported values: {known}'
            raise bad_options("DeleteOptions", "propagationPolicy", text)
        dry = bool(given.get("dryRun") or query.get("dryRun"))
        return cls(
            conditions.get("uid") or "",
            conditions.get("resourceVersion") or "",
            None if grace is None else int(grace),
            policy,
            dry,
        )


def expected(kind: Kind, options: Options, old: Json) -> None:
    """Raise Refusal if the one who deletes had another object in mind."""
    meta = old["metadata"]
    what = replace(kind.resource, plural=kind.resource.kind)
    for title, wanted, found, guess in (
        ("UID", options.uid, meta["uid"], "deleted and then recreated"),
        ("ResourceVersion", options.version, meta["resourceVersion"], "modified"),
    ):
        if wanted and wanted != found:
            why = (
                f"the {title} in the precondition ({wanted}) does not match the {title} in record "
                f"({found}). The object might have been {guess}"
            )
            raise conflict(what, meta["name"], why)


def marked(kind: Kind, options: Options, old: Json, now: datetime) -> Json:
    """The object once its deletion is asked for."""
    keepers = _keepers(options, old["metadata"].get("finalizers", []))
    if kind.farewell and not terminating(old):
        keepers = [*keepers, kind.farewell]
    grace = _grace(options, old) if kind.graceful else 0
    meta: Json = {**old["metadata"], "finalizers": keepers}
    if not keepers:
        del meta["finalizers"]
    if not terminating(old):
        meta["deletionTimestamp"] = stamp(now + timedelta(seconds=grace))
        if kind.grace_shown:
            meta["deletionGracePeriodSeconds"] = grace
        if kind.grace_shown and "generation" in meta:
            meta["generation"] += 1
    elif grace < meta.get("deletionGracePeriodSeconds", 0):
        meta["deletionTimestamp"] = stamp(now + timedelta(seconds=grace))
        meta["deletionGracePeriodSeconds"] = grace
    return {**old, "metadata": meta}


def released(kind: Kind, body: Json) -> bool:
    """Whether an object that is being deleted has nothing left that keeps it."""
    meta = body["metadata"]
    if not terminating(body) or meta.get("finalizers") or kind.waits(body):
        return False
    return not (kind.graceful and meta.get("deletionGracePeriodSeconds"))


def _keepers(options: Options, finalizers: list[str]) -> list[str]:
    wanted = {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(options.policy)
    if not options.policy:
        return finalizers
    rest = [name for name in finalizers if name not in (ORPHAN, FOREGROUND)]
    return [*rest, wanted] if wanted else rest


def _grace(options: Options, pod: Json) -> int:
    """Seconds a pod has to end: none if it never began or has ended."""
    spec, phase = pod.get("spec", {}), pod.get("status", {}).get("phase")
    if not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    if options.grace is not None:
        return options.grace
    if terminating(pod):
        return int(pod["metadata"].get("deletionGracePeriodSeconds", 0))
    return int(spec.get("terminationGracePeriodSeconds", _GRACE))
