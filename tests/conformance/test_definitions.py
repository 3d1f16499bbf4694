"""Definitions of kinds: when they are served, and which are refused."""

from __future__ import annotations

from copy import deepcopy

from .api import Api
from .objects import GADGETS, GROUP, WIDGETS

CRD = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{GROUP}"


async def test_a_definition_is_established(api: Api) -> None:
    found = (await api.get(CRD)).body
    facts = {one["type"]: one["status"] for one in found["status"]["conditions"]}
    assert facts == {"NamesAccepted": "True", "Established": "True"}
    assert found["status"]["storedVersions"] == ["v1"]
    assert found["status"]["acceptedNames"] == {
        "kind": "Widget",
        "listKind": "WidgetList",
        "plural": "widgets",
        "shortNames": ["wi"],
        "singular": "widget",
    }
    assert found["spec"]["names"] == found["status"]["acceptedNames"]


async def test_a_definition_under_another_name_is_422(api: Api) -> None:
    refused = await api.create(
        api.path("customresourcedefinitions"), WIDGETS | {"metadata": {"name": "x"}}
    )
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert 'metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group' in (
        refused.message
    )


async def test_a_kind_comes_and_goes_with_its_definition(api: Api) -> None:
    plural = f"{api.namespace.replace('-', '')}s"
    group = f"{api.namespace}.example.com"
    names = {"kind": plural.capitalize(), "plural": plural}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    name = f"{plural}.{group}"
    crd = {
        "metadata": {"name": name},
        "spec": {"group": group, "scope": "Cluster", "names": names, "versions": [version]},
    }
    path = f"/apis/{group}/v1/{plural}"
    assert (await api.get(path)).code == 404
    (await api.create(api.path("customresourcedefinitions"), crd)).made()
    await api.comes(path)
    body = {"apiVersion": f"{group}/v1", "kind": names["kind"], "metadata": {"name": "a"}}
    (await api.create(path, body)).made()
    going = await api.delete(api.path("customresourcedefinitions", name))
    assert going.meta["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    await api.gone(api.path("customresourcedefinitions", name))
    await api.gone(path)


async def test_a_definition_whose_rule_is_no_cel_is_refused(api: Api) -> None:
    crd = deepcopy(GADGETS)
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["x-kubernetes-validations"] = [{"rule": "this is no expression"}]
    crd["metadata"]["name"] = f"gizmos.{GROUP}"
    crd["spec"]["names"] = {"plural": "gizmos", "kind": "Gizmo"}
    refused = await api.create(api.path("customresourcedefinitions"), crd)
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert "x-kubernetes-validations[0].rule: Invalid value" in refused.message
    assert "compilation failed" in refused.message
