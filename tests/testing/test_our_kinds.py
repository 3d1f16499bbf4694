"""Our CRDs on the embedded server: the same tables, word by word, as on a real one."""

from __future__ import annotations

from functools import partial

import pytest

from elasticgpu.errors import ApiError
from elasticgpu.testing.apiserver import DirectClient
from tests.api.asks import ASKS, UNCHECKED, Ask
from tests.cases.api.asking import PATHS, new, words
from tests.cases.api.changes import CHANGES, Change
from tests.cases.api.creations import CREATIONS, Creation

pytestmark = pytest.mark.looptime


async def said(client: DirectClient, method: str, path: str, body: object) -> str:
    """What the server says against a request, or nothing."""
    content = "application/merge-patch+json" if method == "PATCH" else "application/json"
    try:
        await client.raw(method, path, body=body, content_type=content)
    except ApiError as error:
        return error.message
    return ""


def alike(one: str, other: str) -> bool:
    """Whether two refusals say the same: errors of different fields come in no certain order."""
    return one == other or sorted(one.split(", ")) == sorted(other.split(", "))


@pytest.mark.parametrize("ask", ASKS, ids=[ask.what for ask in ASKS])
async def test_what_may_be_asked_for(client: DirectClient, ask: Ask) -> None:
    spec = {"resources": {"requests": ask.requests}}
    for kind, whole, place in (
        ("ElasticGPUClaim", spec, "spec."),
        ("ElasticGPUClaimTemplate", {"spec": spec}, "spec.spec."),
    ):
        body = new(kind, whole)
        errors = tuple(one if one is UNCHECKED else place + one for one in ask.errors)
        answer = await said(client, "POST", PATHS[kind], body)
        assert answer == words(kind, body["metadata"]["name"], errors)


@pytest.mark.parametrize("row", CREATIONS, ids=[row.what for row in CREATIONS])
async def test_what_may_be_created(client: DirectClient, row: Creation) -> None:
    kind = row.body["kind"]
    answer = await said(client, "POST", PATHS[kind], row.body)
    assert answer == words(kind, row.body["metadata"]["name"], row.errors)


@pytest.mark.parametrize("change", CHANGES, ids=[change.what for change in CHANGES])
async def test_what_may_change(client: DirectClient, change: Change) -> None:
    body = new(change.kind, change.spec)
    path = f"{PATHS[change.kind]}/{body['metadata']['name']}"
    ask = partial(said, client)
    assert await ask("POST", PATHS[change.kind], body) == ""
    if change.phase:
        assert await ask("PATCH", f"{path}/status", {"status": {"phase": change.phase}}) == ""
    errors = (change.error, *change.also) if change.error else ()
    wanted = words(change.kind, body["metadata"]["name"], errors)
    assert alike(await ask("PATCH", path, {"spec": change.patch}), wanted)
