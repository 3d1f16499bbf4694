"""Lists: what is in them, in which order, page by page, selected."""

from __future__ import annotations

import pytest

from .api import Api
from .objects import config, pod, widget


async def some(api: Api, *names: str) -> None:
    """ConfigMaps of those names, labelled with the first letter."""
    for name in names:
        labels = {"letter": name[0], "app": "conformance"}
        (await api.create(api.path("configmaps"), config(name, labels=labels))).made()


APP = "app=conformance"


async def test_a_list_is_in_the_order_of_names(api: Api) -> None:
    await some(api, "c", "a", "b")
    found = await api.get(api.path("configmaps"), labelSelector=APP)
    assert (found.code, found.body["kind"], found.names) == (200, "ConfigMapList", ["a", "b", "c"])


async def test_items_of_built_in_lists_do_not_repeat_their_kind(api: Api) -> None:
    await some(api, "a")
    (item,) = (await api.get(api.path("configmaps"), labelSelector=APP)).body["items"]
    assert "kind" not in item
    assert "apiVersion" not in item


async def test_items_of_custom_lists_repeat_their_kind(api: Api) -> None:
    (await api.create(api.path("widgets"), widget())).made()
    found = (await api.get(api.path("widgets"))).body
    assert (found["kind"], found["items"][0]["kind"]) == ("WidgetList", "Widget")


async def test_an_empty_list_has_a_version(api: Api) -> None:
    found = await api.get(api.path("widgets"))
    assert (found.body["items"], int(found.version) > 0) == ([], True)


async def test_a_list_is_as_new_as_the_last_write(api: Api) -> None:
    made = await api.create(api.path("widgets"), widget())
    found = await api.get(api.path("widgets"))
    assert int(found.version) >= int(made.version)


async def test_all_namespaces_in_one_list(api: Api) -> None:
    (await api.create(api.path("widgets"), widget("everywhere"))).made()
    found = await api.get("/apis/conformance.example.com/v1/widgets")
    assert (api.namespace, "everywhere") in [
        (item["metadata"]["namespace"], item["metadata"]["name"]) for item in found.body["items"]
    ]


async def test_pages_are_as_of_one_version(api: Api) -> None:
    await some(api, "a", "b", "c", "d", "e")
    path = api.path("configmaps")
    first = await api.get(path, limit="2", labelSelector=APP)
    assert first.names == ["a", "b"]
    token = first.meta["continue"]
    await some(api, "bb", "f")
    await api.delete(api.path("configmaps", "d"))
    second = await api.get(path, **{"limit": "2", "labelSelector": APP, "continue": token})
    assert (second.names, second.version) == (["c", "d"], first.version)
    token = second.meta["continue"]
    last = await api.get(path, **{"limit": "2", "labelSelector": APP, "continue": token})
    assert (last.names, last.meta.get("continue", "")) == (["e"], "")


async def test_a_page_tells_how_many_are_left_unless_selected(api: Api) -> None:
    for name in "abc":
        (await api.create(api.path("widgets"), widget(name))).made()
    found = await api.get(api.path("widgets"), limit="1")
    assert found.meta["remainingItemCount"] == 2
    found = await api.get(api.path("widgets"), limit="1", fieldSelector="spec.color=red")
    assert "remainingItemCount" not in found.meta
    assert found.meta["continue"]


async def test_a_list_with_limit_beyond_its_end_has_no_token(api: Api) -> None:
    (await api.create(api.path("widgets"), widget())).made()
    found = await api.get(api.path("widgets"), limit="5")
    assert (found.names, found.meta.get("continue", "")) == (["a"], "")


