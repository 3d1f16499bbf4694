"""How lists are merged: by key, as a set, or as a whole; from a CRD's schema, or by common name.

Kubernetes' own kinds are told by the names of their fields, which mean the same in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from elasticgpu.cluster.transport import dumps

from .schemas import Node

_KEYS: Mapping[str, tuple[str, ...]] = {
    "addresses": ("type",),
    "claims": ("name",),
    "conditions": ("type",),
    "containers": ("name",),
    "containerStatuses": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "initContainerStatuses": ("name",),
    "ownerReferences": ("uid",),
    "ports": ("containerPort",),
    "reservedFor": ("uid",),
    "resourceClaims": ("name",),
    "resourceClaimStatuses": ("name",),
    "schedulingGates": ("name",),
    "secrets": ("name",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
_SETS = frozenset({"finalizers"})


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of one place: what its schema says, or else the name of its field."""

    field: str = ""
    node: Node | None = None
    custom: bool = False

    @classmethod
    def of(cls, root: Node | None) -> Shape:
        """The shape of whole objects, of a custom kind if it has a schema."""
        return cls("", root, root is not None)

    def below(self, field: str) -> Shape:
        """The shape of a field."""
        if not self.field and field == "metadata":
            return Shape(field)
        node = self.node.properties.get(field, self.node.additional) if self.node else None
        return Shape(field, node, self.custom)

    def item(self) -> Shape:
        """The shape of a list's items."""
        return Shape(f"{self.field}[]", self.node.items if self.node else None, self.custom)

    @property
    def keys(self) -> tuple[str, ...]:
        """What tells the items of a list of objects apart; empty if nothing does."""
        if self.custom:
            return self.node.list_keys if self.node else ()
        return _KEYS.get(self.field, ())

    @property
    def is_set(self) -> bool:
        """Whether a list is a set of scalars."""
        if self.custom:
            return self.node is not None and self.node.list_type == "set"
        return self.field in _SETS

    def step(self, item: Any) -> str:
        """The item's place in the list as field sets write it; empty if the list is one whole."""
        if self.keys and isinstance(item, dict):
            which = {key: item[key] for key in sorted(self.keys) if key in item}
            return "k:" + dumps(which).decode()
        return "v:" + dumps(item).decode() if self.is_set else ""
