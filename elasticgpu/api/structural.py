"""Models → structural schemas, the only ones that the API server takes for a kind of ours.

No references, no `anyOf` of null, no titles, and everything bounded, or the rules of `crd_rules.py`
cost too much and the whole kind is refused. Fields that a model does not know are pruned, though
the models keep them: `extra="allow"` is there so that an older process loses nothing of a newer
kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .cel import BYTES, QUANTITY, Rule
from .crd_fields import DEFAULTS, LIST_KEYS, OVERRIDES, SETS
from .crd_rules import RULES
from .meta import KubeObject
from .quantity import MAX_LENGTH

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


def structural(kind: type[KubeObject]) -> Json:
    """The kind's schema as the API server takes it."""
    raw = kind.model_json_schema(by_alias=True)
    return _Structural(raw["$defs"]).object(raw, kind.__name__)


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
