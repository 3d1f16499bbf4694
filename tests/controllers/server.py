"""An API server in memory, below the library's own client: compare-and-swap, finalizers, watches.

It knows what the controllers rely on and no more: versions and generations, the status
subresource, preconditions of deletes, objects that finalizers keep. Schemas it does not know.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from elasticgpu.api.meta import KubeObject
from elasticgpu.cluster.client import Client
from elasticgpu.errors import AlreadyExists, ApiError, Conflict, Invalid, NotFound, Unavailable

Json = dict[str, Any]
T = TypeVar("T", bound=KubeObject)
NOW = "2026-01-01T00:00:00Z"


class Place(NamedTuple):
    """What a path names."""

    plural: str
    namespace: str
    name: str
    subresource: str


def place(path: str) -> Place:
    """Of `/apis/<group>/<version>[/namespaces/<namespace>]/<plural>[/<name>[/<subresource>]]`."""
    parts = path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    namespace = ""
    if rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource, *_ = [*rest, "", ""]
    return Place(plural, namespace, name, subresource)


Fate = Callable[[str, Json | None], None]
"""Called with `<before|after> <verb> <plural>[/<subresource>] <name>` and the body; may raise."""


@dataclass
class Server:
    """Objects by kind and key, every change of them in order, and what was written."""

    objects: dict[tuple[str, str, str], Json] = field(default_factory=dict)
    changes: list[tuple[int, str, str, Json]] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    fate: Fate = lambda call, body: None
    version: int = 100

    # What people do.

    def add(self, obj: T) -> T:
        """Put an object there, status and all."""
        body = obj.wire()
        return type(obj).model_validate(self._create(_home(obj), body, keep_status=True))

    def see(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        """The object as it is."""
        body = self.objects.get((kind.resource.plural, namespace, name))
        return kind.model_validate(deepcopy(body)) if body else None

    def all(self, kind: type[T]) -> list[T]:
        """All objects of a kind."""
        plural = kind.resource.plural
        found = [deepcopy(body) for key, body in self.objects.items() if key[0] == plural]
        return [kind.model_validate(body) for body in found]

    def put(self, obj: KubeObject, subresource: str = "") -> None:
        """Write an object over what is there, whatever its version."""
        at = Place(obj.resource.plural, obj.namespace, obj.name, subresource)
        self._replace(
            at, {**obj.wire(), "metadata": {**obj.metadata.wire(), "resourceVersion": ""}}
        )

    def delete(self, kind: type[KubeObject], name: str, namespace: str = "") -> None:
        """Delete an object; its finalizers keep it."""
        self._delete(Place(kind.resource.plural, namespace, name, ""), {})

    # What the client asks for.

    def write(self, method: str, path: str, body: Json | None) -> Json:
        """One write, between the two moments at which `fate` may strike."""
        at = place(path)
        verb = {"POST": "create", "PUT": "replace", "PATCH": "patch", "DELETE": "delete"}[method]
        name = at.name or (body or {})["metadata"]["name"]
        call = f"{verb} {at.plural}{at.subresource and '/' + at.subresource} {name}"
        self.fate(f"before {call}", body)
        answer = self._act(method, at, deepcopy(body or {}))
        self.writes.append(call)
        self.fate(f"after {call}", body)
        return deepcopy(answer)

    def read(self, path: str, params: Mapping[str, str] | None = None) -> Json:
        """One object, or all of a kind; of selectors it knows a label's and a pod's node's."""
        at, wanted = place(path), params or {}
        if at.name:
            return deepcopy(self._there(at))
        items = [
            body
            for (plural, namespace, _), body in self.objects.items()
            if plural == at.plural and at.namespace in ("", namespace) and _selected(body, wanted)
        ]
        return {"items": deepcopy(items), "metadata": {"resourceVersion": str(self.version)}}

    def _act(self, method: str, at: Place, body: Json) -> Json:
        match method:
            case "POST":
                return self._create(at, body)
            case "PUT":
                return self._replace(at, body)
            case "PATCH":
                there = deepcopy(self._there(at))
                status = {**there.get("status", {}), **body.get("status", {})}
                return self._replace(at, {**there, **body, "status": status, "metadata": {}})
            case _:
                return self._delete(at, body.get("preconditions", {}))

    def _there(self, at: Place) -> Json:
        body = self.objects.get((at.plural, at.namespace, at.name))
        if body is None:
            raise NotFound(404, "NotFound", f"{at.plural} {at.name} not found")
        return body

    def _create(self, at: Place, body: Json, *, keep_status: bool = False) -> Json:
        meta = body["metadata"]
        key = (at.plural, at.namespace, meta["name"])
        if key in self.objects:
            raise AlreadyExists(409, "AlreadyExists", f"{at.plural} {meta['name']} already exists")
        meta.setdefault("uid", f"{self.version + 1}")
        meta |= {"creationTimestamp": NOW, "generation": 1}
        if not keep_status:
            body.pop("status", None)
        return self._store(key, body, "ADDED")

    def _replace(self, at: Place, body: Json) -> Json:
        old = self._there(at)
        meta, before = body["metadata"], old["metadata"]
        if meta.get("resourceVersion") not in (None, "", before["resourceVersion"]):
            raise Conflict(409, "Conflict", f"{at.name}: the object has been modified")
        if at.subresource == "status":
            new = {**old, "status": body.get("status", {})}
        else:
            kept = {k: before[k] for k in ("uid", "creationTimestamp", "generation", "name")}
            kept |= {k: before[k] for k in ("namespace", "deletionTimestamp") if k in before}
            new = {**body, "metadata": {**meta, **kept}, "status": old.get("status", {})}
            added = set(meta.get("finalizers", [])) - set(before.get("finalizers", []))
            if added and "deletionTimestamp" in before:
                raise Invalid(422, "Invalid", "no new finalizers can be added while being deleted")
            new["metadata"]["generation"] += new.get("spec") != old.get("spec")
        return self._kept((at.plural, at.namespace, at.name), new)

    def _delete(self, at: Place, conditions: Json) -> Json:
        old = deepcopy(self._there(at))
        for name, value in conditions.items():
            if old["metadata"][name] != value:
                raise Conflict(409, "Conflict", f"the {name} in the precondition does not match")
        old["metadata"].setdefault("deletionTimestamp", NOW)
        return self._kept((at.plural, at.namespace, at.name), old)

    def _kept(self, key: tuple[str, str, str], body: Json) -> Json:
        """Store it; one that is being deleted is gone once nothing keeps it."""
        meta = body["metadata"]
        if "deletionTimestamp" in meta and not meta.get("finalizers"):
            del self.objects[key]
            return self._store(key, body, "DELETED")
        return self._store(key, body, "MODIFIED")

    def _store(self, key: tuple[str, str, str], body: Json, change: str) -> Json:
        body = _pruned(body)
        self.version += 1
        body["metadata"]["resourceVersion"] = str(self.version)
        if change != "DELETED":
            self.objects[key] = body
        self.changes.append((self.version, key[0], change, deepcopy(body)))
        return body


