"""OpenAPI v3, as far as `kubectl explain`, `apply` and `diff` ask for it.

A document a group and version: the schemas of its kinds, and the parameters by which clients learn
that fields are validated here and that writes can be tried dry. Kubernetes' own kinds are described
by name alone.
"""

from __future__ import annotations

from typing import Any

from .kinds import Json, Kind, Registry
from .version import VERSION

_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_STRING: Json = {"type": "string"}
_HEAD: Json = {
    "apiVersion": {**_STRING, "description": "The group and version of the object's schema."},
    "kind": {**_STRING, "description": "What the object is."},
}
_QUERY = ("dryRun", "fieldManager", "fieldValidation", "force")
_NAMES = ("name", "generateName", "namespace", "uid", "resourceVersion", "creationTimestamp")
_LABELS: Json = {"type": "object", "additionalProperties": _STRING}
_OBJECT_META: Json = {
    "type": "object",
    "description": "What every object has.",
    "properties": {
        **dict.fromkeys(_NAMES, _STRING),
        "labels": _LABELS,
        "annotations": _LABELS,
        "finalizers": {"type": "array", "items": _STRING},
        "ownerReferences": {"type": "array", "items": {"type": "object"}},
    },
}


def answer(kinds: Registry, path: str) -> Json | None:
    """The document at that path; None if there is none."""
    parts = [part for part in path.split("/") if part]
    match parts:
        case ["openapi", "v3"]:
            return {"paths": {root: _where(root, kinds) for root in _roots(kinds)}}
        case ["openapi", "v3", *rest]:
            found = [kind for kind in kinds if _root(kind) == "/".join(rest)]
            return _document(found) if found else None
        case _:
            return None


def _roots(kinds: Registry) -> list[str]:
    return list(dict.fromkeys(map(_root, kinds)))


def _root(kind: Kind) -> str:
    what = kind.resource
    return f"apis/{what.group}/{what.version}" if what.group else f"api/{what.version}"


def _where(root: str, kinds: Registry) -> Json:
    # Clients keep documents by this address: it changes whenever the kinds do.
    return {"serverRelativeURL": f"/openapi/v3/{root}?hash={kinds.changes}"}


def _document(kinds: list[Kind]) -> Json:
    paths: Json = {}
    schemas: Json = {_META: _OBJECT_META}
    for kind in kinds:
        paths |= _paths(kind)
        schemas[_title(kind)] = _schema(kind)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": VERSION},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _title(kind: Kind) -> str:
    what = kind.resource
    group = ".".join(reversed(what.group.split("."))) if what.group else "io.k8s.api.core"
    return f"{group}.{what.version}.{what.kind}"


def _named(kind: Kind) -> Json:
    what = kind.resource
    return {"group": what.group, "version": what.version, "kind": what.kind}


def _schema(kind: Kind) -> Json:
    raw = kind.checker.openapi
    own = {name: one for name, one in raw.get("properties", {}).items() if name not in _HEAD}
    own.pop("metadata", None)
    meta: Json = {"allOf": [{"$ref": f"#/components/schemas/{_META}"}]}
    meta["description"] = "What every object has: name, labels, owners."
    found: Json = {"type": "object", "description": f"{kind.resource.kind}."}
    found |= {key: raw[key] for key in ("description", "required") if key in raw}
    found["properties"] = {**_HEAD, "metadata": meta, **own}
    found["x-kubernetes-group-version-kind"] = [_named(kind)]
    return found


def _paths(kind: Kind) -> Json:
    plural = kind.resource.plural
    scope = "/namespaces/{namespace}" if kind.resource.namespaced else ""
    root = f"/{_root(kind)}{scope}/{plural}"
    found = {
        root: {"get": _operation(kind, "list", ()), "post": _operation(kind, "post", _QUERY[:3])},
        f"{root}/{{name}}": {
            "get": _operation(kind, "get", ()),
            "put": _operation(kind, "put", _QUERY[:3]),
            "patch": _operation(kind, "patch", _QUERY),
            "delete": _operation(kind, "delete", ("dryRun",)),
        },
    }
    return found


def _operation(kind: Kind, action: str, query: tuple[str, ...]) -> Json:
    schema: Json = {"$ref": f"#/components/schemas/{_title(kind)}"}
    content: Any = {"application/json": {"schema": schema}}
    return {
        "parameters": [{"name": name, "in": "query", "schema": _STRING} for name in query],
        "responses": {"200": {"description": "OK", "content": content}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _named(kind),
    }