async def test_a_broken_token_is_400(api: Api) -> None:
    refused = await api.get(api.path("widgets"), **{"continue": "nonsense", "limit": "1"})
    assert (refused.code, refused.reason) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("letter=a", ["a", "aa"]),
        ("letter==a", ["a", "aa"]),
        ("letter!=a", ["b", "c"]),
        ("letter in (a, b)", ["a", "aa", "b"]),
        ("letter notin (a,b)", ["c"]),
        ("letter", ["a", "aa", "b", "c"]),
        ("!letter", []),
        ("!other,letter=c", ["c"]),
        ("letter in (a),app!=x", ["a", "aa"]),
    ],
)
async def test_label_selectors(api: Api, selector: str, names: list[str]) -> None:
    await some(api, "a", "aa", "b", "c")
    found = await api.get(api.path("configmaps"), labelSelector=f"{selector},{APP}")
    assert found.names == names


async def test_a_broken_label_selector_is_400(api: Api) -> None:
    refused = await api.get(api.path("configmaps"), labelSelector="a in b")
    assert (refused.code, refused.reason) == (400, "BadRequest")


async def test_field_selectors_of_names(api: Api) -> None:
    await some(api, "a", "b")
    path = api.path("configmaps")
    assert (await api.get(path, fieldSelector="metadata.name=b")).names == ["b"]
    found = await api.get(path, fieldSelector="metadata.name!=b", labelSelector=APP)
    assert found.names == ["a"]


async def test_field_selectors_that_a_crd_declares(api: Api) -> None:
    (await api.create(api.path("widgets"), widget("a"))).made()
    (await api.create(api.path("widgets"), widget("b", {"color": "blue"}))).made()
    path = api.path("widgets")
    assert (await api.get(path, fieldSelector="spec.color=blue")).names == ["b"]
    assert (await api.get(path, fieldSelector="spec.color!=blue")).names == ["a"]


async def test_pods_by_node_and_phase(api: Api) -> None:
    (await api.create(api.path("pods"), pod("a"))).made()
    (await api.create(api.path("pods"), pod("b", {"nodeName": "nowhere"}))).made()
    path = api.path("pods")
    assert (await api.get(path, fieldSelector="spec.nodeName=nowhere")).names == ["b"]
    assert (await api.get(path, fieldSelector="spec.nodeName=,status.phase=Pending")).names == ["a"]


async def test_an_unknown_field_selector_is_400(api: Api) -> None:
    for plural in ("configmaps", "widgets"):
        refused = await api.get(api.path(plural), fieldSelector="spec.unknown=1")
        assert (refused.code, refused.reason) == (400, "BadRequest")


async def test_a_version_that_is_not_yet_is_504(api: Api) -> None:
    found = await api.get(api.path("widgets"))
    future = str(int(found.version) + 10**6)
    refused = await api.get(
        api.path("widgets"), resourceVersion=future, resourceVersionMatch="NotOlderThan"
    )
    assert (refused.code, refused.reason) == (504, "Timeout")
    assert "Too large resource version" in refused.message
    assert refused.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert refused.body["details"]["retryAfterSeconds"] == 1


async def test_a_list_at_exactly_a_version(api: Api) -> None:
    made = await api.create(api.path("widgets"), widget("a"))
    (await api.create(api.path("widgets"), widget("b"))).made()
    exact = {"resourceVersion": made.version, "resourceVersionMatch": "Exact"}
    found = await api.get(api.path("widgets"), **exact)
    assert (found.names, found.version) == (["a"], made.version)


async def test_a_list_not_older_than_a_version(api: Api) -> None:
    made = await api.create(api.path("widgets"), widget("a"))
    query = {"resourceVersion": made.version, "resourceVersionMatch": "NotOlderThan"}
    assert (await api.get(api.path("widgets"), **query)).names == ["a"]


async def test_a_match_without_a_version_is_refused(api: Api) -> None:
    refused = await api.get(api.path("widgets"), resourceVersionMatch="Exact")
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert "resourceVersionMatch is forbidden unless resourceVersion is provided" in refused.message


async def test_a_version_that_is_no_number_is_refused(api: Api) -> None:
    refused = await api.get(api.path("widgets"), resourceVersion="x")
    assert refused.code in (400, 422)
