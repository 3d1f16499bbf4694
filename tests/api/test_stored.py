"""What any release stored is still read, written back and accepted; each kind of break is seen."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from elasticgpu.api import schema

from .compat import RULES, STORED, NewRule, breaks, compact, load, new_rules, write

Json = dict[str, Any]

RELEASES = sorted(path.name for path in STORED.iterdir())
KINDS = {kind.__name__: kind for kind in schema.KINDS}
NOW = {crd["metadata"]["name"]: crd for crd in map(schema.crd, schema.KINDS)}
EVERY_RELEASE = pytest.mark.parametrize("release", RELEASES)


def objects(release: str) -> list[Json]:
    """Everything that is kept of what a release stored."""
    files = (STORED / release).glob("elasticgpu*.yaml"), (STORED / release).glob("gpu.yaml")
    texts = [path.read_text(encoding="utf-8") for found in files for path in sorted(found)]
    return [document for text in texts for document in yaml.safe_load_all(text)]


STORED_OBJECTS = pytest.mark.parametrize(
    "document",
    [
        pytest.param(one, id=f"{release}-{one['kind']}-{one['metadata']['name'][:40]}")
        for release in RELEASES
        for one in objects(release)
    ],
)

# -- the objects ----------------------------------------------------------------------------------


@STORED_OBJECTS
def test_it_is_read_and_written_back_whole(document: Json) -> None:
    """Parsed by the present models, and a PUT of it changes nothing."""
    assert KINDS[document["kind"]].model_validate(document).wire() == document


@STORED_OBJECTS
def test_a_change_leaves_the_rest(document: Json) -> None:
    """What a controller adds is all that its write changes."""
    changed = KINDS[document["kind"]].model_validate(document).with_finalizers("x").wire()
    changed["metadata"]["finalizers"].remove("x")
    if not document["metadata"].get("finalizers"):
        del changed["metadata"]["finalizers"]
    assert changed == document


@EVERY_RELEASE
def test_every_kind_is_there_full_minimal_and_odd(release: str) -> None:
    """With a short word on each in its name."""
    names = {(one["kind"], one["metadata"]["name"].partition("-")[0].partition(".")[0])
             for one in objects(release)}  # fmt: skip
    kinds = {crd["spec"]["names"]["kind"] for crd in load(release)}
    assert names == {(kind, word) for kind in kinds for word in ("full", "minimal", "odd")}


@EVERY_RELEASE
def test_every_field_of_the_release_is_set_somewhere(release: str) -> None:
    """In the full object of its kind."""
    full = {one["kind"]: one for one in objects(release) if one["metadata"]["name"] == "full"}
    for crd in load(release):
        (version,) = crd["spec"]["versions"]
        node = version["schema"]["openAPIV3Schema"]
        assert not list(unset(node, [full[crd["spec"]["names"]["kind"]]]))


def unset(node: Json, values: list[Any], path: str = "") -> Iterator[str]:
    """The fields of a schema that none of these values sets."""
    if not values:
        yield path
    for name, field in node.get("properties", {}).items():
        yield from unset(field, [v[name] for v in values if name in v], f"{path}.{name}")
    if "items" in node:
        yield from unset(node["items"], [one for v in values for one in v], f"{path}[]")


# -- the schemas ----------------------------------------------------------------------------------


@EVERY_RELEASE
def test_nothing_that_was_stored_breaks(release: str) -> None:
    """No field gone, nothing narrower, nothing newly required, no name or version changed."""
    found = [one for old in load(release) for one in breaks(old, NOW.get(old["metadata"]["name"]))]
    assert not found


@EVERY_RELEASE
def test_new_rules_are_known_to_be_safe(release: str) -> None:
    """Each is listed in the release's `ratcheting.yaml` with its reason, and nothing else is."""
    rows = yaml.safe_load((STORED / release / "ratcheting.yaml").read_text(encoding="utf-8")) or []
    assert all(row["why"] for row in rows)
    listed = {(at, rule) for row in rows for at in row["places"] for rule in row["rules"]}
    found = {rule for old in load(release) for rule in new_rules(old, NOW[old["metadata"]["name"]])}
    assert found == {NewRule(*one) for one in listed}


