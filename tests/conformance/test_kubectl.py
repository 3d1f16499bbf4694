"""Plain kubectl, as people use it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cluster import binaries
from tests.cluster.fixtures import check_tier

from .api import Api, Object
from .objects import pod, widget

# A process waits for answers in real time.
pytestmark = pytest.mark.looptime(False)


class Said(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


Kubectl = Callable[..., Coroutine[Any, Any, Said]]


@pytest.fixture
async def kubectl(api: Api, kubeconfig_file: Path, tmp_path: Path) -> Kubectl:
    """kubectl in the test's namespace, with a home of its own."""
    program = binaries.present(binaries.tool("kubectl"))
    check_tier("apiserver", [] if program else ["no kubectl"])
    env = os.environ | {"KUBECONFIG": str(kubeconfig_file), "HOME": str(tmp_path)}

    async def run(*words: str, given: Object | None = None, **more: str) -> Said:
        process = await asyncio.create_subprocess_exec(
            str(program),
            *("-n", api.namespace, *words),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=env | more,
        )
        text = json.dumps(given).encode() if given else b""
        async with asyncio.timeout(60):
            out, err = await process.communicate(text)
        return Said(process.returncode or 0, out.decode(), err.decode())

    return run


async def test_kubectl_apply_diff_patch_label_delete(api: Api, kubectl: Kubectl) -> None:
    name = "widget.conformance.example.com/a"
    body = widget("a", {"tags": ["x"]})
    assert (await kubectl("apply", "-f", "-", given=body)).out == f"{name} created\n"
    assert (await kubectl("apply", "-f", "-", given=body)).out == f"{name} unchanged\n"
    other = widget("a", {"size": 5})
    differs = await kubectl("diff", "-f", "-", given=other)
    assert (differs.code, "+  size: 5" in differs.out) == (1, True)
    assert (await kubectl("apply", "-f", "-", given=other)).out == f"{name} configured\n"
    stored = (await api.get(api.path("widgets", "a"))).body["spec"]
    assert stored == {"color": "red", "size": 5}
    change = '{"spec": {"color": "blue"}}'
    done = await kubectl("patch", "widget", "a", "--type=merge", "-p", change)
    assert done.out == f"{name} patched\n"
    assert (await kubectl("label", "wi", "a", "x=y")).out == f"{name} labeled\n"
    gone = await kubectl("delete", "widget", "a")
    assert (gone.code, '"a" deleted' in gone.out) == (0, True)


async def test_kubectl_refuses_what_the_schema_refuses(kubectl: Kubectl) -> None:
    unknown = await kubectl("apply", "-f", "-", given=widget("a", {"unheard": 1}))
    assert unknown.code == 1
    assert 'strict decoding error: unknown field "spec.unheard"' in unknown.err
    wrong = await kubectl("apply", "-f", "-", given=widget("a", {"color": "pink"}))
    assert 'spec.color: Unsupported value: "pink"' in wrong.err


async def test_kubectl_apply_on_the_server_side(kubectl: Kubectl) -> None:
    words = ("apply", "--server-side", "-f", "-")
    assert "serverside-applied" in (await kubectl(*words, given=widget())).out
    await kubectl("patch", "widget", "a", "--type=merge", "-p", '{"spec": {"color": "blue"}}')
    refused = await kubectl(*words, given=widget())
    assert (refused.code, ".spec.color" in refused.err) == (1, True)
    assert (await kubectl(*words, "--force-conflicts", given=widget())).code == 0


async def test_kubectl_get_wait_and_describe(api: Api, kubectl: Kubectl) -> None:
    (await api.create(api.path("widgets"), widget())).made()
    shown = (await kubectl("get", "wi")).out.splitlines()
    assert shown[0].split() == ["NAME", "COLOR", "SIZE", "AGE"]
    assert shown[1].split()[:3] == ["a", "red", "1"]
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    waiting = asyncio.create_task(
        kubectl("wait", "--for=condition=Ready", "widget/a", "--timeout=30s")
    )
    await asyncio.sleep(0.2)
    (await api.patch(api.path("widgets", "a", "status"), ready)).made()
    assert (await waiting).out == "widget.conformance.example.com/a condition met\n"
    described = (await kubectl("describe", "widget", "a")).out
    assert "Color:  red" in described
    assert "Events:" in described


async def test_kubectl_get_watches(api: Api, kubectl: Kubectl) -> None:
    (await api.create(api.path("widgets"), widget())).made()
    watching = asyncio.create_task(
        kubectl("get", "widgets", "-w", "-o", "name", "--request-timeout=3s")
    )
    await asyncio.sleep(1.5)
    (await api.create(api.path("widgets"), widget("b"))).made()
    assert (await watching).out.splitlines() == [
        "widget.conformance.example.com/a",
        "widget.conformance.example.com/b",
    ]


async def test_kubectl_explain(kubectl: Kubectl) -> None:
    told = (await kubectl("explain", "widget.spec.parts")).out
    assert "KIND:       Widget" in told
    assert "FIELD: parts <[]Object>" in told
    assert "name\t<string> -required-" in told


async def test_kubectl_edit(api: Api, kubectl: Kubectl) -> None:
    (await api.create(api.path("widgets"), widget())).made()
    edited = await kubectl("edit", "widget", "a", EDITOR="sed -i s/red/green/")
    assert edited.out == "widget.conformance.example.com/a edited\n"
    assert (await api.get(api.path("widgets", "a"))).body["spec"]["color"] == "green"


async def test_kubectl_on_pods(kubectl: Kubectl) -> None:
    assert (await kubectl("apply", "-f", "-", given=pod())).out == "pod/a created\n"
    assert (await kubectl("apply", "-f", "-", given=pod())).out == "pod/a unchanged\n"
    rows = (await kubectl("get", "pods", "--no-headers")).out.split()
    assert rows[:3] == ["a", "0/1", "Pending"]
    assert (await kubectl("delete", "pod", "a", "--now")).code == 0


async def test_kubectl_creates_what_it_writes_in_protobuf(api: Api, kubectl: Kubectl) -> None:
    assert (await kubectl("create", "configmap", "c", "--from-literal=x=y")).code == 0
    assert (await kubectl("create", "secret", "generic", "s", "--from-literal=x=y")).code == 0
    assert (await kubectl("create", "namespace", f"{api.namespace}-other")).code == 0
    assert (await api.get(api.path("configmaps", "c"))).body["data"] == {"x": "y"}
    assert (await api.get(api.path("secrets", "s"))).body["data"] == {"x": "eQ=="}
    assert (await api.get(f"/api/v1/namespaces/{api.namespace}-other")).code == 200
