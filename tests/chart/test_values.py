"""Every value has its comment and its schema; a wrong one is refused before anything is made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
import yaml

from tests.chart.conftest import CHART, Helm, Object

VALUES = CHART / "values.yaml"
SCHEMA: Object = json.loads((CHART / "values.schema.json").read_text())


def test_every_value_has_a_comment() -> None:
    """The line above each key is a comment, as deep as the key, and a sentence."""
    lines = VALUES.read_text().splitlines()
    for above, line in zip(["", *lines], lines, strict=False):
        if key := re.match(r"( *)[A-Za-z]+:", line):
            comment = re.fullmatch(rf"{key[1]}# .*[.:]", above)
            assert comment, f"no comment above {line!r}: {above!r}"


def test_schema_knows_every_value() -> None:
    """The schema's paths are those of values.yaml, and the global one that helm itself adds."""
    values = yaml.safe_load(VALUES.read_text())
    assert set(schema_paths(SCHEMA)) - {"global"} == set(value_paths(values))


def value_paths(values: Object, path: str = "") -> Iterator[str]:
    """Paths of all values; what is handed on to Kubernetes as it is counts as one."""
    handed_on = {"resources", "updateStrategy", "affinity"}
    for key, value in values.items():
        nested = isinstance(value, dict) and value and key not in handed_on
        yield from value_paths(value, f"{path}{key}.") if nested else [path + key]


def schema_paths(schema: Object, path: str = "") -> Iterator[str]:
    """Paths of all values the schema describes."""
    for key, found in schema["properties"].items():
        target = found.get("$ref", "").removeprefix("#/definitions/")
        part = SCHEMA["definitions"][target] if target else found
        closed = part.get("additionalProperties") is False and target != "resources"
        yield from schema_paths(part, f"{path}{key}.") if closed else [path + key]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("controler.enabled=true", "controler"),
        ("controller.replicas=0", "replicas"),
        ("controller.replicas=two", "replicas"),
        ("controller.healthPort=70000", "healthPort"),
        ("controller.serviceAccount.name=Not_A_Name", "name"),
        ("agent.kubeletDir=relative/path", "kubeletDir"),
        ("agent.stateDir=/var/lib/elasticgpu/", "stateDir"),
        ("agent.updateStrategy.type=Sometimes", "type"),
        ("agent.hostDirs[0]=relative/path", "hostDirs"),
        ("agent.privileged=maybe", "privileged"),
        ("agent.simulate.nodes=3", "simulate"),
        ("image.pullPolicy=Sometimes", "pullPolicy"),
        ("image.repository=", "repository"),
        ("crds.install=perhaps", "install"),
        ("kubernetesServicePort=https", "kubernetesServicePort"),
        ("fullnameOverride=Upper", "fullnameOverride"),
    ],
)
def test_refused(helm: Helm, value: str, words: str) -> None:
    """A misspelt or impossible value is refused, and the refusal names it."""
    done = helm("template", "elasticgpu", str(CHART), "--set", value)
    assert done.returncode != 0
    assert words in done.stderr


def test_lint(helm: Helm) -> None:
    """`helm lint --strict` has nothing to say."""
    done = helm("lint", "--strict", str(CHART))
    assert done.returncode == 0, done.stdout


def test_older_servers_are_refused(helm: Helm) -> None:
    """Before 1.36 there is no MutatingAdmissionPolicy v1, and helm says so before it begins."""
    done = helm("template", "elasticgpu", str(CHART), "--kube-version", "1.35.4")
    assert "requires kubeVersion: >=1.36.0-0" in done.stderr
