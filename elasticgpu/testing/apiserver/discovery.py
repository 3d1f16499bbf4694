"""Discovery: which groups, versions and resources there are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .kinds import Json, Kind, Registry
from .version import VERSION

_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_ACTIONS: dict[str, Json] = {
    "binding": {"kind": "Binding"},
    "token": {"kind": "TokenRequest", "group": "authentication.k8s.io", "version": "v1"},
    "eviction": {"kind": "Eviction", "group": "policy", "version": "v1"},
}
_AGGREGATED = "apidiscovery.k8s.io/v2"
AGGREGATED_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def answer(kinds: Registry, path: str, accept: str) -> Json | None:
    """The document at that path; None if there is none."""
    parts = [part for part in path.split("/") if part]
    aggregated = "as=APIGroupDiscoveryList" in accept and "v=v2" in accept.replace("v=v2beta1", "")
    match parts:
        case ["version"]:
            major, minor, _ = VERSION.lstrip("v").split(".")
            return {"major": major, "minor": minor, "gitVersion": VERSION, "platform": "any/any"}
        case ["api"]:
            core = [kind for kind in kinds if not kind.resource.group]
            return (
                _aggregate({"": core})
                if aggregated
                else {"kind": "APIVersions", "versions": ["v1"]}
            )
        case ["apis"]:
            return _aggregate(_groups(kinds)) if aggregated else _group_list(kinds)
        case ["apis", group]:
            found = _groups(kinds).get(group)
            return {**_head("APIGroup"), **_group(group, found)} if found else None
        case ["api", version]:
            return _resources(kinds, "", version)
        case ["apis", group, version]:
            return _resources(kinds, group, version)
        case _:
            return None


def _head(kind: str) -> Json:
    return {"kind": kind, "apiVersion": "v1"}


def _groups(kinds: Iterable[Kind]) -> dict[str, list[Kind]]:
    found: dict[str, list[Kind]] = {}
    for kind in kinds:
        if kind.resource.group:
            found.setdefault(kind.resource.group, []).append(kind)
    return found


def _group_list(kinds: Registry) -> Json:
    groups = [_group(name, found) for name, found in _groups(kinds).items()]
    return {**_head("APIGroupList"), "groups": groups}


def _versions(found: list[Kind]) -> list[str]:
    return list(dict.fromkeys(kind.resource.version for kind in found))


def _group(name: str, found: list[Kind]) -> Json:
    versions = [{"groupVersion": f"{name}/{one}", "version": one} for one in _versions(found)]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def _resources(kinds: Registry, group: str, version: str) -> Json | None:
    found = [
        kind for kind in kinds if (kind.resource.group, kind.resource.version) == (group, version)
    ]
    if not found:
        return None
    name = f"{group}/{version}" if group else version
    listed = [one for kind in found for one in _listed(kind)]
    return {**_head("APIResourceList"), "groupVersion": name, "resources": listed}


def _listed(kind: Kind) -> Iterable[Json]:
    what = kind.resource
    entry: Json = {
        "name": what.plural,
        "singularName": kind.singular,
        "namespaced": what.namespaced,
        "kind": what.kind,
        "verbs": _VERBS,
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    yield entry
    for name in kind.actions:
        yield {
            "name": f"{what.plural}/{name}",
            "singularName": "",
            "namespaced": what.namespaced,
            **_ACTIONS[name],
            "verbs": ["create"],
        }
    for name in _subresources(kind):
        yield {
            "name": f"{what.plural}/{name}",
            "singularName": "",
            "namespaced": what.namespaced,
            "kind": what.kind,
            "verbs": ["get", "patch", "update"],
        }


def _subresources(kind: Kind) -> list[str]:
    return ["status"] if kind.status else []


def _aggregate(groups: dict[str, list[Kind]]) -> Json:
    items = [
        {
            "metadata": {"name": name},
            "versions": [
                {
                    "version": version,
                    "resources": [_described(k) for k in found if k.resource.version == version],
                    "freshness": "Current",
                }
                for version in _versions(found)
            ],
        }
        for name, found in groups.items()
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": _AGGREGATED,
        "metadata": {},
        "items": items,
    }


def _described(kind: Kind) -> Json:
    what = kind.resource
    response: Any = {"group": what.group, "version": what.version, "kind": what.kind}
    entry: Json = {
        "resource": what.plural,
        "responseKind": response,
        "scope": "Namespaced" if what.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": _VERBS,
        "shortNames": list(kind.short_names),
        "categories": list(kind.categories),
    }
    below = _subresources(kind)
    if below:
        entry["subresources"] = [
            {"subresource": one, "responseKind": response, "verbs": ["get", "patch", "update"]}
            for one in below
        ]
    return entry
