"""What agents may write: their own node's objects, and of those their own fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.cases.ours import NAMESPACE
from tests.cluster.api import ApiClient, ApiError
from tests.cluster.cluster import Cluster

from .agents import FOREIGN, NODES, OURS, WRITES, A, B, Write, device, gpu, merged
from .pods import Object, pod, remove


class Nodes(NamedTuple):
    """The clients of one account: bound to the first node, to nothing, to a pod on that node."""

    agent: ApiClient
    unbound: ApiClient
    in_pod: ApiClient


@pytest.fixture(scope="module")
def nodes(api: ApiClient, cluster: Cluster) -> Iterator[Nodes]:
    """Two nodes with a card and a device each, and the agent of the first."""
    for name in NODES:
        body: Object = {"metadata": {"name": name}, "spec": {"unschedulable": True}}
        api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", **body})
        api.create(f"{OURS}/gpus", gpu(f"{name}-0", name))
        api.create(f"{OURS}/elasticgpus", device(f"{name}-device", name))
    api.create(f"{OURS}/elasticgpus", device("admission-remote", ""))
    first = api.get(f"/api/v1/nodes/{NODES[0]}")
    runner = pod({}, serviceAccountName="elasticgpu-agent", nodeName=NODES[0], schedulingGates=[])
    agents_pod = f"/api/v1/namespaces/{NAMESPACE}/pods"
    running = api.create(agents_pod, runner)
    yield Nodes(
        cluster.client(token(api, "Node", first)),
        cluster.client(token(api)),
        cluster.client(token(api, "Pod", running)),
    )
    remove(api, f"{agents_pod}/{running['metadata']['name']}")
    for name in ("admission-remote", *(f"{name}-device" for name in NODES)):
        api.patch(f"{OURS}/elasticgpus/{name}", {"metadata": {"finalizers": None}})
        remove(api, f"{OURS}/elasticgpus/{name}")
    for name in NODES:
        remove(api, f"{OURS}/gpus/{name}-0")
        remove(api, f"/api/v1/nodes/{name}")


def token(api: ApiClient, kind: str = "", owner: Object | None = None) -> str:
    """A token of the agent's account, bound to that node or pod."""
    spec: Object = {}
    if owner:
        identity = {key: owner["metadata"][key] for key in ("name", "uid")}
        spec["boundObjectRef"] = {"apiVersion": "v1", "kind": kind, **identity}
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/elasticgpu-agent/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    return str(api.create(path, body)["status"]["token"])


@pytest.mark.parametrize("row", WRITES, ids=lambda row: row.why)
def test_agent_writes(nodes: Nodes, row: Write) -> None:
    """An agent writes its own node's objects, and of those only its own fields."""
    path = f"{OURS}/{row.path}"
    changed = merged(nodes.agent.get(path.removesuffix("/status")), row.change)
    if not row.sentence:
        nodes.agent.replace(f"{path}?dryRun=All", changed)
        return
    with pytest.raises(ApiError) as refusal:
        nodes.agent.replace(f"{path}?dryRun=All", changed)
    assert refusal.value.message.endswith(f"denied request: {row.sentence}")


def test_agents_publish_their_own_cards_only(nodes: Nodes) -> None:
    """Create, server-side apply and delete: each on its own node only."""
    cards = f"{OURS}/gpus"
    nodes.agent.create(f"{cards}?dryRun=All", gpu("new", A))
    nodes.agent.patch(f"{cards}/new?dryRun=All", gpu("new", A), kind="apply")
    nodes.agent.delete(f"{cards}/{A}-0?dryRun=All")
    words = f'{FOREIGN} GPU .*, which is on node "{B}"'
    with pytest.raises(ApiError, match=words):
        nodes.agent.create(f"{cards}?dryRun=All", gpu("new", B))
    with pytest.raises(ApiError, match=words):
        nodes.agent.patch(f"{cards}/new?dryRun=All", gpu("new", B), kind="apply")
    with pytest.raises(ApiError, match=words):
        nodes.agent.delete(f"{cards}/{B}-0?dryRun=All")


def test_a_token_without_a_node_writes_nothing(nodes: Nodes) -> None:
    """A token of the account that is bound to nothing is refused everywhere."""
    with pytest.raises(ApiError, match="names no node: agents need one that is bound"):
        nodes.unbound.create(f"{OURS}/gpus?dryRun=All", gpu("new", A))


def test_a_pods_token_is_bound_to_its_node(nodes: Nodes) -> None:
    """What the kubelet gives the agent's pod suffices, for that pod's node."""
    nodes.in_pod.create(f"{OURS}/gpus?dryRun=All", gpu("new", A))
    with pytest.raises(ApiError, match="may not write GPU new"):
        nodes.in_pod.create(f"{OURS}/gpus?dryRun=All", gpu("new", B))


def test_others_are_not_asked(api: ApiClient, nodes: Nodes) -> None:
    """The policy is about agents: an admin marks any card."""
    api.patch(f"{OURS}/gpus/{B}-0?dryRun=All", {"spec": {"unschedulable": True}})
