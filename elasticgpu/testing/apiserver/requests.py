"""What a request asks for: read from its method, path and query."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from elasticgpu.api.meta import Key
from elasticgpu.cluster.transport import dumps

from .kinds import Kind, Registry
from .refusal import Refusal, no_such_path
from .users import ADMIN, User

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One request, whichever way it came."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = "application/json"
    accept: str = "application/json"
    authorization: str = ""
    user_agent: str = ""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a write says about itself in its query."""

    dry: bool = False
    validation: str = "Warn"
    manager: str = "unknown"
    force: bool = False
    user: User = ADMIN


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    status: int
    body: bytes
    warnings: tuple[str, ...] = ()
    content_type: str = "application/json"

    @classmethod
    def of(cls, body: Any, status: int = 200) -> Answer:
        """One that says this, as JSON."""
        return cls(status, dumps(body))

    @classmethod
    def refusing(cls, refusal: Refusal) -> Answer:
        """The refusal's."""
        return cls.of(refusal.status(), refusal.code)


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that goes on."""

    lines: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True)
class Target:
    """What the path names: a collection, an object or its subresource."""

    kind: Kind
    key: Key
    subresource: str = ""

    @property
    def name(self) -> str:
        """The object's name; empty for the collection."""
        return self.key[1]

    @property
    def namespace(self) -> str:
        """The namespace; empty for all, or for cluster-scoped kinds."""
        return self.key[0]


def target(kinds: Registry, path: str) -> Target:
    """What the path names. Raises Refusal if nothing is served there."""
    group, version, rest = _split(path)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource, *more = [*rest, "", ""]
    kind = kinds.find(group, version, plural)
    if kind is None or any(more) or _lost(kind, namespace, name):
        raise no_such_path()
    return Target(kind, (namespace, name), subresource)


def _split(path: str) -> tuple[str, str, list[str]]:
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) > 2:
        return "", parts[1], parts[2:]
    if parts[:1] == ["apis"] and len(parts) > 3:
        return parts[1], parts[2], parts[3:]
    raise no_such_path()


def _lost(kind: Kind, namespace: str, name: str) -> bool:
    """A namespace where there is none, or none where an object would need one."""
    if kind.resource.namespaced:
        return bool(name) and not namespace
    return bool(namespace)