def _selected(body: Json, wanted: Mapping[str, str]) -> bool:
    label, _, value = wanted.get("labelSelector", "").partition("=")
    _, _, node = wanted.get("fieldSelector", "").partition("spec.nodeName=")
    labels = body["metadata"].get("labels", {})
    return (not label or labels.get(label) == value) and (
        not node or body.get("spec", {}).get("nodeName") == node
    )


def _home(obj: KubeObject) -> Place:
    return Place(obj.resource.plural, obj.namespace, "", "")


def _pruned(body: Any) -> Any:
    """Without nulls, as the API server stores it."""
    if isinstance(body, dict):
        return {key: _pruned(value) for key, value in body.items() if value is not None}
    return [_pruned(value) for value in body] if isinstance(body, list) else body


class MemoryClient(Client):
    """The library's client, whose transport is a `Server`; `dead` once its process is gone."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.dead = False
        self.until: int | None = None
        """The version up to which watches tell what happens; None for all of it."""

    def __repr__(self) -> str:
        return "MemoryClient"

    async def close(self) -> None:
        """Nothing to close."""

    async def raw(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "",
        attempts: int = 1,
    ) -> Json:
        """One request; nothing of a dead process reaches the server."""
        await asyncio.sleep(0)
        if self.dead:
            await asyncio.Event().wait()
        if method == "GET":
            return self.server.read(path, params)
        try:
            return self.server.write(method, path, body)
        except Crash:
            self.dead = True
            await asyncio.Event().wait()
            raise

    async def stream(
        self, path: str, *, params: Mapping[str, str] | None = None, seconds: int = 300
    ) -> AsyncGenerator[tuple[str, Json], None]:
        """The changes since a version, for ever; lists are not streamed."""
        if "sendInitialEvents" in (params or {}):
            raise Invalid(400, "BadRequest", "sendInitialEvents is not known")
        seen, plural = int((params or {})["resourceVersion"]), place(path).plural
        while True:
            for version, kind, change, body in self.server.changes:
                told = not self.dead and version <= (self.until or version)
                if version > seen and kind == plural and told:
                    yield change, deepcopy(body)
                    seen = version
            await asyncio.sleep(0.001)


class Crash(Exception):
    """The write was done, and the process that sent it is gone."""


def no_answer(message: str = "no answer") -> ApiError:
    """Nobody knows whether it was done."""
    return Unavailable(0, "NoAnswer", message)
