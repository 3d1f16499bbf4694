"""One run's corner of the API server, as the people in it see and change it."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from elasticgpu.cluster.client import MERGE_PATCH, Client
from elasticgpu.errors import NotFound
from tests import auditor

from .kinds import BY_KIND, BY_WORD, KINDS, Kind, place
from .objects import node
from .record import Record

Object = dict[str, Any]
Snapshot = dict[str, Object]
"""Every object of the run by word and name: `claim train`, `device d1`, …"""

SEEN = ("card", "claim", "device", "pod", "request", "template")
FOREIGN = "example.com/keep"
"""Finalizer of somebody else, by which an object being deleted stays."""


class World:
    """The namespace of a run, and what bears its mark outside of it."""

    def __init__(self, admin: Client, record: Record) -> None:
        self._admin = admin
        self._record = record

    async def begin(self, given: Sequence[Object]) -> None:
        """Make the namespace and all that is given, and a node for every card; claims before the
        devices that bear their uids."""
        await self._admin.raw(
            "POST", "/api/v1/namespaces", body={"metadata": {"name": self._record.mark}}
        )
        by_word = defaultdict(list)
        for obj in (*given, *_nodes(given)):
            by_word[BY_KIND[obj["kind"]].word].append(obj)
        for kind in KINDS:
            await asyncio.gather(*map(self.create, by_word[kind.word]))

    async def create(self, obj: Object) -> None:
        """Create an object with its status; one with a deletionTimestamp is then deleted."""
        obj = self._record.filled(obj)
        kind, meta = BY_KIND[obj["kind"]], obj["metadata"]
        leaves = meta.pop("deletionTimestamp", None) is not None
        if leaves and not meta.get("finalizers"):
            meta["finalizers"] = [FOREIGN]
        await self._send("POST", kind.path(self._record.mark), obj)
        if status := obj.get("status"):
            path = kind.path(self._record.mark, meta["name"], "status")
            await self._send("PATCH", path, {"status": status})
        if leaves:
            await self._send("DELETE", kind.path(self._record.mark, meta["name"]))

    async def edit(self, about: str, change: Object) -> None:
        """Merge a change into an object, its status apart."""
        body = self._record.filled(change)
        if rest := {key: value for key, value in body.items() if key != "status"}:
            await self._send("PATCH", self._path(about), rest)
        if "status" in body:
            await self._send("PATCH", self._path(about, "status"), {"status": body["status"]})

    async def delete(self, about: str) -> None:
        """Delete an object."""
        await self._send("DELETE", self._path(about))

    async def remove(self, about: str) -> None:
        """Delete an object whatever keeps it."""
        await self.edit(about, {"metadata": {"finalizers": None}})
        await self.delete(about)

    async def snapshot(self) -> Snapshot:
        """All there is now."""
        found: Snapshot = {}
        for kind, items in zip(SEEN, await asyncio.gather(*map(self._list, SEEN)), strict=True):
            for item in items:
                found[f"{kind} {self._record.plain(item['metadata']['name'])}"] = item
        return found

    async def end(self) -> None:
        """Remove what lies outside the namespace."""
        for word in ("device", "card", "class", "node"):
            names = [item["metadata"]["name"] for item in await self._list(word)]
            await asyncio.gather(*(self._drop(BY_WORD[word], name) for name in names))

    async def _drop(self, kind: Kind, name: str) -> None:
        path = kind.path("", name)
        with suppress(NotFound):
            await self._send("PATCH", path, {"metadata": {"finalizers": None}})
            await self._send("DELETE", path)

    async def _list(self, word: str) -> list[Object]:
        """As new as the newest write known; so the server need not ask etcd how far it is."""
        kind, version = BY_WORD[word], str(self._record.latest[word])
        fresh = {"resourceVersion": version, "resourceVersionMatch": "NotOlderThan"}
        path = kind.path(self._record.mark)
        found = (await self._admin.raw("GET", path, params=fresh))["items"]
        items = [{"kind": kind.kind, **item} for item in found]
        return items if kind.namespaced else [item for item in items if self._record.mine(item)]

    async def _send(self, method: str, path: str, body: Any = None) -> None:
        content = MERGE_PATCH if method == "PATCH" else "application/json"
        answer = await self._admin.raw(method, path, body=body, content_type=content)
        self._record.learn(place(path), method, answer)

    def _path(self, about: str, subresource: str = "") -> str:
        word, name = about.split()
        kind = BY_WORD[word]
        own = name if kind.namespaced else f"{self._record.mark}-{name}"
        return kind.path(self._record.mark, own, subresource)


def _nodes(given: Iterable[Object]) -> list[Object]:
    """Those on which the given cards are, as far as they are not given themselves."""
    homes = {obj["spec"]["nodeName"] for obj in given if obj["kind"] == "GPU"}
    there = {obj["metadata"]["name"] for obj in given if obj["kind"] == "Node"}
    return [node(home.removeprefix("~")) for home in sorted(homes - there)]


def audited(snapshot: Snapshot, nothing: Path) -> list[str]:
    """What the auditor says of it; `nothing` is an empty folder, for there is no node."""

    def read(path: str) -> list[Object]:
        word = next(kind.word for kind in KINDS if kind.path("") == path or path == _flat(kind))
        return [obj for name, obj in snapshot.items() if name.split()[0] == word]

    return auditor.audit(read, nothing)


def _flat(kind: Kind) -> str:
    return f"{kind.root}/{kind.plural}"


def summary(snapshot: Snapshot, record: Record) -> dict[str, str]:
    """Claims and devices in one line each."""
    lines = {"claim": _claim, "device": _device}
    return {
        name: " ".join(filter(None, lines[name.split()[0]](record.lasting(obj))))
        for name, obj in snapshot.items()
        if name.split()[0] in lines
    }


def _claim(claim: Object) -> list[str]:
    spec, status = claim["spec"], claim.get("status", {})
    phase = status.get("phase", "")
    return [
        phase or "new",
        spec.get("elasticGPUName", ""),
        *_marks(claim),
        *(f"with {row['podName']}" for row in status.get("users", [])),
        "" if phase == "Bound" else _reason(status),
    ]


def _device(device: Object) -> list[str]:
    ref, status = device["spec"].get("claimRef") or {}, device.get("status", {})
    uid = ref.get("uid", "")
    owner = (uid.strip("<>") if "<" in uid else f"{ref['name']}-gone") if uid else ""
    return [
        status.get("phase", "") or "new",
        owner or (f"for {ref['name']}" if ref else ""),
        *_marks(device),
        status.get("reason", ""),
    ]


def _marks(obj: Object) -> list[str]:
    notes = obj["metadata"].get("annotations", {})
    marks = {
        "completed": "elasticgpu.io/bind-completed" in notes,
        "by-controller": "elasticgpu.io/bound-by-controller" in notes,
        "provisioned": "elasticgpu.io/provisioned-by" in notes,
        "deleting": obj["metadata"].get("deleting"),
    }
    return [mark for mark, on in marks.items() if on]


def _reason(status: Object) -> str:
    found = [c for c in status.get("conditions", []) if c["type"] == "Bound"]
    return str(found[0].get("reason", "")) if found else ""


def difference(have: Any, want: Any, at: str = "") -> list[str]:
    """What differs between two values, a place a line."""
    if have == want:
        return []
    if isinstance(have, dict) and isinstance(want, dict):
        keys = sorted({*have, *want})
        inner = (difference(have.get(k), want.get(k), f"{at} {k}".strip()) for k in keys)
        return [line for lines in inner for line in lines]
    return [f"{at}: {_short(have)}, not {_short(want)}"]


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) < 200 else f"{text[:200]}..."
