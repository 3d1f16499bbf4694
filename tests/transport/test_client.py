"""Requests and answers: what goes over the wire, and what each answer means to the caller."""

from __future__ import annotations

import asyncio
import logging

import pytest

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.cluster.access import Access
from elasticgpu.cluster.client import Client
from elasticgpu.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NamespaceTerminating,
    NotFound,
    Refused,
    Throttled,
    Unavailable,
)

from .fake import Answer, FakeServer, Hangup, Silence, status
from .objects import CLAIMS, CLASSES, model, page, raw, unreadable

pytestmark = pytest.mark.looptime
ONE = f"{CLASSES}/one"


def new(name: str = "one") -> ElasticGPUClass:
    return ElasticGPUClass.model_validate(
        {"metadata": {"name": name}, "spec": {"provisioner": "a/b"}}
    )


async def test_get_reads_an_object(server: FakeServer, client: Client) -> None:
    """GET of the object's own path yields the model."""
    server.on("GET", ONE, Answer(raw("one", 7)))
    found = await client.get(ElasticGPUClass, ("", "one"))
    assert (found.name, found.metadata.resource_version) == ("one", "7")
    assert server.asked[0].headers["User-Agent"] == "elasticgpu"


async def test_what_does_not_parse_is_refused_without_its_values(
    server: FakeServer, client: Client
) -> None:
    """An object that is no valid model raises Refused that names object and field only."""
    server.on("GET", ONE, Answer(unreadable("one", 7)))
    with pytest.raises(Refused, match=r"one cannot be read: spec\.provisioner") as caught:
        await client.get(ElasticGPUClass, ("", "one"))
    assert "a string'" not in str(caught.value)


async def test_list_follows_the_pages(server: FakeServer, client: Client) -> None:
    """Every page's `continue` is sent with the next request, until there is none."""
    server.on(
        "GET",
        CLASSES,
        Answer(page(raw("a", 1), raw("b", 2), version=9, more="token")),
        Answer(page(raw("c", 3), version=9)),
    )
    found = client.list(ElasticGPUClass, label_selector="x=y", field_selector="f=g", page=2)
    assert [c.name async for c in found] == ["a", "b", "c"]
    wanted = {"labelSelector": "x=y", "fieldSelector": "f=g", "limit": "2"}
    assert [a.query for a in server.asked] == [wanted, {**wanted, "continue": "token"}]


