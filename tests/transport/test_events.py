"""Events: sent at once the first time, counted afterwards, and never in anybody's way."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.cluster import events
from elasticgpu.cluster.client import Client
from elasticgpu.cluster.events import CAPACITY, Recorder, shorten

from .fake import Answer, FakeServer, Hangup, Silence, status
from .objects import model

pytestmark = pytest.mark.looptime
LAB = "/apis/events.k8s.io/v1/namespaces/lab/events"
DEFAULT = "/apis/events.k8s.io/v1/namespaces/default/events"
MADE = Answer({"metadata": {"name": "e"}}, 201)
CLAIM = ElasticGPUClaim.model_validate(
    {"metadata": {"name": "train", "namespace": "lab", "uid": "u1"}, "spec": {}}
)


@pytest.fixture
async def recorder(client: Client) -> AsyncIterator[Recorder]:
    """A recorder at work."""
    recorder = Recorder(client, controller="elasticgpu-controller", instance="pod-1")
    task = asyncio.create_task(recorder.run())
    yield recorder
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def say(recorder: Recorder, message: str = "no card fits") -> None:
    recorder.event(CLAIM, "Warning", "Waiting", message, action="Bind")


async def test_the_first_event_is_there_within_a_second(
    server: FakeServer, recorder: Recorder
) -> None:
    """It is an events.k8s.io/v1 Event in the object's namespace, with all that a reader needs."""
    server.on("POST", LAB, MADE)
    said = asyncio.get_running_loop().time()
    say(recorder)
    body: dict[str, Any] = (await server.until_asked("POST", LAB)).body
    assert asyncio.get_running_loop().time() - said < 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", body.pop("eventTime"))
    meta = body.pop("metadata")
    assert meta["namespace"] == "lab"
    assert re.fullmatch(r"train\.[0-9a-f]{16}", meta["name"])
    assert body == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "type": "Warning",
        "reason": "Waiting",
        "action": "Bind",
        "note": "no card fits",
        "reportingController": "elasticgpu-controller",
        "reportingInstance": "pod-1",
        "regarding": {
            "apiVersion": "elasticgpu.io/v1alpha1",
            "kind": "ElasticGPUClaim",
            "namespace": "lab",
            "name": "train",
            "uid": "u1",
        },
    }


async def test_cluster_scoped_objects_have_their_events_in_default(
    server: FakeServer, recorder: Recorder
) -> None:
    """Where `kubectl describe` looks for them."""
    server.on("POST", DEFAULT, MADE)
    recorder.event(model("fast", 1), "Normal", "Accepted", "parameters accepted")
    body = (await server.until_asked("POST", DEFAULT)).body
    assert body["metadata"]["namespace"] == "default"
    assert "namespace" not in body["regarding"]


async def test_repeats_are_counted_every_ten_minutes(
    server: FakeServer, recorder: Recorder
) -> None:
    """Said every second for an hour: one create, and at most one count in ten minutes."""
    server.on("POST", LAB, MADE)
    say(recorder)
    path = f"{LAB}/{(await server.until_asked('POST', LAB)).body['metadata']['name']}"
    server.on("PATCH", path, *[MADE] * 6)
    for _ in range(3600):
        say(recorder)
        await asyncio.sleep(1)
    await asyncio.sleep(600)
    counts = [a.body["series"]["count"] for a in server.asked_for("PATCH", path)]
    assert len(counts) == 6
    assert counts[0] in range(599, 603)
    assert counts[-1] == 3601
    assert set(server.asked_for("PATCH", path)[0].body) == {"series"}


async def test_different_events_are_different(server: FakeServer, recorder: Recorder) -> None:
    """Another message, reason or object is an event of its own, sent at once."""
    server.on("POST", LAB, *[MADE] * 3)
    say(recorder, "one")
    say(recorder, "two")
    recorder.event(CLAIM, "Warning", "Other", "one")
    await server.until_asked("POST", LAB, 3)
    assert len({a.body["metadata"]["name"] for a in server.asked}) == 3


