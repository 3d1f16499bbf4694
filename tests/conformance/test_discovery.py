"""What there is, and how it is printed."""

from __future__ import annotations

from typing import Any

from .api import Api, Object
from .objects import GROUP, config, pod, widget

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
VERBS = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}


async def test_the_version(api: Api) -> None:
    found = (await api.get("/version")).body
    assert (found["major"], found["minor"]) == ("1", "36")


async def test_the_server_says_that_it_is_ready(api: Api) -> None:
    for path in ("/healthz", "/livez", "/readyz"):
        found = await api.get(path)
        assert (found.code, found.message) == (200, "ok")


async def test_groups_are_listed(api: Api) -> None:
    found = (await api.get("/apis")).body
    group = next(one for one in found["groups"] if one["name"] == GROUP)
    assert group["preferredVersion"] == {"groupVersion": f"{GROUP}/v1", "version": "v1"}
    assert (await api.get(f"/apis/{GROUP}")).body["versions"] == group["versions"]
    assert (await api.get("/api")).body["versions"] == ["v1"]


async def test_the_resources_of_a_group(api: Api) -> None:
    found = (await api.get(f"/apis/{GROUP}/v1")).body
    named = {one["name"]: one for one in found["resources"]}
    assert set(named) == {"widgets", "widgets/status", "gadgets"}
    widgets = named["widgets"]
    assert (widgets["kind"], widgets["namespaced"]) == ("Widget", True)
    assert (widgets["shortNames"], widgets["singularName"]) == (["wi"], "widget")
    assert set(widgets["verbs"]) == VERBS
    assert set(named["widgets/status"]["verbs"]) == {"get", "patch", "update"}


async def test_the_core_resources(api: Api) -> None:
    found = (await api.get("/api/v1")).body
    named = {one["name"]: one for one in found["resources"]}
    for name in ("pods", "pods/status", "pods/binding", "pods/eviction", "configmaps", "events"):
        assert name in named
    assert named["pods/eviction"]["kind"] == "Eviction"
    assert named["configmaps"]["shortNames"] == ["cm"]


async def test_aggregated_discovery(api: Api) -> None:
    found = await api.ask("GET", "/apis", accept=AGGREGATED)
    assert found.body["kind"] == "APIGroupDiscoveryList"
    group = next(one for one in found.body["items"] if one["metadata"]["name"] == GROUP)
    (version,) = group["versions"]
    named = {one["resource"]: one for one in version["resources"]}
    widgets = named["widgets"]
    assert widgets["responseKind"] == {"group": GROUP, "version": "v1", "kind": "Widget"}
    assert widgets["scope"] == "Namespaced"
    assert [one["subresource"] for one in widgets["subresources"]] == ["status"]
    assert named["gadgets"]["scope"] == "Cluster"


def columns(table: Object) -> list[tuple[str, str, int]]:
    return [(one["name"], one["type"], one["priority"]) for one in table["columnDefinitions"]]


async def test_a_table_has_the_columns_of_the_crd(api: Api) -> None:
    (await api.create(api.path("widgets"), widget("a", {"size": 3}))).made()
    status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    (await api.patch(api.path("widgets", "a", "status"), status)).made()
    (await api.create(api.path("widgets"), widget("b"))).made()
    found = (await api.ask("GET", api.path("widgets"), accept=TABLE)).body
    assert found["kind"] == "Table"
    assert columns(found) == [
        ("Name", "string", 0),
        ("Color", "string", 0),
        ("Size", "integer", 0),
        ("Ready", "string", 1),
        ("Age", "date", 0),
    ]
    cells = [row["cells"][:4] for row in found["rows"]]
    assert cells == [["a", "red", 3, "True"], ["b", "red", 1, None]]
    assert all(row["cells"][4].endswith("s") for row in found["rows"])
    row: dict[str, Any] = found["rows"][0]["object"]
    assert (row["kind"], row["metadata"]["name"]) == ("PartialObjectMetadata", "a")


async def test_a_table_of_one_object_and_of_whole_objects(api: Api) -> None:
    (await api.create(api.path("widgets"), widget())).made()
    path = api.path("widgets", "a")
    found = (await api.ask("GET", path, accept=TABLE, includeObject="Object")).body
    (row,) = found["rows"]
    assert (row["object"]["kind"], row["object"]["spec"]["color"]) == ("Widget", "red")


async def test_tables_of_built_in_kinds(api: Api) -> None:
    (await api.create(api.path("configmaps"), config(labels={"a": "b"}))).made()
    (await api.create(api.path("pods"), pod())).made()
    found = (await api.ask("GET", api.path("configmaps"), accept=TABLE, labelSelector="a=b")).body
    assert columns(found) == [("Name", "string", 0), ("Data", "string", 0), ("Age", "string", 0)]
    assert found["rows"][0]["cells"][:2] == ["a", 1]
    found = (await api.ask("GET", api.path("pods"), accept=TABLE)).body
    shown = [name for name, _, priority in columns(found) if not priority]
    assert shown == ["Name", "Ready", "Status", "Restarts", "Age"]
    assert found["rows"][0]["cells"][:4] == ["a", "0/1", "Pending", "0"]


async def test_a_watch_prints_tables(api: Api) -> None:
    path = api.path("widgets")
    version = (await api.get(path)).version
    async with api.watch(path, accept=TABLE, resourceVersion=version) as events:
        (await api.create(path, widget())).made()
        kind, table = await events.next()
        assert (kind, table["kind"], table["rows"][0]["cells"][:2]) == (
            "ADDED",
            "Table",
            ["a", "red"],
        )
