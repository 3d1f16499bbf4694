"""What one run of a scenario saw: its writes and events in order, and who is who in it.

A run has a mark, which is its namespace and stands in its names, so that runs never meet on one
API server. All that is told to people has marks and uids replaced by what they stand for.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .faults import Fault
from .kinds import BY_KIND, Kind, Place, place

Object = dict[str, Any]

VERBS = {"POST": " created", "DELETE": " deleted", "PUT": "", "PATCH": " patched"}
FLEETING = frozenset(
    [
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "managedFields",
        "lastTransitionTime",
        "allocationTimestamp",
    ]
)
"""Fields that differ from run to run, or from write to write."""


@dataclass(frozen=True)
class Known:
    """The newest write known of an object; version -1: it is gone."""

    uid: str
    version: int
    labels: Mapping[str, str]


@dataclass
class Record:
    """The run's memory; it outlives the processes that crash in it."""

    mark: str
    fault: Fault
    fired: bool = False
    crashed: bool = False
    writes: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    uids: dict[str, str] = field(default_factory=dict)
    known: dict[tuple[str, str], Known] = field(default_factory=dict)
    """By word and name."""
    latest: Counter[str] = field(default_factory=Counter)
    """Word → newest resourceVersion known."""

    def mine(self, obj: Object) -> bool:
        """Whether an object without a namespace belongs to this run."""
        meta, ref = obj["metadata"], obj.get("spec", {}).get("claimRef") or {}
        named = meta["name"].startswith(f"{self.mark}-") or ref.get("namespace") == self.mark
        return named or meta.get("uid") in self.uids

    def meets(self, kind: str, number: int) -> bool:
        """Whether the fault of this kind strikes at this write; it does so once."""
        strikes = (self.fault.kind, self.fault.at, self.fired) == (kind, number, False)
        self.fired |= strikes
        return strikes

    def done(self, method: str, path: str, body: Any, answer: Object) -> int:
        """Take down a write of the controllers; its number, from 1."""
        self.learn(place(path), method, answer)
        if place(path).kind.word == "event":
            self.events.append(self._said(body))
        self.writes.append(self.words(method, path, body))
        return len(self.writes)

    def words(self, method: str, path: str, body: Any) -> str:
        """A write in words: `device d1`, `claim train status`, `device d1 deleted`."""
        where = place(path)
        if where.kind.word == "event":
            return f"event {self._said(body)}"
        name = where.name or body["metadata"]["name"]
        sub = f" {where.subresource}" if where.subresource else ""
        return f"{where.kind.word} {self.plain(name)}{sub}{VERBS[method]}"

    def read(self, path: str) -> str:
        """A read of one object in words; empty for a list."""
        where = place(path)
        return f"{where.kind.word} {self.plain(where.name)} read" if where.name else ""

    def _said(self, body: Object) -> str:
        if "regarding" not in body:
            return "repeated"
        about = body["regarding"]
        who = f"{BY_KIND[about['kind']].word} {self.plain(about['name'])}"
        return f"{body['type']} {body['reason']} {who}"

    def learn(self, where: Place, method: str, answer: Object) -> None:
        """Remember how new the object is now, and whose uid it has."""
        meta = answer.get("metadata") or {}
        word, name = where.kind.word, where.name or meta["name"]
        if answer.get("kind") == "Status":
            if old := self.known.get((word, name)):
                self.known[word, name] = replace(old, version=-1)
            return
        version = int(meta["resourceVersion"])
        self.latest[word] = max(self.latest[word], version)
        self.name(where.kind, meta)
        kept = meta.get("finalizers") or meta.get("deletionGracePeriodSeconds")
        ended = (method == "DELETE" or meta.get("deletionTimestamp")) and not kept
        labels = meta.get("labels") or {}
        self.known[word, name] = Known(meta["uid"], -1 if ended else version, labels)

    def name(self, kind: Kind, meta: Object) -> None:
        """Give a uid the name that stands for it: `train`, and `train#2` for the next of it."""
        if meta["uid"] in self.uids:
            return
        label = self.plain(meta["name"])
        same = sum(old.split("#")[0] == label for old in self.uids.values())
        self.uids[meta["uid"]] = f"{label}#{same + 1}" if same else label

    def uid(self, label: str) -> str:
        """The uid that this name stands for."""
        return next(uid for uid, known in self.uids.items() if known == label)

    def filled(self, obj: Object) -> Object:
        """An object of a scenario with the run's mark and uids in their places."""
        text = re.sub(r'~(?=")', self.mark, json.dumps(obj)).replace("~", f"{self.mark}-")
        filled: Object = json.loads(re.sub(r"<([\w#-]+)>", lambda m: self.uid(m[1]), text))
        return filled

    def plain(self, text: str) -> str:
        """The text without marks, and with names for uids."""
        for uid, label in self.uids.items():
            text = text.replace(uid, f"<{label}>")
        return text.replace(f"{self.mark}-", "").replace(self.mark, "ns")

    def lasting(self, obj: Object) -> Object:
        """What of an object must be the same in every run."""
        lasting: Object = json.loads(self.plain(json.dumps(_without(obj))))
        meta = lasting["metadata"]
        meta["deleting"] = bool(meta.pop("deletionTimestamp", ""))
        if obj["kind"] == "ElasticGPUClaim":
            for condition in lasting.get("status", {}).get("conditions", []):
                condition.pop("message", None)  # may be up to half a minute old
        return lasting


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        own = {"uid"} if "resourceVersion" in value else set()
        kept = {k: _without(v) for k, v in value.items() if k not in FLEETING | own}
        return {k: v for k, v in kept.items() if v not in ("", [], {}, None)}
    return [_without(v) for v in value] if isinstance(value, list) else value
