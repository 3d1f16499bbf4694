"""The chart's admission policies on the embedded server, evaluated as they are written: the same
tables as on a real one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import pytest

from elasticgpu.errors import ApiError, Forbidden, Invalid
from elasticgpu.testing.apiserver import ApiServer, DirectClient, User
from elasticgpu.testing.simulation import installing
from elasticgpu.testing.simulation.installing import NAMESPACE
from tests.cases.admission.agents import NODES, OURS, WRITES, Write, device, gpu, merged
from tests.cases.admission.edits import EDITS
from tests.cases.admission.pods import HERE, PODS, TRIAL, claim, entries_of, pod
from tests.cases.admission.refused import REFUSED
from tests.cases.admission.served import SERVED, Served

pytestmark = pytest.mark.looptime

Object = dict[str, Any]
ACCOUNTS = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
MERGE = "application/merge-patch+json"
MIRROR = "kubernetes.io/config.mirror"


@pytest.fixture(scope="session")
def policies() -> list[Object]:
    """Those of the chart, with their bindings, as helm renders them."""
    return [one for one in installing.policies() if "AdmissionPolicy" in one["kind"]]


@pytest.fixture
async def api(server: ApiServer, client: DirectClient, policies: list[Object]) -> DirectClient:
    """The admin's client, with the policies at work."""
    for one in policies:
        server.create(one["apiVersion"], one["kind"], one)
    for name in (HERE, NAMESPACE):
        server.create("v1", "Namespace", {"metadata": {"name": name}})
    return client


async def denial(client: DirectClient, method: str, path: str, body: Any, content: str = "") -> str:
    """What a policy says against a request; empty if it goes through."""
    path, _, query = path.partition("?")
    params = dict(part.split("=") for part in query.split("&")) if query else {}
    content = content or "application/json"
    try:
        await client.raw(method, path, params=params, body=body, content_type=content)
    except ApiError as error:
        return error.message.partition("denied request: ")[2] or str(error)
    return ""


@pytest.mark.parametrize("row", SERVED, ids=lambda row: row.why)
async def test_served(api: DirectClient, row: Served) -> None:
    made = await api.raw("POST", PODS, params={"dryRun": "All"}, body=row.pod)
    spec = made["spec"]
    references = {
        one["name"]: [ref["name"] for ref in one.get("resources", {}).get("claims", [])]
        for one in [*spec.get("initContainers", []), *spec["containers"]]
    }
    assert entries_of(made) == row.entries
    assert references == row.containers
    assert made["metadata"].get("labels", {}) == row.labels
    assert made["metadata"].get("annotations", {}) == row.pod["metadata"]["annotations"]


@pytest.mark.parametrize(("body", "sentence"), REFUSED, ids=[s[:60] for _, s in REFUSED])
async def test_refused(api: DirectClient, body: Object, sentence: str) -> None:
    assert await denial(api, "POST", TRIAL, body) == sentence


@pytest.mark.parametrize(("which", "patch", "sentence"), EDITS)
async def test_edits(api: DirectClient, which: str, patch: Object, sentence: str) -> None:
    bodies = {
        "using": pod({claim("test"): "a"}),
        "plain": pod({}),
        "unmet": pod({claim("test"): "a", MIRROR: "x"}, nodeName="node-1", schedulingGates=[]),
    }
    await api.raw("POST", PODS, body=bodies[which])
    assert await denial(api, "PATCH", f"{PODS}/trial?dryRun=All", patch, MERGE) == sentence


class Nodes(NamedTuple):
    """The clients of one account: bound to the first node, to nothing, to a pod on that node."""

    agent: DirectClient
    unbound: DirectClient
    in_pod: DirectClient


@pytest.fixture
async def nodes(server: ApiServer, api: DirectClient) -> AsyncIterator[Nodes]:
    """Two nodes with a card and a device each, and the agent of the first."""
    for name in NODES:
        server.create("v1", "Node", {"metadata": {"name": name}})
        server.create("elasticgpu.io/v1alpha1", "GPU", gpu(f"{name}-0", name))
        server.create("elasticgpu.io/v1alpha1", "ElasticGPU", device(f"{name}-device", name))
    server.create("elasticgpu.io/v1alpha1", "ElasticGPU", device("admission-remote", ""))
    server.create("v1", "Pod", pod({}, nodeName=NODES[0], schedulingGates=[]), NAMESPACE)
    await api.raw("POST", ACCOUNTS, body={"metadata": {"name": "elasticgpu-agent"}})
    owners = (("Node", NODES[0]), ("", ""), ("Pod", "trial"))
    async with AsyncExitStack() as stack:
        clients = [DirectClient(server, authorization=await bearer(api, *one)) for one in owners]
        yield Nodes(*[await stack.enter_async_context(one) for one in clients])


async def bearer(api: DirectClient, kind: str, name: str) -> str:
    """The header of a token of the agent's account, bound to that node or pod."""
    spec = {"boundObjectRef": {"kind": kind, "name": name}} if kind else {}
    answer = await api.raw("POST", f"{ACCOUNTS}/elasticgpu-agent/token", body={"spec": spec})
    return f"Bearer {answer['status']['token']}"


@pytest.mark.parametrize("row", WRITES, ids=lambda row: row.why)
async def test_agent_writes(nodes: Nodes, row: Write) -> None:
    path = f"{OURS}/{row.path}"
    there = await nodes.agent.raw("GET", path.removesuffix("/status"))
    changed = merged(there, row.change)
    assert await denial(nodes.agent, "PUT", f"{path}?dryRun=All", changed) == row.sentence


async def test_agents_publish_their_own_cards_only(nodes: Nodes) -> None:
    cards, (here, there) = f"{OURS}/gpus", NODES
    assert await denial(nodes.agent, "POST", cards, gpu("new", here)) == ""
    assert await denial(nodes.agent, "DELETE", f"{cards}/{here}-0", None) == ""
    for method, path, body in (
        ("POST", cards, gpu("other", there)),
        ("DELETE", f"{cards}/{there}-0", None),
    ):
        assert f'which is on node "{there}"' in await denial(nodes.agent, method, path, body)


async def test_a_token_says_which_node(nodes: Nodes) -> None:
    cards, (here, there) = f"{OURS}/gpus?dryRun=All", NODES
    assert "names no node" in await denial(nodes.unbound, "POST", cards, gpu("new", here))
    assert await denial(nodes.in_pod, "POST", cards, gpu("new", here)) == ""
    assert "may not write GPU new" in await denial(nodes.in_pod, "POST", cards, gpu("new", there))


async def test_a_refusal_names_policy_and_binding(api: DirectClient) -> None:
    with pytest.raises(Invalid) as refused:
        await api.raw("POST", PODS, body=pod({claim("nobody"): "a"}))
    assert refused.value.message.startswith(
        "pods \"trial\" is forbidden: ValidatingAdmissionPolicy 'elasticgpu-new-pods' with binding "
        "'elasticgpu-new-pods' denied request: "
    )


async def test_nobody_is_let_in_without_a_token() -> None:
    server = ApiServer(tokens={"secret": User("me")})
    for header in ("", "Bearer wrong", "Basic secret"):
        async with DirectClient(server, authorization=header) as stranger:
            with pytest.raises(Forbidden, match="401 Unauthorized"):
                await stranger.raw("GET", "/api/v1/namespaces")
    async with DirectClient(server, authorization="Bearer secret") as known:
        assert (await known.raw("GET", "/api/v1/namespaces"))["items"]