def test_what_a_release_keeps_is_all_that_binds_it(tmp_path: Path) -> None:
    """Compared with what is written down of it now, no release breaks anything."""
    for kind in schema.KINDS:
        crd = schema.crd(kind)
        again = yaml.safe_load(yaml.safe_dump(compact(crd)))
        assert breaks(again, crd) == breaks(crd, again) == []
        assert new_rules(again, crd) == []
        assert "description" not in again["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def test_the_command_writes_a_release_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the next release will find it."""
    monkeypatch.setattr("tests.api.compat.STORED", tmp_path)
    write("v9.9.9", say=lambda _: None)
    crds = load("v9.9.9")
    assert crds == [compact(schema.crd(kind)) for kind in schema.KINDS]


# -- that it can fail -----------------------------------------------------------------------------

SCHEMA: Json = {
    "type": "object",
    "required": ["must"],
    "properties": {
        "must": {"type": "string", "maxLength": 63, "minLength": 1, "pattern": "^a"},
        "phase": {"type": "string", "enum": ["A", "B"], "default": "A"},
        "number": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 9},
        "amount": {"x-kubernetes-int-or-string": True, "maxLength": 32},
        "maybe": {"type": "string", "nullable": True},
        "rows": {
            "type": "array",
            "maxItems": 4,
            "items": {"type": "object", "properties": {"key": {"type": "string"}}},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["key"],
        },
        "map": {
            "type": "object",
            "maxProperties": 4,
            "additionalProperties": {"type": "string", "maxLength": 8},
            RULES: [{"rule": "self.size() > 0", "message": "empty: write one"}],
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
CRD: Json = {
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {
            "kind": "Thing",
            "listKind": "ThingList",
            "plural": "things",
            "singular": "thing",
            "shortNames": ["t"],
            "categories": ["all"],
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": SCHEMA},
                "subresources": {"status": {}},
                "selectableFields": [{"jsonPath": ".must"}],
            }
        ],
    },
}


def planted(path: str, change: Callable[[Json], object]) -> Json:
    """The CRD above with one change at that place: a field as `rows[]`, or a part of the CRD."""
    crd = copy.deepcopy(CRD)
    node: Any = crd
    for step in path.split("/"):
        node = node[int(step)] if step.isdigit() else node[step]
    change(node)
    return crd


VERSION = "spec/versions/0"
ROOT = f"{VERSION}/schema/openAPIV3Schema"
FIELDS = f"{ROOT}/properties"


def put(**values: Any) -> Callable[[Json], object]:
    """Set these keys."""
    return lambda node: node.update(values)


def instead(**values: Any) -> Callable[[Json], object]:
    """Nothing but these keys."""

    def change(node: Json) -> None:
        node.clear()
        node.update(values)

    return change


def drop(key: str) -> Callable[[Json], object]:
    """Take the key away."""
    return lambda node: node.pop(key)


LIST_TYPE, KEEP = "x-kubernetes-list-type", "x-kubernetes-preserve-unknown-fields"
BREAKS = [
    ("spec", put(group="example.org"), "group was example.com, is example.org"),
    ("spec", put(scope="Cluster"), "scope was Namespaced, is Cluster"),
    ("spec/names", put(kind="Stuff"), "kind was Thing, is Stuff"),
    ("spec/names", put(plural="stuff"), "plural was things, is stuff"),
    ("spec/names", put(singular="stuff"), "singular was thing, is stuff"),
    ("spec/names", put(listKind="Things"), "listKind was ThingList, is Things"),
    ("spec/names", drop("shortNames"), "shortNames t gone"),
    ("spec/names", put(categories=["other"]), "categories all gone"),
    (VERSION, put(name="v2"), "version v1 is gone"),
    (VERSION, put(served=False), "v1: no longer served"),
    (VERSION, put(storage=False), "v1: no longer storage"),
    (VERSION, drop("subresources"), "v1: subresources were {'status': {}}, are None"),
    (VERSION, drop("selectableFields"), "v1: .must is no longer selectable"),
    (VERSION, put(strange=1), "v1: strange is nothing this check understands"),
    (FIELDS, drop("amount"), "v1: .: field amount is gone"),
    (f"{FIELDS}/rows/items/properties", drop("key"), "v1: .rows[]: field key is gone"),
    (ROOT, put(required=["must", "phase"]), "v1: .: field phase is required now"),
    (f"{FIELDS}/rows/items", put(required=["key"]), "v1: .rows[]: field key is required now"),
    (f"{FIELDS}/must", put(type="integer"), "v1: .must: type was string, is integer"),
    (f"{FIELDS}/amount", instead(type="string", maxLength=32),
        "v1: .amount: type was integer or string, is string"),
    (f"{FIELDS}/number", put(format="int32"), "v1: .number: format was int64, is int32"),
    (f"{FIELDS}/maybe", drop("nullable"), "v1: .maybe: null is no longer allowed"),
    (f"{FIELDS}/must", put(maxLength=62), "v1: .must: maxLength was 63, is 62"),
    (f"{FIELDS}/maybe", put(maxLength=9), "v1: .maybe: maxLength was none, is 9"),
    (f"{FIELDS}/must", put(minLength=2), "v1: .must: minLength was 1, is 2"),
    (f"{FIELDS}/number", put(minimum=1), "v1: .number: minimum was 0, is 1"),
    (f"{FIELDS}/number", put(maximum=8), "v1: .number: maximum was 9, is 8"),
    (f"{FIELDS}/rows", put(maxItems=3), "v1: .rows: maxItems was 4, is 3"),
    (f"{FIELDS}/rows", put(minItems=1), "v1: .rows: minItems was none, is 1"),
    (f"{FIELDS}/map", put(maxProperties=3), "v1: .map: maxProperties was 4, is 3"),
    (f"{FIELDS}/map", put(minProperties=1), "v1: .map: minProperties was none, is 1"),
    (f"{FIELDS}/map/additionalProperties", put(maxLength=7),
        "v1: .map{}: maxLength was 8, is 7"),
    (f"{FIELDS}/map", drop("additionalProperties"), "v1: .map: additionalProperties are gone"),
    (f"{FIELDS}/rows", drop("items"), "v1: .rows: items are gone"),
    (f"{FIELDS}/phase", put(enum=["A"]), "v1: .phase: only ['A'] allowed now"),
    (f"{FIELDS}/maybe", put(enum=["A"]), "v1: .maybe: only ['A'] allowed now"),
    (f"{FIELDS}/must", put(pattern="^b"), "v1: .must: pattern was ^a, is ^b"),
    (f"{FIELDS}/maybe", put(pattern="^b"), "v1: .maybe: pattern was None, is ^b"),
    (f"{FIELDS}/phase", put(default="B"), "v1: .phase: default was A, is B"),
    (f"{FIELDS}/phase", drop("default"), "v1: .phase: default was A, is None"),
    (f"{FIELDS}/rows", put(**{LIST_TYPE: "set"}), f"v1: .rows: {LIST_TYPE} was map, is set"),
    (f"{FIELDS}/free", drop(KEEP), "v1: .free: unknown fields are no longer kept"),
    (f"{FIELDS}/maybe", put(oneOf=[]), "v1: .maybe: oneOf is nothing this check understands"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "change", "said"), BREAKS, ids=[row[2] for row in BREAKS])
def test_a_break_is_seen(path: str, change: Callable[[Json], object], said: str) -> None:
    """Exactly the one that was planted, in words."""
    assert breaks(CRD, planted(path, change)) == [f"things.example.com: {said}"]


def test_a_kind_that_is_gone_is_seen() -> None:
    """Its objects would be gone with it."""
    assert breaks(CRD, None) == ["things.example.com: the kind is gone"]


HARMLESS = [
    ("nothing", "spec", put()),
    ("a new version", "spec", lambda n: n["versions"].append({**n["versions"][0], "name": "v2"})),
    ("a new short name", "spec/names", put(shortNames=["t", "th"])),
    ("a new field", FIELDS, put(new={"type": "string", RULES: [{"rule": "x", "message": "y"}]})),
    ("a new description", ROOT, put(description="What it is.")),
    ("a higher ceiling", f"{FIELDS}/must", put(maxLength=64)),
    ("no ceiling", f"{FIELDS}/must", drop("maxLength")),
    ("a lower floor", f"{FIELDS}/number", put(minimum=-1)),
    ("no pattern", f"{FIELDS}/must", drop("pattern")),
    ("no format", f"{FIELDS}/number", drop("format")),
    ("another value", f"{FIELDS}/phase", put(enum=["A", "B", "C"])),
    ("any value", f"{FIELDS}/phase", drop("enum")),
    ("null allowed", f"{FIELDS}/must", put(nullable=True)),
    ("no longer required", ROOT, put(required=[])),
    ("a number or a text", f"{FIELDS}/number",
        instead(**{"x-kubernetes-int-or-string": True})),
    ("a default where none was", f"{FIELDS}/maybe", put(default="x")),
    ("any field at all", f"{FIELDS}/rows/items",
        instead(type="object", **{KEEP: True})),
    ("a rule less", f"{FIELDS}/map", drop(RULES)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "change"), [row[1:] for row in HARMLESS], ids=[row[0] for row in HARMLESS]
)
def test_what_breaks_nothing_is_let_pass(path: str, change: Callable[[Json], object]) -> None:
    """What only widens."""
    assert breaks(CRD, planted(path, change)) == []
    assert new_rules(CRD, planted(path, change)) == []


def test_a_new_rule_is_listed() -> None:
    """And a changed one: with the place it stands at and its sentence."""
    rule = {"rule": "self.size() > 1", "message": "too few: write two"}
    for path, at in ((f"{FIELDS}/map", ".map"), (f"{FIELDS}/rows/items", ".rows[]"), (ROOT, "")):
        changed = planted(path, put(**{RULES: [rule]}))
        assert new_rules(CRD, changed) == [NewRule(at, "too few: write two")]
        assert breaks(CRD, changed) == []
