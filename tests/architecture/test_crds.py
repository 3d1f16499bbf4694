"""`crds/` is what the models say, in the words that an API server takes."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
import yaml

from elasticgpu.api import crd_fields, crd_rules, schema
from elasticgpu.api.meta import KubeObject
from elasticgpu.api.structural import structural

ROOT = Path(__file__).parents[2]
Json = dict[str, Any]
KINDS = pytest.mark.parametrize("kind", schema.KINDS, ids=lambda kind: kind.__name__)


def walk(node: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Every schema in it with its path; list items as `[]`, map values as `{}`."""
    yield path, node
    for name, field in node.get("properties", {}).items():
        yield from walk(field, f"{path}.{name}")
    if "items" in node:
        yield from walk(node["items"], f"{path}[]")
    if "additionalProperties" in node:
        yield from walk(node["additionalProperties"], path + "{}")


def fields(kind: type[KubeObject]) -> list[tuple[str, Json]]:
    """All schemas of the kind but those of its metadata."""
    whole = walk(structural(kind))
    return [(path, node) for path, node in whole if not path.startswith(".metadata")]


def rules(kind: type[KubeObject]) -> list[tuple[str, Json]]:
    """All rules of the kind, with the path they stand at."""
    return [
        (path, rule)
        for path, node in fields(kind)
        for rule in node.get("x-kubernetes-validations", [])
    ]


def texts(folder: Path) -> dict[str, str]:
    """The files of a folder."""
    return {path.name: path.read_text() for path in folder.iterdir()}


def changes(before: dict[str, str], after: dict[str, str]) -> str:
    """What differs between the files of two folders, line by line, as `git diff` shows it."""
    found: list[str] = []
    for name in sorted(before.keys() | after.keys()):
        old, new = (text.get(name, "").splitlines() for text in (before, after))
        found += unified_diff(old, new, f"crds/{name}", f"models/{name}", lineterm="")
    return "\n".join(found)


def test_the_folder_is_generated(tmp_path: Path) -> None:
    """It is exactly what the models say now: after a change of theirs, run `make crds`."""
    assert len(schema.write(tmp_path / "new")) == len(schema.KINDS)
    assert not changes(texts(ROOT / "crds"), texts(tmp_path / "new"))


def test_the_charts_copies_are_the_same() -> None:
    """`make crds` writes both."""
    copies = ROOT / "helm" / "elasticgpu" / "files" / "crds"
    assert not changes(texts(ROOT / "crds"), texts(copies))


def test_a_change_is_read_as_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another sentence of a rule, another bound: those lines alone, and none about the rest."""
    kept = texts(ROOT / "crds")
    (rule,) = crd_rules.RULES["GPU.spec"]
    said = "cards do not walk: let the other node report"
    monkeypatch.setitem(crd_rules.RULES, "GPU.spec", [replace(rule, message=said)])
    monkeypatch.setattr("elasticgpu.api.structural.MAX_LENGTH", 31)
    schema.write(tmp_path)
    lines = changes(kept, texts(tmp_path)).splitlines()
    changed = {line.strip() for line in lines if re.match(r"[-+][^-+]", line)}
    assert {re.sub(r"^([-+]) +", r"\1 ", line) for line in changed} == {
        f"- message: '{rule.message}'",
        f"+ message: '{said}'",
        "- maxLength: 32",
        "+ maxLength: 31",
    }


def test_the_command_in_the_files_works(tmp_path: Path) -> None:
    """`python -m elasticgpu.api.schema <folder>`, as their first line says."""
    command = [sys.executable, "-m", "elasticgpu.api.schema", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True)
    assert not changes(texts(ROOT / "crds"), texts(tmp_path))


@KINDS
def test_the_text_is_the_object(kind: type[KubeObject]) -> None:
    """No anchors, nothing lost, the same text each time, and a header that says how."""
    text = schema.render(kind)
    assert yaml.safe_load(text) == schema.crd(kind)
    assert text == schema.render(kind)
    assert text.startswith("# Generated ")
    assert "python -m elasticgpu.api.schema" in text.splitlines()[0]


@KINDS
def test_everything_is_bounded(kind: type[KubeObject]) -> None:
    """Else the rules' estimated cost passes the budget and the API server refuses the kind."""
    for path, node in fields(kind):
        if "additionalProperties" in node:
            assert "maxProperties" in node, path
        if node.get("type") == "array":
            assert "maxItems" in node, path
        if node.get("type") == "string" or "x-kubernetes-int-or-string" in node:
            assert "maxLength" in node or "enum" in node, path