async def test_list_leaves_out_what_does_not_parse(
    server: FakeServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """One odd object is logged and does not hide the others."""
    server.on("GET", CLASSES, Answer(page(unreadable("odd", 1), raw("b", 2), version=9)))
    assert [c.name async for c in client.list(ElasticGPUClass)] == ["b"]
    assert "odd" in caplog.text


async def test_list_says_that_the_rest_has_expired(server: FakeServer, client: Client) -> None:
    """410 between two pages raises Expired: only the caller can start again."""
    server.on(
        "GET", CLASSES, Answer(page(raw("a", 1), version=9, more="t")), status(410, "Expired")
    )
    with pytest.raises(Expired):
        assert [c async for c in client.list(ElasticGPUClass)]


async def test_create_posts_to_the_collection(server: FakeServer, client: Client) -> None:
    """POST carries apiVersion and kind, and the answer is the object as stored."""
    server.on("POST", CLASSES, Answer(raw("one", 3), 201))
    assert (await client.create(new())).metadata.resource_version == "3"
    body = server.asked[0].body
    assert (body["kind"], body["metadata"]) == ("ElasticGPUClass", {"name": "one"})


async def test_replace_is_compare_and_swap(server: FakeServer, client: Client) -> None:
    """PUT carries the resourceVersion; 409 is Conflict."""
    server.on("PUT", f"{ONE}/status", Answer(raw("one", 8)))
    server.on("PUT", ONE, status(409, "Conflict"))
    assert (await client.replace(model("one", 7), "status")).metadata.resource_version == "8"
    with pytest.raises(Conflict) as caught:
        await client.replace(model("one", 7))
    assert not isinstance(caught.value, AlreadyExists)
    assert [a.body["metadata"]["resourceVersion"] for a in server.asked] == ["7", "7"]


async def test_replace_without_a_version_is_a_mistake(client: Client) -> None:
    """A PUT that compares nothing is never sent."""
    with pytest.raises(ValueError, match="no resourceVersion"):
        await client.replace(new())


async def test_patch_and_apply_say_what_they_are(server: FakeServer, client: Client) -> None:
    """Merge patch and server-side apply have their content types, owner and identity."""
    server.on("PATCH", ONE, Answer(raw("one", 8)))
    server.on("PATCH", f"{ONE}/status", Answer(raw("one", 9)))
    await client.patch(ElasticGPUClass, ("", "one"), {"metadata": {"labels": {"a": None}}})
    await client.apply(
        ElasticGPUClass, ("", "one"), {"status": {}}, manager="me", subresource="status"
    )
    merge, apply = server.asked
    assert merge.headers["Content-Type"] == "application/merge-patch+json"
    assert apply.headers["Content-Type"] == "application/apply-patch+yaml"
    assert apply.query == {"fieldManager": "me", "force": "true"}
    assert apply.body["kind"] == "ElasticGPUClass"
    assert apply.body["metadata"] == {"name": "one"}


async def test_delete_names_exactly_one_version(server: FakeServer, client: Client) -> None:
    """DELETE carries uid and resourceVersion as preconditions, and the grace period if given."""
    server.on("DELETE", ONE, Answer({"kind": "Status"}))
    await client.delete(model("one", 7), grace=0)
    body = server.asked[0].body
    assert body["preconditions"] == {"uid": "uid-one", "resourceVersion": "7"}
    assert body["gracePeriodSeconds"] == 0


async def test_delete_of_what_is_gone_is_done(server: FakeServer, client: Client) -> None:
    """404 on a delete is success; 409, somebody wrote in between, is Conflict."""
    server.on("DELETE", ONE, status(404, "NotFound"), status(409, "Conflict"))
    await client.delete(model("one", 7))
    with pytest.raises(Conflict):
        await client.delete(model("one", 7))
    with pytest.raises(ValueError, match="no uid"):
        await client.delete(new())


async def test_a_namespaced_object_needs_its_namespace(client: Client) -> None:
    """Without a namespace nothing is sent to a path that means something else."""
    claim = ElasticGPUClaim.model_validate({"metadata": {"name": "c"}, "spec": {}})
    with pytest.raises(ValueError, match="needs a namespace"):
        await client.create(claim)
    with pytest.raises(ValueError, match="needs a namespace"):
        await client.get(ElasticGPUClaim, ("", "c"))


async def test_names_cannot_leave_their_path(server: FakeServer, client: Client) -> None:
    """A name out of a user's hands is escaped: it cannot address another object."""
    server.on("GET", f"{CLAIMS}/..%2F..%2Fx?a", status(404, "NotFound"))
    server.on("GET", f"{CLAIMS}/../../x?a", status(404, "NotFound"))  # as the server decodes it
    with pytest.raises(NotFound):
        await client.get(ElasticGPUClaim, ("lab", "../../x?a"))
    assert server.asked[0].query == {}


TERMINATING = {"causes": [{"reason": "NamespaceTerminating"}]}
MEANINGS = [
    (400, "BadRequest", {}, Invalid),
    (401, "Unauthorized", {}, Forbidden),
    (403, "Forbidden", {}, Forbidden),
    (403, "Forbidden", TERMINATING, NamespaceTerminating),
    (404, "NotFound", {}, NotFound),
    (405, "MethodNotAllowed", {}, ApiError),
    (409, "AlreadyExists", {}, AlreadyExists),
    (409, "Conflict", {}, Conflict),
    (410, "Gone", {}, Expired),
    (422, "Invalid", {}, Invalid),
    (429, "TooManyRequests", {"retryAfterSeconds": 60}, Throttled),
    (500, "InternalError", {}, Unavailable),
    (504, "Timeout", {}, Unavailable),
]


@pytest.mark.parametrize(("code", "reason", "details", "kind"), MEANINGS)
async def test_what_a_status_means(
    server: FakeServer,
    client: Client,
    code: int,
    reason: str,
    details: dict[str, object],
    kind: type,
) -> None:
    """Each Status is raised as exactly one class, with its status, reason and message."""
    server.on("POST", CLASSES, status(code, reason, "said no", **details))
    with pytest.raises(ApiError) as caught:
        await client.create(new())
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.reason) == (code, reason)
    assert caught.value.message == "said no"


