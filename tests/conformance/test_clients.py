"""The clients that people write programs with, each as its own documentation has it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from elasticgpu.api import schema
from elasticgpu.api.claim import ElasticGPUClaim

from .api import PATIENCE, Api, Object
from .clients.client import Client, Kind
from .clients.generated import Asyncio, Official
from .clients.kr8s_client import Kr8s
from .clients.lightkube_client import Lightkube
from .objects import config

CLAIMS = ElasticGPUClaim.resource
KINDS = {
    "configmap": Kind("", "v1", "ConfigMap", "configmaps"),
    "claim": Kind(CLAIMS.group, CLAIMS.version, CLAIMS.kind, CLAIMS.plural),
}
CHANGES: dict[str, Object] = {
    "configmap": {"data": {"x": "2", "y": "3"}},
    "claim": {"spec": {"resources": {"requests": {"elasticgpu.io/gpu-core": "50"}}}},
}

# They wait for answers in real time; kr8s says so if it does not know the server's version.
pytestmark = [
    pytest.mark.looptime(False),
    pytest.mark.filterwarnings("ignore:Kubernetes version .* is not supported:UserWarning"),
    pytest.mark.parametrize("kind", KINDS),
]


@pytest.fixture(autouse=True)
async def claims(api: Api) -> None:
    """Our claims are served, whoever else may have seen to it."""
    crd = schema.crd(ElasticGPUClaim)
    path = api.path("customresourcedefinitions", crd["metadata"]["name"])
    (await api.patch(path, crd, "apply", fieldManager="conformance", force="true")).made()
    await api.comes(api.path(CLAIMS.plural))


def example(kind: str, name: str, tier: str) -> Object:
    """An object of that kind."""
    body = config(name, labels={"tier": tier})
    if kind == "configmap":
        return body
    of = KINDS[kind]
    head = {"apiVersion": f"{of.group}/{of.version}", "kind": of.kind}
    asked = {"requests": {"elasticgpu.io/gpu-core": "25"}}
    return {**head, "metadata": body["metadata"], "spec": {"resources": asked}}


async def refused(client: Client, kind: str) -> None:
    """What is not there, and what is there already (from now on: b), are errors of the client."""
    with pytest.raises(client.refusals) as missing:
        await client.get("b")
    assert client.reason(missing.value) == "NotFound"
    await client.create(example(kind, "b", "back"))
    with pytest.raises(client.refusals) as taken:
        await client.create(example(kind, "b", "back"))
    assert client.reason(taken.value) == "AlreadyExists"


async def life(client: Client, kind: str) -> None:
    """An object is made, found, changed and deleted, and a watch tells of it."""
    made = await client.create(example(kind, "a", "front"))
    assert await client.labelled("tier", "front") == ["a"]
    told = asyncio.create_task(history(client, made["metadata"]["resourceVersion"]))
    changed = await client.patch("a", CHANGES[kind])
    assert changed.items() >= CHANGES[kind].items()
    assert await client.get("a") == changed
    stale = {"labels": {"tier": "back"}, "resourceVersion": made["metadata"]["resourceVersion"]}
    with pytest.raises(client.refusals) as late:
        await client.patch("a", {"metadata": stale})
    assert client.reason(late.value) == "Conflict"
    await client.delete("a")
    assert await told == [("MODIFIED", "a"), ("DELETED", "a")]


async def history(client: Client, since: str) -> list[tuple[str, str]]:
    """What a watch tells, until something is deleted."""
    found = []
    async with asyncio.timeout(PATIENCE), aclosing(client.changes(since)) as changes:
        async for event, body in changes:
            found.append((event, body["metadata"]["name"]))
            if event == "DELETED":
                break
    return found


async def serves(which: type[Client], api: Api, config: Path, kind: str) -> None:
    """A program that uses this client gets errors and objects as its documentation has them."""
    async with which.connected(config, KINDS[kind], api.namespace) as client:
        await refused(client, kind)
        await life(client, kind)


async def test_kubernetes_asyncio(api: Api, kubeconfig_file: Path, kind: str) -> None:
    await serves(Asyncio, api, kubeconfig_file, kind)


async def test_the_official_client(api: Api, kubeconfig_file: Path, kind: str) -> None:
    await serves(Official, api, kubeconfig_file, kind)


async def test_kr8s(api: Api, kubeconfig_file: Path, kind: str) -> None:
    await serves(Kr8s, api, kubeconfig_file, kind)


async def test_lightkube(api: Api, kubeconfig_file: Path, kind: str) -> None:
    await serves(Lightkube, api, kubeconfig_file, kind)
