"""Whether a release takes what an earlier one stored: two CRDs in, what breaks out, in words.

`make stored RELEASE=v0.2.0` writes down the CRDs of a release that is being made, as
`tests/api/stored/v0.2.0/crds.yaml`; from then on every later one is compared with it.

What is stored breaks when the new schema refuses or drops a part of it, or reads it as another
thing. New rules (CEL) may refuse it too: no program can tell whether they do, so `new_rules` lists
them, and whoever adds one has to say why it is safe.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from elasticgpu.api import schema

Json = dict[str, Any]

STORED = Path(__file__).parent / "stored"
RULES = "x-kubernetes-validations"
UNBOUNDED = float("inf")

_FLOORS = ("minimum", "minLength", "minItems", "minProperties")
_CEILINGS = ("maximum", "maxLength", "maxItems", "maxProperties")
_FIXED = ("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")
_KNOWN = {
    *("type", "format", "enum", "pattern", "nullable", "default", "required", "description"),
    *("properties", "additionalProperties", "items", RULES),
    *("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"),
    *(*_FLOORS, *_CEILINGS, *_FIXED),
}
_VERSION = {
    *("name", "served", "storage", "schema", "subresources", "selectableFields"),
    *("additionalPrinterColumns", "deprecated", "deprecationWarning"),
}


class NewRule(NamedTuple):
    """A rule that the old schema did not have, at a place that it did have."""

    path: str
    message: str


def compact(crd: Json) -> Json:
    """The CRD without what only people read: what a release has to stay true to."""
    spec = dict(crd["spec"])
    spec["versions"] = [
        {
            key: _bare(value) if key == "schema" else value
            for key, value in version.items()
            if key != "additionalPrinterColumns"
        }
        for version in spec["versions"]
    ]
    return {**crd, "spec": spec}


def _bare(node: Any) -> Any:
    if isinstance(node, list):
        return [_bare(one) for one in node]
    if not isinstance(node, dict):
        return node
    return {
        key: {name: _bare(field) for name, field in value.items()}
        if key == "properties"
        else _bare(value)
        for key, value in node.items()
        if key != "description"
    }


def breaks(old: Json, new: Json | None) -> list[str]:
    """Every way in which the new CRD breaks what was stored under the old one; best: none."""
    name = old["metadata"]["name"]
    if new is None:
        return [f"{name}: the kind is gone"]
    return [f"{name}: {one}" for one in _crd(old["spec"], new["spec"])]


def new_rules(old: Json, new: Json) -> list[NewRule]:
    """The rules that the new CRD has and the old one had not, where the old one had a field."""
    before, after = _versions(old["spec"]), _versions(new["spec"])
    return [
        NewRule(path, rule["message"])
        for version in before.keys() & after.keys()
        for path, one, other in _pairs(_schema(before[version]), _schema(after[version]))
        for rule in other.get(RULES, ())
        if rule["rule"] not in {known["rule"] for known in one.get(RULES, ())}
    ]


def _crd(old: Json, new: Json) -> Iterator[str]:
    for key in ("group", "scope"):
        if old[key] != new[key]:
            yield f"{key} was {old[key]}, is {new[key]}"
    yield from _names(old["names"], new["names"])
    before, after = _versions(old), _versions(new)
    for name, version in before.items():
        if name not in after:
            yield f"version {name} is gone"
        else:
            yield from (f"{name}: {one}" for one in _version(version, after[name]))


def _names(old: Json, new: Json) -> Iterator[str]:
    for key, value in old.items():
        have = new.get(key)
        if isinstance(value, list):
            if gone := [one for one in value if one not in (have or [])]:
                yield f"{key} {', '.join(gone)} gone"
        elif have != value:
            yield f"{key} was {value}, is {have}"


def _versions(spec: Json) -> dict[str, Json]:
    return {version["name"]: version for version in spec["versions"]}


def _schema(version: Json) -> Json:
    return dict(version["schema"]["openAPIV3Schema"])


def _version(old: Json, new: Json) -> Iterator[str]:
    for key in sorted((old.keys() | new.keys()) - _VERSION):
        yield f"{key} is nothing this check understands"
    for key in ("served", "storage"):
        if old[key] and not new[key]:
            yield f"no longer {key}"
    if old.get("subresources") != new.get("subresources"):
        yield f"subresources were {old.get('subresources')}, are {new.get('subresources')}"
    kept = new.get("selectableFields", [])
    for field in old.get("selectableFields", []):
        if field not in kept:
            yield f"{field['jsonPath']} is no longer selectable"
    for path, one, other in _pairs(_schema(old), _schema(new)):
        for reason in _node(one, other):
            yield f"{path or '.'}: {reason}"


def _pairs(old: Json, new: Json, path: str = "") -> Iterator[tuple[str, Json, Json]]:
    """All schemas that both have, with their path; map values as `{}`, list items as `[]`."""
    yield path, old, new
    both = old.get("properties", {}).keys() & new.get("properties", {}).keys()
    for name in sorted(both):
        yield from _pairs(old["properties"][name], new["properties"][name], f"{path}.{name}")
    for key, step in (("additionalProperties", "{}"), ("items", "[]")):
        if key in old and key in new:
            yield from _pairs(old[key], new[key], path + step)


def _node(old: Json, new: Json) -> Iterator[str]:
    for key in sorted((old.keys() | new.keys()) - _KNOWN):
        yield f"{key} is nothing this check understands"
    for judge in (_type, _fields, _values, _bounds):
        yield from judge(old, new)


def _kind(node: Json) -> str:
    return "integer or string" if node.get("x-kubernetes-int-or-string") else str(node.get("type"))


def _type(old: Json, new: Json) -> Iterator[str]:
    was, now = _kind(old), _kind(new)
    wider = now == "integer or string" and was in ("integer", "string")
    if was != now and not wider:
        yield f"type was {was}, is {now}"
    if new.get("format") not in (None, old.get("format")):
        yield f"format was {old.get('format')}, is {new['format']}"
    if old.get("nullable") and not new.get("nullable"):
        yield "null is no longer allowed"
    for key in _FIXED:
        if old.get(key) != new.get(key):
            yield f"{key} was {old.get(key)}, is {new.get(key)}"


def _fields(old: Json, new: Json) -> Iterator[str]:
    kept = new.get("x-kubernetes-preserve-unknown-fields")
    if old.get("x-kubernetes-preserve-unknown-fields") and not kept:
        yield "unknown fields are no longer kept"
    for name in old.get("properties", {}):
        if name not in new.get("properties", {}) and not kept:
            yield f"field {name} is gone"
    for key in ("additionalProperties", "items"):
        if key in old and key not in new and not kept:
            yield f"{key} are gone"
    for name in new.get("required", []):
        if name not in old.get("required", []):
            yield f"field {name} is required now"


def _values(old: Json, new: Json) -> Iterator[str]:
    if "enum" in new:
        gone = [one for one in old.get("enum", ()) if one not in new["enum"]]
        if gone or "enum" not in old:
            yield f"only {new['enum']} allowed now"
    if new.get("pattern") not in (None, old.get("pattern")):
        yield f"pattern was {old.get('pattern')}, is {new['pattern']}"
    if "default" in old and old["default"] != new.get("default"):
        yield f"default was {old['default']}, is {new.get('default')}"


def _bounds(old: Json, new: Json) -> Iterator[str]:
    for key in _FLOORS:
        if new.get(key, -UNBOUNDED) > old.get(key, -UNBOUNDED):
            yield f"{key} was {old.get(key, 'none')}, is {new[key]}"
    for key in _CEILINGS:
        if new.get(key, UNBOUNDED) < old.get(key, UNBOUNDED):
            yield f"{key} was {old.get(key, 'none')}, is {new[key]}"


def load(release: str) -> list[Json]:
    """The CRDs of a release, as they were written down."""
    text = (STORED / release / "crds.yaml").read_text(encoding="utf-8")
    return list(yaml.safe_load_all(text))


def write(release: str, say: Callable[[str], object] = print) -> None:
    """Write down the CRDs that the models make now, as those of this release."""
    path = STORED / release / "crds.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    crds = (compact(schema.crd(kind)) for kind in schema.KINDS)
    path.write_text(schema.dump(*crds), encoding="utf-8")
    say(f"{path}: now add full, minimal and odd objects of every kind beside it")


if __name__ == "__main__":
    write(sys.argv[1])
