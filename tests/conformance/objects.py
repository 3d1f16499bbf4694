"""What the behaviours are shown on: plain objects, and two custom kinds with a schema for it."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

GROUP = "conformance.example.com"
KEEP = "example.com/keep"
"""A finalizer that nobody serves."""


def config(name: str = "a", **more: Any) -> Object:
    """A ConfigMap; `data` and what belongs into metadata by keyword."""
    data = more.pop("data", {"x": "1"})
    meta = {"name": name, **more}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def widget(name: str = "a", spec: Object | None = None, **more: Any) -> Object:
    """A Widget: namespaced, with status, a schema and rules."""
    head = {"apiVersion": f"{GROUP}/v1", "kind": "Widget"}
    return {**head, "metadata": {"name": name, **more}, "spec": {"color": "red", **(spec or {})}}


def gadget(name: str, spec: Object | None = None, **more: Any) -> Object:
    """A Gadget: cluster-scoped, without status, keeping what it does not know."""
    head = {"apiVersion": f"{GROUP}/v1", "kind": "Gadget"}
    return {**head, "metadata": {"name": name, **more}, "spec": spec or {}}


def pod(name: str = "a", spec: Object | None = None, **more: Any) -> Object:
    """A Pod of one container that nobody schedules."""
    own = {"schedulerName": "nobody", "containers": [{"name": "main", "image": "none"}]}
    meta = {"name": name, **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**own, **(spec or {})}}


def owner(of: Object, **more: Any) -> Object:
    """An owner reference to an object."""
    meta = of["metadata"]
    head = {"apiVersion": of["apiVersion"], "kind": of["kind"]}
    return {**head, "name": meta["name"], "uid": meta["uid"], **more}


def _string(**more: Any) -> Object:
    return {"type": "string", **more}


_SPEC: Object = {
    "type": "object",
    "required": ["color"],
    "properties": {
        "color": _string(enum=["red", "green", "blue"], maxLength=5),
        "size": {"type": "integer", "minimum": 0, "maximum": 100, "default": 1},
        "title": _string(maxLength=10, minLength=2),
        "code": _string(pattern="^[a-z]+$", maxLength=20),
        "amount": {"x-kubernetes-int-or-string": True, "maxLength": 32},
        "flag": {"type": "boolean"},
        "ratio": {"type": "number"},
        "note": _string(nullable=True),
        "tags": {
            "type": "array",
            "maxItems": 4,
            "items": _string(maxLength=20),
            "x-kubernetes-list-type": "set",
        },
        "parts": {
            "type": "array",
            "maxItems": 8,
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": _string(maxLength=20),
                    "count": {"type": "integer", "default": 1},
                    "fixed": _string(maxLength=20),
                },
                "x-kubernetes-validations": [
                    {
                        "rule": "!has(oldSelf.fixed) || self.?fixed.orValue('') == oldSelf.fixed",
                        "message": "fixed stays",
                    }
                ],
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "limits": {
            "type": "object",
            "maxProperties": 3,
            "additionalProperties": {"type": "integer", "maximum": 9},
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "home": {
            "type": "object",
            "properties": {"namespace": _string(maxLength=63), "name": _string(maxLength=63)},
            "x-kubernetes-validations": [
                {
                    "rule": "self.__namespace__ != 'forbidden'",
                    "message": "not that one",
                    "fieldPath": ".namespace",
                    "reason": "FieldValueForbidden",
                }
            ],
        },
    },
    "x-kubernetes-validations": [
        {
            "rule": "!has(oldSelf.title) || has(self.title) && self.title == oldSelf.title",
            "message": "title never changes",
            "fieldPath": ".title",
            "reason": "FieldValueForbidden",
        },
        {
            "rule": "self.size < 50 || self.color != 'blue'",
            "messageExpression": "'too large for one that is ' + self.color",
        },
        {"rule": "!has(self.amount) || quantity(string(self.amount)).isGreaterThan(quantity('0'))"},
    ],
}

_COLUMNS = [
    {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
    {
        "name": "Ready",
        "type": "string",
        "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
        "priority": 1,
        "description": "whether it is",
    },
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]


def _crd(kind: str, scope: str, **version: Any) -> Object:
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "shortNames": [kind[:2].lower()]},
            "versions": [{"name": "v1", "served": True, "storage": True, **version}],
        },
    }


_STATUS: Object = {
    "type": "object",
    "properties": {
        "phase": _string(maxLength=20),
        "conditions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"type": _string(), "status": _string()},
            },
        },
    },
}

WIDGETS = _crd(
    "Widget",
    "Namespaced",
    schema={
        "openAPIV3Schema": {
            "type": "object",
            "required": ["spec"],
            "properties": {"spec": _SPEC, "status": _STATUS},
        }
    },
    subresources={"status": {}},
    selectableFields=[{"jsonPath": ".spec.color"}],
    additionalPrinterColumns=_COLUMNS,
)
GADGETS = _crd(
    "Gadget",
    "Cluster",
    schema={
        "openAPIV3Schema": {
            "type": "object",
            "properties": {
                "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        }
    },
)
