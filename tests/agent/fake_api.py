"""The API server's side of the calls the agent makes: compare-and-swap, subresources, finalizers.

`fate` is called before and after everything that has an effect; it may raise, which stands for an
answer that never came (before: not done, after: done), or change the world in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from copy import deepcopy
from itertools import count
from typing import Any, TypeVar

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.api.meta import Key, KubeObject
from elasticgpu.errors import AlreadyExists, Conflict, Invalid, NotFound

T = TypeVar("T", bound=KubeObject)
Json = dict[str, Any]
Fate = Callable[[str], None]
"""Called with `<before|after> <verb> <Kind>[/<subresource>] <name>`."""


class FakeApi:
    """Objects by kind and key, as JSON."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, Key], Json] = {}
        self.fate: Fate = lambda _: None
        self.writes: list[str] = []
        """`<verb> <Kind>[/<subresource>] <name>` of every write that was carried out."""
        self._versions = count(1)
        self._owned: dict[tuple[Key, str], set[str]] = {}

    # What a test does, unseen by `fate`.

    def add(self, obj: T) -> T:
        """Put an object there, under a uid of its own if it has none."""
        body = obj.wire()
        body["metadata"].setdefault("uid", f"uid-of-{obj.name}")
        self.objects[(obj.resource.kind, obj.key)] = body
        return self._stored(type(obj), obj.key)

    def see(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        """The object as it is, or None."""
        body = self.objects.get((kind.resource.kind, (namespace, name)))
        return kind.model_validate(deepcopy(body)) if body else None

    def set(self, obj: KubeObject) -> None:
        """Write an object over what is there, as somebody else does."""
        self.objects[(obj.resource.kind, obj.key)] = obj.wire()
        self._stored(type(obj), obj.key)

    def remove(self, obj: KubeObject) -> None:
        """Make an object be gone, finalizers or not."""
        del self.objects[(obj.resource.kind, obj.key)]

    # What the agent does.

    async def get(self, kind: type[T], key: Key) -> T:
        self.fate(f"before get {kind.resource.kind} {key[1]}")
        await asyncio.sleep(0)
        found = kind.model_validate(deepcopy(self._there(kind, key)))
        await asyncio.sleep(0)  # the answer travels, and may be old when it arrives
        return found

    async def list(self, kind: type[T], *, field_selector: str = "") -> AsyncIterator[T]:
        self.fate(f"before list {kind.resource.kind} {field_selector}")
        path, _, node = field_selector.partition("=")
        assert path == "spec.nodeName"
        assert kind in (GPU, ElasticGPU)
        for (name, _), body in list(self.objects.items()):
            if name == kind.resource.kind and body["spec"].get("nodeName") == node:
                await asyncio.sleep(0)
                yield kind.model_validate(deepcopy(body))

    async def create(self, obj: T) -> T:
        call = f"create {obj.resource.kind} {obj.name}"
        self.fate(f"before {call}")
        if (obj.resource.kind, obj.key) in self.objects:
            raise AlreadyExists(409, "AlreadyExists", f"{obj.name} exists")
        new = self.add(obj)
        self._done(call)
        return new

    async def replace(self, obj: T, subresource: str = "") -> T:
        call = f"replace {obj.resource.kind}{subresource and '/'}{subresource} {obj.name}"
        self.fate(f"before {call}")
        await asyncio.sleep(0)
        old = self._there(type(obj), obj.key)
        if obj.metadata.resource_version != old["metadata"]["resourceVersion"]:
            raise Conflict(409, "Conflict", f"{obj.name} has been modified")
        self._swap(type(obj), old, obj.wire(), subresource)
        self._done(call)
        new = self.see(type(obj), obj.name, obj.namespace) or obj
        await asyncio.sleep(0)
        return new

    async def apply(
        self, kind: type[T], key: Key, body: Json, *, manager: str, subresource: str = ""
    ) -> T:
        call = f"apply {kind.resource.kind}/{subresource} {key[1]}"
        self.fate(f"before {call}")
        assert subresource == "status"
        stored = self._there(kind, key)
        status = stored.setdefault("status", {})
        for name in self._owned.get((key, manager), set()) - set(body["status"]):
            status.pop(name, None)
        status.update(deepcopy(body["status"]))
        self._owned[(key, manager)] = set(body["status"])
        self._done(call)
        return self._stored(kind, key)

    def _there(self, kind: type[KubeObject], key: Key) -> Json:
        body = self.objects.get((kind.resource.kind, key))
        if body is None:
            raise NotFound(404, "NotFound", f"{kind.resource.plural} {key[1]!r} not found")
        return body

    def _swap(self, kind: type[KubeObject], old: Json, new: Json, subresource: str) -> None:
        """The part of `new` that this endpoint takes, in place of `old`."""
        meta, before = new["metadata"], old["metadata"]
        if subresource == "status":
            old["status"] = new.get("status", {})
        else:
            added = set(meta.get("finalizers", [])) - set(before.get("finalizers", []))
            if before.get("deletionTimestamp") and added:
                raise Invalid(422, "Invalid", "no new finalizers while being deleted")
            assert new["spec"] == old["spec"], "an agent may not change a spec"
            before["finalizers"] = meta.get("finalizers", [])
            before["ownerReferences"] = meta.get("ownerReferences", [])
        key = (before.get("namespace", ""), before["name"])
        if before.get("deletionTimestamp") and not before["finalizers"]:
            del self.objects[(kind.resource.kind, key)]
        else:
            self._stored(kind, key)

    def _stored(self, kind: type[T], key: Key) -> T:
        body = self._there(kind, key)
        body["metadata"]["resourceVersion"] = str(next(self._versions))
        return kind.model_validate(deepcopy(body))

    def _done(self, call: str) -> None:
        self.writes.append(call)
        self.fate(f"after {call}")