@KINDS
def test_the_schema_is_structural(kind: type[KubeObject]) -> None:
    """Nothing the API server does not know, and unknown fields are pruned."""
    known = {
        *("additionalProperties", "default", "description", "enum", "format", "items"),
        *("maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength", "minimum"),
        *("pattern", "properties", "required", "type"),
        *("x-kubernetes-int-or-string", "x-kubernetes-validations"),
        *("x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
    }
    for path, node in fields(kind):
        assert set(node) <= known, path
        assert "type" in node or "x-kubernetes-int-or-string" in node, path


@KINDS
def test_every_field_is_explained(kind: type[KubeObject]) -> None:
    """`kubectl explain` has a sentence for each."""
    for path, node in fields(kind):
        if not path.endswith(("[]", "{}")):
            assert node.get("description", "").endswith("."), path


@KINDS
def test_a_spec_is_required(kind: type[KubeObject]) -> None:
    """So that rules about change, which stand on it, cannot be escaped by leaving it out."""
    assert structural(kind)["required"] == ["spec"]


@KINDS
def test_rules_about_change_cannot_be_escaped(kind: type[KubeObject]) -> None:
    """They stand on the object or its spec, which are always there, never on an optional field."""
    for path, rule in rules(kind):
        if "oldSelf" in rule["rule"]:
            assert path in ("", ".spec")
            assert rule["reason"] == "FieldValueForbidden"


@KINDS
def test_refusals_are_sentences(kind: type[KubeObject]) -> None:
    """What is wrong, then what to do."""
    for _, rule in rules(kind):
        wrong, colon, to_do = rule["message"].partition(": ")
        assert wrong
        assert colon
        assert to_do
        assert "\n" not in rule["message"]


@KINDS
def test_user_text_is_no_quantity_before_its_pattern(kind: type[KubeObject]) -> None:
    """`quantity('1e999999999')` keeps the API server busy for minutes, and rules run anyway."""
    for path, rule in rules(kind):
        assert "isQuantity" not in rule["rule"], path
        assert rule["rule"].count("quantity(string(") == rule["rule"].count(" ? string("), path


def test_the_data_is_used() -> None:
    """Every rule, set, keyed list and default stands somewhere: a misspelt path would not."""
    nodes = [(path, node) for kind in schema.KINDS for path, node in fields(kind)]
    said = {rule["rule"] for kind in schema.KINDS for _, rule in rules(kind)}
    assert {rule.holds for held in crd_rules.RULES.values() for rule in held} <= said
    keys = {node["x-kubernetes-list-map-keys"][0] for _, node in nodes if _is(node, "map")}
    assert keys == set(crd_fields.LIST_KEYS.values())
    sets = {path.rpartition(".")[2] for path, node in nodes if _is(node, "set")}
    assert sets == {name.rpartition(".")[2] for name in crd_fields.SETS}


def _is(node: Json, kind: str) -> bool:
    return bool(node.get("x-kubernetes-list-type") == kind)


def test_the_only_defaults() -> None:
    """Defaults are written into users' objects: only policies, which no release must bend."""
    found = {
        (kind.__name__, path): node["default"]
        for kind in schema.KINDS
        for path, node in fields(kind)
        if "default" in node
    }
    assert found == {
        ("ElasticGPU", ".spec.reclaimPolicy"): "Delete",
        ("ElasticGPUClass", ".spec.reclaimPolicy"): "Delete",
        ("ElasticGPUClass", ".spec.eGPUBindingMode"): "Immediate",
    }


def test_status_is_a_subresource_where_there_is_one() -> None:
    """Users' PUTs do not touch it, and the controllers' writes of it do not touch the spec."""
    versions = {kind.__name__: schema.crd(kind)["spec"]["versions"][0] for kind in schema.KINDS}
    without = [name for name, version in versions.items() if "subresources" not in version]
    assert without == ["ElasticGPUClaimTemplate"]
    assert "status" not in versions["ElasticGPUClaimTemplate"]["schema"]["openAPIV3Schema"]


def test_the_category_is_nobodys_name() -> None:
    """kubectl reads `get <category> <name>` as several kinds at once, and refuses."""
    for kind in schema.KINDS:
        names = schema.crd(kind)["spec"]["names"]
        taken = {names["singular"], names["plural"], *names["shortNames"]}
        assert not taken & set(names["categories"])


def test_what_cannot_be_said_is_refused() -> None:
    """A field of a type that has no structural schema fails the generation, with its name."""

    class Loose(KubeObject):
        """A kind with a number that is not whole."""

        spec: float

    with pytest.raises(TypeError, match="no structural schema for number"):
        structural(Loose)