async def test_a_proxys_page_is_still_an_error(server: FakeServer, client: Client) -> None:
    """502 with HTML is Unavailable, and shows the beginning of the page."""
    server.on("POST", CLASSES, Answer(b"<html>bad gateway</html>", 502))
    with pytest.raises(Unavailable, match="bad gateway"):
        await client.create(new())


async def test_reads_are_repeated_when_the_server_is_away(
    server: FakeServer, client: Client
) -> None:
    """A GET survives a broken connection, a 503 and a 429."""
    server.on(
        "GET", ONE, Hangup(), status(503, "ServiceUnavailable"), status(429), Answer(raw("one", 7))
    )
    assert (await client.get(ElasticGPUClass, ("", "one"))).name == "one"


async def test_reads_are_not_repeated_for_ever(server: FakeServer, client: Client) -> None:
    """After five attempts the caller is told."""
    server.on("GET", ONE, *[status(503, "ServiceUnavailable") for _ in range(5)])
    with pytest.raises(Unavailable):
        await client.get(ElasticGPUClass, ("", "one"))
    assert len(server.asked) == 5


@pytest.mark.parametrize("answer", [Hangup(), Silence(), status(503, "ServiceUnavailable")])
async def test_writes_are_never_repeated_blindly(
    server: FakeServer, client: Client, answer: Hangup | Silence | Answer
) -> None:
    """A write without an answer may have been done: Unavailable, after one attempt."""
    server.on("POST", CLASSES, answer)
    with pytest.raises(Unavailable):
        await client.create(new())
    assert len(server.asked) == 1


async def test_throttled_writes_wait_as_long_as_they_are_told(
    server: FakeServer, client: Client
) -> None:
    """429 comes before execution: the write is repeated, not before Retry-After."""
    server.on(
        "POST",
        CLASSES,
        Answer({"reason": "TooManyRequests"}, 429, {"Retry-After": "7"}),
        Answer(raw("one", 3), 201),
    )
    started = asyncio.get_running_loop().time()
    await client.create(new())
    assert asyncio.get_running_loop().time() - started >= 7


async def test_a_long_retry_after_is_the_callers(server: FakeServer, client: Client) -> None:
    """Told to wait a minute, the client does not sit on it: Throttled, with the seconds."""
    server.on("POST", CLASSES, Answer({}, 429, {"Retry-After": "60"}))
    with pytest.raises(Throttled) as caught:
        await client.create(new())
    assert caught.value.retry_after == 60


async def test_attempts_may_be_limited(server: FakeServer, client: Client) -> None:
    """`attempts=1`: an eviction's 429 is an answer, not a delay."""
    server.on("POST", "/api/v1/evict", status(429, "TooManyRequests"))
    with pytest.raises(Throttled):
        await client.raw("POST", "/api/v1/evict", body={}, attempts=1)


async def test_no_secret_in_reprs_errors_or_logs(
    server: FakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The credentials go to the server and nowhere else."""
    caplog.set_level(logging.DEBUG)
    access = Access(server.url, authorization="Bearer s3cret", proxy=None)
    server.on("POST", CLASSES, Hangup())
    async with Client(access) as client:
        with pytest.raises(Unavailable) as caught:
            await client.create(new())
        texts = [repr(client), repr(access), repr(caught.value), str(caught.value), caplog.text]
    assert server.asked[0].headers["Authorization"] == "Bearer s3cret"
    assert not any("s3cret" in text for text in texts)


async def test_refused_credentials_are_read_anew_once(server: FakeServer) -> None:
    """401 renews the credentials and repeats, even a write: 401 comes before execution."""
    tokens = iter(["Bearer new"])

    async def reload() -> str:
        return next(tokens)

    server.on("POST", CLASSES, status(401, "Unauthorized"), Answer(raw("one", 3), 201))
    async with Client(Access(server.url, authorization="Bearer old", reload=reload)) as client:
        await client.create(new())
    assert [a.headers["Authorization"] for a in server.asked] == ["Bearer old", "Bearer new"]
