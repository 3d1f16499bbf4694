"""Models → CustomResourceDefinitions: `python -m elasticgpu.api.schema crds/` writes them.

The API server wants a *structural* schema: no references, no `anyOf` of null, no titles, and
everything bounded, or the rules of `crd_rules.py` cost too much and the whole kind is refused.
Fields that a model does not know are pruned, though the models keep them: `extra="allow"` is there
so that an older process loses nothing of a newer kind.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from .cel import BYTES, QUANTITY, Rule
from .claim import ElasticGPUClaim, ElasticGPUClaimTemplate
from .crd_columns import CATEGORY, COLUMNS, SELECTABLE, Column
from .crd_fields import DEFAULTS, LIST_KEYS, OVERRIDES, SETS
from .crd_rules import RULES
from .elasticgpu import ElasticGPU
from .gpu import GPU
from .gpuclass import ElasticGPUClass
from .meta import GROUP, KubeObject
from .quantity import MAX_LENGTH

KINDS: tuple[type[KubeObject], ...] = (
    GPU,
    ElasticGPU,
    ElasticGPUClaim,
    ElasticGPUClaimTemplate,
    ElasticGPUClass,
)

HEADER = (
    "# Generated from elasticgpu/api; do not edit, run: python -m elasticgpu.api.schema crds/\n"
)

Json = dict[str, Any]

_KEPT = (
    "description",
    "type",
    "enum",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "maxProperties",
    "required",
)
# The API server knows metadata; the name stands here so that rules may point at it.
_METADATA: Json = {"type": "object", "properties": {"name": {"type": "string"}}}


def crd(kind: type[KubeObject]) -> Json:
    """The CustomResourceDefinition of one kind."""
    what = kind.resource
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{what.plural}.{what.group}"},
        "spec": {
            "group": what.group,
            "names": _names(kind),
            "scope": "Namespaced" if what.namespaced else "Cluster",
            "versions": [_version(kind)],
        },
    }


def render(kind: type[KubeObject]) -> str:
    """The kind's CRD as YAML, the same text for the same models."""
    return HEADER + dump(crd(kind))


def dump(*documents: Json) -> str:
    """YAML in which everything is written out where it stands, without anchors."""
    return yaml.dump_all(documents, Dumper=_Plain, sort_keys=False, width=100)


def write(folder: Path) -> list[Path]:
    """Write one file a kind into `folder` and name the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for kind in KINDS:
        path = folder / f"{GROUP}_{kind.resource.plural}.yaml"
        path.write_text(render(kind), encoding="utf-8")
        files.append(path)
    return files


def structural(kind: type[KubeObject]) -> Json:
    """The kind's schema as the API server takes it."""
    raw = kind.model_json_schema(by_alias=True)
    return _Structural(raw["$defs"]).object(raw, kind.__name__)


def _names(kind: type[KubeObject]) -> Json:
    what = kind.resource
    return {
        "kind": what.kind,
        "listKind": f"{what.kind}List",
        "plural": what.plural,
        "singular": what.kind.lower(),
        "shortNames": [what.short],
        "categories": [CATEGORY],
    }


def _version(kind: type[KubeObject]) -> Json:
    name = kind.resource.kind
    version: Json = {
        "name": kind.resource.version,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [_column(column) for column in COLUMNS[name]],
        "schema": {"openAPIV3Schema": structural(kind)},
    }
    if "status" in kind.model_fields:
        version["subresources"] = {"status": {}}
    if name in SELECTABLE:
        version["selectableFields"] = [{"jsonPath": path} for path in SELECTABLE[name]]
    return version


class _Structural:
    """Rewrites pydantic's JSON schema; `path` is a model's name, or `<model>.<wire name>`."""

    def __init__(self, definitions: Mapping[str, Json]) -> None:
        self._definitions = definitions

    def object(self, raw: Json, model: str) -> Json:
        """An object with fields: the model's own rules, then its fields."""
        schema = _kept(raw)
        fields = raw.get("properties", {})
        schema["properties"] = {n: self._field(f, f"{model}.{n}") for n, f in fields.items()}
        return _ruled(schema, model)

    def _field(self, raw: Json, path: str) -> Json:
        schema = self._value(raw)
        if path in DEFAULTS:
            schema["default"] = raw["default"]
        if path in SETS:
            schema["x-kubernetes-list-type"] = "set"
        return _ruled({**schema, **OVERRIDES.get(path, {})}, path)

    def _value(self, raw: Json) -> Json:
        said = _described(raw)
        raw, model = self._resolved(raw)
        if model == "ObjectMeta":
            return {**_METADATA, **said}
        if model:
            return self.object(raw, model)
        return {**_kept(raw), **self._shape(raw)}

    def _shape(self, raw: Json) -> Json:
        """What the API server wants beside pydantic's own words."""
        if "x-kubernetes-quantity" in raw:
            return _quantity(in_bytes=raw["x-kubernetes-quantity"] == "bytes")
        match raw.get("type"):
            case "array":
                return self._list(raw["items"])
            case "object":
                return self._map(raw)
            case "integer":
                return {"format": "int64"}
            case "string" | "boolean":
                return {}
            case other:
                raise TypeError(f"no structural schema for {other}: {raw}")

    def _resolved(self, raw: Json) -> tuple[Json, str]:
        """The schema without reference and null, and the name of its model, if it is one."""
        if "$ref" in raw:
            model = raw["$ref"].rpartition("/")[2]
            return {**self._definitions[model], **_described(raw)}, model
        either = [one for one in raw.get("anyOf", ()) if one != {"type": "null"}]
        if len(either) == 1:
            return self._resolved({**either[0], **_described(raw)})
        return raw, ""

    def _list(self, items: Json) -> Json:
        keyed: Json = {"items": self._value(items)}
        key = LIST_KEYS.get(self._resolved(items)[1])
        if key:
            keyed |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}
        return keyed

    def _map(self, raw: Json) -> Json:
        """A map; a schema cannot bound its keys, so a rule does what the model will ask for."""
        longest = raw["propertyNames"]["maxLength"]
        rule = Rule(
            f"self.all(key, size(key) <= {longest})",
            f"a key is longer than {longest} characters: shorten it",
        )
        return {
            "additionalProperties": self._value(raw["additionalProperties"]),
            "x-kubernetes-validations": [_rule(rule)],
        }


def _quantity(*, in_bytes: bool) -> Json:
    return {
        "x-kubernetes-int-or-string": True,
        "maxLength": MAX_LENGTH,
        **({"minimum": 0} if in_bytes else {}),
        "x-kubernetes-validations": [_rule(BYTES if in_bytes else QUANTITY)],
    }


def _kept(raw: Json) -> Json:
    return {key: raw[key] for key in _KEPT if key in raw}


def _described(raw: Json) -> Json:
    return {"description": raw["description"]} if "description" in raw else {}


def _ruled(schema: Json, path: str) -> Json:
    rules = [
        *(_rule(rule) for rule in RULES.get(path, ())),
        *schema.pop("x-kubernetes-validations", ()),
    ]
    return {**schema, "x-kubernetes-validations": rules} if rules else schema


def _rule(rule: Rule) -> Json:
    where = {"fieldPath": rule.at} if rule.at else {}
    return {"rule": rule.holds, "message": rule.message, "reason": rule.reason, **where}


def _column(column: Column) -> Json:
    priority = {"priority": 1} if column.wide else {}
    return {"name": column.name, "type": column.type, "jsonPath": column.path, **priority}


class _Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


if __name__ == "__main__":
    for folder in sys.argv[1:] or ["crds"]:
        write(Path(folder))
