"""What a real API server does and the embedded one is known not to do; see `differences`."""

from __future__ import annotations

from .api import Api
from .objects import config, pod, widget


async def test_every_writer_is_in_managed_fields(api: Api) -> None:
    made = await api.create(api.path("configmaps"), config(), fieldManager="me")
    (entry,) = made.meta["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("me", "Update")


async def test_a_conflict_names_who_updated_before_the_first_apply(api: Api) -> None:
    (await api.create(api.path("widgets"), widget(), fieldManager="me")).made()
    other = widget("a", {"color": "blue"})
    refused = await api.patch(api.path("widgets", "a"), other, "apply", fieldManager="m")
    assert 'conflict with "me"' in refused.message


async def test_unknown_fields_of_built_in_kinds_are_refused_if_asked_strictly(api: Api) -> None:
    body = {**config(), "unheard": 1}
    refused = await api.create(api.path("configmaps"), body, fieldValidation="Strict")
    assert (refused.code, refused.reason) == (400, "BadRequest")


async def test_mistyped_fields_of_built_in_kinds_are_refused(api: Api) -> None:
    refused = await api.create(api.path("configmaps"), config(data={"x": 1}))
    assert (refused.code, refused.reason) == (400, "BadRequest")


async def test_a_container_gets_all_its_defaults(api: Api) -> None:
    made = (await api.create(api.path("pods"), pod())).made()
    assert made["spec"]["containers"][0]["imagePullPolicy"] == "Always"


async def test_a_new_node_is_tainted_until_it_is_ready(api: Api) -> None:
    name = f"{api.namespace}-node"
    made = (await api.create(api.path("nodes"), {"metadata": {"name": name}})).made()
    await api.delete(api.path("nodes", name))
    assert made["spec"]["taints"][0]["key"] == "node.kubernetes.io/not-ready"


async def test_a_namespace_gets_its_service_account(api: Api) -> None:
    await api.comes(api.path("serviceaccounts", "default"))


async def test_openapi_of_the_second_version(api: Api) -> None:
    assert (await api.get("/openapi/v2")).body["swagger"] == "2.0"


async def test_who_may_what_can_be_asked(api: Api) -> None:
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert (await api.create(path, review)).body["status"]["allowed"] is True
