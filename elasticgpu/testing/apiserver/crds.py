"""CustomResourceDefinitions: what is stored is served, a moment after it was stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from elasticgpu.api.meta import Resource

from . import pruning, schemas
from .checking import check, shown
from .expressions import Failed, compiled
from .jsonpaths import find
from .kinds import Checker, Column, Json, Kind, Registry
from .life import stamp
from .refusal import FieldError
from .ruling import UNCHECKED, judge
from .selecting import at_path
from .store import Event

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
TABLE = "apiextensions.k8s.io/customresourcedefinitions"
_AGE = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


class Structural(Checker):
    """The schema of one version of a custom kind at work."""

    def __init__(self, kind: str, api_version: str, schema: Json) -> None:
        self._head = {"apiVersion": api_version, "kind": kind}
        self.openapi = schema
        self.root = schemas.read(schema)

    @property
    def schema(self) -> schemas.Node:
        """The schema of whole objects."""
        return self.root

    def unknown(self, body: Json) -> list[str]:
        """Remove what the schema does not know; the paths of it."""
        return pruning.prune(self.root, body)

    def default(self, body: Json) -> None:
        """Fill in what the schema has a default for."""
        pruning.default(self.root, body)

    def errors(self, body: Json, old: Json | None) -> list[FieldError]:
        """What is wrong with it; of an update only where it changed something."""
        found = check(self.root, body, old)
        if any(error.blocking for error in found):
            return [*found, UNCHECKED]
        before = None if old is None else {**self._head, **old}
        return [*found, *judge(self.root, {**self._head, **body}, before)]


def served(crd: Json) -> Iterator[Kind]:
    """The kinds that a CRD defines, one a version."""
    spec, names = crd["spec"], crd["spec"]["names"]
    for version in spec["versions"]:
        if version.get("served"):
            yield _kind(spec, names, version)


def _kind(spec: Json, names: Json, version: Json) -> Kind:
    group, plural = spec["group"], names["plural"]
    shorts = tuple(names.get("shortNames", ()))
    what = Resource(
        group,
        version["name"],
        names["kind"],
        plural,
        spec["scope"] == "Namespaced",
        shorts[0] if shorts else "",
    )
    schema = version.get("schema", {}).get("openAPIV3Schema", {})
    paths = [one["jsonPath"].lstrip(".") for one in version.get("selectableFields", ())]
    return Kind(
        resource=what,
        singular=names.get("singular") or names["kind"].lower(),
        short_names=shorts,
        categories=tuple(names.get("categories", ())),
        custom=True,
        status="status" in (version.get("subresources") or {}),
        unconditional=False,
        generation="content",
        fields={path: at_path(path) for path in paths},
        columns=tuple(_columns(version.get("additionalPrinterColumns") or [_AGE])),
        checker=Structural(names["kind"], what.api_version, schema),
    )


def _columns(raw: list[Json]) -> Iterator[Column]:
    for one in raw:
        yield Column(
            one["name"],
            one["type"],
            _cell(find(one["jsonPath"])),
            one.get("priority", 0),
            one.get("description", ""),
            one.get("format", ""),
        )


def _cell(read: Callable[[Any], list[Any]]) -> Callable[[Json], Any]:
    def cell(body: Json) -> Any:
        found = read(body)
        return found[0] if found else None

    return cell


def complete(crd: Json, now: datetime) -> None:
    """Fill in what the server knows of a new CRD: its other names and its status."""
    spec = crd["spec"]
    names = spec["names"]
    names.setdefault("singular", names["kind"].lower())
    names.setdefault("listKind", f"{names['kind']}List")
    spec.setdefault("conversion", {"strategy": "None"})
    crd["status"] = _established(spec, now)


def _established(spec: Json, now: datetime) -> Json:
    facts = (
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    )
    return {
        "acceptedNames": spec["names"],
        "conditions": [
            {
                "type": kind,
                "status": "True",
                "reason": reason,
                "message": message,
                "lastTransitionTime": stamp(now),
            }
            for kind, reason, message in facts
        ],
        "storedVersions": [one["name"] for one in spec["versions"] if one.get("storage")],
    }


def errors(crd: Json) -> list[FieldError]:
    """What is wrong with a CRD: what it lacks, its name, its rules."""
    spec = crd.get("spec", {})
    found = [
        FieldError(f"spec.{name}", "FieldValueRequired", "Required value")
        for name in ("group", "names", "scope", "versions")
        if not spec.get(name)
    ]
    if found:
        return found
    wanted = f"{spec['names']['plural']}.{spec['group']}"
    if crd["metadata"].get("name") != wanted:
        name = crd["metadata"].get("name")
        text = f'Invalid value: "{name}": must be spec.names.plural+"."+spec.group'
        found.append(FieldError("metadata.name", "FieldValueInvalid", text))
    for version in spec["versions"]:
        schema = version.get("schema", {}).get("openAPIV3Schema", {})
        found += _broken(schemas.read(schema), "spec.validation.openAPIV3Schema")
    return found


def _broken(node: schemas.Node, path: str) -> Iterator[FieldError]:
    """The rules that are no CEL."""
    for number, rule in enumerate(node.rules):
        try:
            compiled(rule.text, ("self", "oldSelf") if rule.transition else ("self",))
        except Failed as error:
            where = f"{path}.x-kubernetes-validations[{number}].rule"
            text = f"Invalid value: {shown(rule.text)}: compilation failed: {error}"
            yield FieldError(where, "FieldValueInvalid", text)
    for name, below in node.properties.items():
        yield from _broken(below, f"{path}.properties[{name}]")
    for key, inner in (("items", node.items), ("additionalProperties", node.additional)):
        if inner is not None:
            yield from _broken(inner, f"{path}.{key}")


class Installed:
    """Keeps the registry at what the stored CRDs say."""

    def __init__(self, kinds: Registry) -> None:
        self._kinds = kinds

    def notice(self, event: Event) -> None:
        """A CRD was written: serve what it says now, and no longer what it said before."""
        now = [] if event.change == "DELETED" else list(served(event.entry.body))
        kept = {(kind.resource.group, kind.resource.version, kind.resource.plural) for kind in now}
        if event.before and event.change != "ADDED":
            spec = event.before.body["spec"]
            for version in spec["versions"]:
                where = (spec["group"], version["name"], spec["names"]["plural"])
                old = self._kinds.find(*where)
                if old and where not in kept:
                    self._kinds.remove(old)
        if event.before and event.before.body["spec"] == event.entry.body["spec"]:
            return
        for kind in now:
            self._kinds.add(kind)
