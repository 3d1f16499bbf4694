"""Who asks: by bearer token, or an admin where nobody is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from elasticgpu.api.meta import Key

from .refusal import Refusal
from .store import Store

Json = dict[str, Any]


@dataclass(frozen=True)
class User:
    """One who asks, as admission policies see him."""

    name: str
    groups: tuple[str, ...] = ()
    extra: Mapping[str, list[str]] = field(default_factory=dict)

    def info(self) -> Json:
        """`userInfo`."""
        found: Json = {"username": self.name, "groups": list(self.groups)}
        return {**found, "extra": dict(self.extra)} if self.extra else found


ADMIN = User("admin", ("system:masters", "system:authenticated"))


class Users:
    """The tokens that are known. Without any from the start, who shows none is the admin."""

    def __init__(self, tokens: Mapping[str, User] | None, random: Random) -> None:
        self._tokens = dict(tokens or {})
        self._strict = bool(tokens)
        self._random = random

    def who(self, authorization: str) -> User:
        """Who shows this header. Raises Refusal for a token that is none."""
        kind, _, token = authorization.partition(" ")
        if kind.lower() == "bearer" and token in self._tokens:
            return self._tokens[token]
        if self._strict or token:
            raise Refusal(401, "Unauthorized", "Unauthorized")
        return ADMIN

    def issue(self, user: User) -> str:
        """A token of that user's."""
        token = f"{self._random.getrandbits(128):032x}"
        self._tokens[token] = user
        return token


def token(objects: Any, kind: Any, key: Key, body: Json) -> Json:
    """Answer a TokenRequest of a ServiceAccount, bound to a pod or node if it says so."""
    objects.get(kind, key)
    namespace, name = key
    spec = body.get("spec") or {}
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    user = User(
        f"system:serviceaccount:{namespace}:{name}",
        (*groups, "system:authenticated"),
        _bound(objects.store, namespace, spec.get("boundObjectRef") or {}),
    )
    head = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1"}
    status = {"token": objects.users.issue(user)}
    return {
        **head,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
        "status": status,
    }


def _bound(store: Store, namespace: str, ref: Json) -> dict[str, list[str]]:
    prefix, name = "authentication.kubernetes.io/", ref.get("name", "")
    if ref.get("kind") == "Node":
        return {f"{prefix}node-name": [name]}
    if ref.get("kind") != "Pod":
        return {}
    found: dict[str, list[str]] = {f"{prefix}pod-name": [name]}
    pod = store.get("/pods", (namespace, name))
    node: Any = pod.body["spec"].get("nodeName") if pod else None
    return {**found, f"{prefix}node-name": [node]} if node else found