async def test_an_expired_event_is_made_anew(server: FakeServer, recorder: Recorder) -> None:
    """The server forgets events after an hour: the repeat is created again, with its count."""
    server.on("POST", LAB, MADE, MADE)
    say(recorder)
    name = (await server.until_asked("POST", LAB)).body["metadata"]["name"]
    server.on("PATCH", f"{LAB}/{name}", status(404, "NotFound"))
    await asyncio.sleep(7200)
    say(recorder)
    assert (await server.until_asked("POST", LAB, 2)).body["series"]["count"] == 2


async def test_no_answer_is_tried_again_under_the_same_name(
    server: FakeServer, recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    """The create may have been done: the repeat meets AlreadyExists, which is success."""
    server.on("POST", LAB, Hangup(), status(503), status(409, "AlreadyExists"))
    say(recorder)
    await server.until_asked("POST", LAB, 3)
    await asyncio.sleep(60)
    assert len({a.body["metadata"]["name"] for a in server.asked}) == 1
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    "answer",
    [
        status(403, "Forbidden", causes=[{"reason": "NamespaceTerminating"}]),
        status(403, "Forbidden"),
        status(404, "NotFound"),
    ],
    ids=["terminating", "forbidden", "no namespace"],
)
async def test_a_refused_event_is_dropped_quietly(
    server: FakeServer, recorder: Recorder, caplog: pytest.LogCaptureFixture, answer: Answer
) -> None:
    """Nobody is warned, nothing is repeated, the next event is sent."""
    server.on("POST", LAB, answer, MADE)
    say(recorder, "one")
    say(recorder, "two")
    await server.until_asked("POST", LAB, 2)
    await asyncio.sleep(300)
    assert len(server.asked) == 2
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


async def test_recording_never_blocks_and_never_grows(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """With the server away the oldest events are dropped; the log counts them in a few lines."""
    recorder = Recorder(client, controller="c", instance="i")
    for number in range(CAPACITY + 1000):
        say(recorder, f"message {number}")
    lines = [r.getMessage() for r in caplog.records if "dropped" in r.getMessage()]
    assert len(lines) == 10
    assert lines[-1].startswith("512 events dropped")


async def test_what_was_sent_is_not_lost_when_it_is_forgotten(
    server: FakeServer,
    recorder: Recorder,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Only events that never reached the server count as dropped."""
    monkeypatch.setattr(events, "CAPACITY", 2)
    server.on("POST", LAB, *[MADE] * 6)
    for number in range(6):
        say(recorder, f"message {number}")
        await server.until_asked("POST", LAB, number + 1)
        await asyncio.sleep(1)
    assert "dropped" not in caplog.text


async def test_recording_never_raises(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    """Even nonsense from the caller is only logged."""
    recorder = Recorder(client, controller="c", instance="i")
    recorder.event(CLAIM, "Normal", None, None)  # type: ignore[arg-type]
    assert "is lost" in caplog.text


async def test_flush_sends_what_is_left(server: FakeServer, client: Client) -> None:
    """At shutdown, with `run` already cancelled, events not yet sent are."""
    server.on("POST", LAB, MADE, MADE)
    recorder = Recorder(client, controller="c", instance="i")
    say(recorder, "one")
    say(recorder, "two")
    await recorder.flush(5)
    assert len(server.asked) == 2


async def test_flush_gives_up(
    server: FakeServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """After the time given the rest is lost, with one line that says how many."""
    server.on("POST", LAB, Silence())
    recorder = Recorder(client, controller="c", instance="i")
    say(recorder, "one")
    say(recorder, "two")
    started = asyncio.get_running_loop().time()
    await recorder.flush(3)
    assert asyncio.get_running_loop().time() - started < 3.1
    assert "2 events are lost" in caplog.text


def test_notes_fit() -> None:
    """At most 1024 bytes, never half a character, and the cut can be seen."""
    assert shorten("short") == "short"
    long = shorten("ä" * 2000)
    assert len(long.encode()) <= 1024
    assert long.endswith("ä…")
