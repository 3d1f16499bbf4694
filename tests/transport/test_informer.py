"""List, watch, and everything that can go wrong between the two."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.cluster.client import Client
from elasticgpu.cluster.informer import Informer

from .fake import Answer, FakeServer, Hangup, Silence, Stream, error_event, status
from .objects import CLASSES, bookmark, event, model, page, raw, unreadable

pytestmark = pytest.mark.looptime
Classes = Informer[ElasticGPUClass]
NO_WATCHLIST = status(422, "Invalid", "sendInitialEvents is forbidden")


@asynccontextmanager
async def running(informer: Classes) -> AsyncIterator[Classes]:
    """The informer, running until the block ends."""
    task = asyncio.create_task(informer.run())
    try:
        yield informer
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def until(condition: Callable[[], bool]) -> None:
    """Wait, in virtual time, until the condition holds."""
    while not condition():
        await asyncio.sleep(0.1)


def names(informer: Classes) -> list[str]:
    return sorted(c.name for c in informer.values())


@pytest.fixture
def informer(client: Client) -> Classes:
    return Informer(client, ElasticGPUClass)


async def test_watchlist_fills_the_cache_with_one_request(
    server: FakeServer, informer: Classes
) -> None:
    """Objects stream in, the bookmark completes them, and the same stream goes on as a watch."""
    stream = Stream(event("ADDED", raw("b", 5)), event("ADDED", raw("a", 3)))
    server.on("WATCH", CLASSES, stream)
    async with running(informer):
        await stream.opened.wait()
        await asyncio.sleep(1)
        assert (informer.has_synced, names(informer)) == (False, [])
        stream.send(bookmark(9, complete=True))
        await informer.synced()
        assert names(informer) == ["a", "b"]
        stream.send(event("DELETED", raw("a", 10)), event("ADDED", raw("c", 11)))
        await until(lambda: names(informer) == ["b", "c"])
    (asked,) = server.asked
    assert asked.query["sendInitialEvents"] == "true"
    assert asked.query["resourceVersionMatch"] == "NotOlderThan"
    assert asked.query["allowWatchBookmarks"] == "true"
    assert "resourceVersion" not in asked.query


@pytest.mark.parametrize(
    "refusal",
    [
        lambda: NO_WATCHLIST,
        lambda: Stream(event("ADDED", raw("x", 1)), error_event(500, "InternalError", "disabled")),
        lambda: Stream(event("ADDED", raw("x", 1))),  # a server that ignores sendInitialEvents
    ],
    ids=["4xx", "in-stream error", "no completion"],
)
async def test_fallback_to_paged_lists(
    server: FakeServer, informer: Classes, refusal: Callable[[], Answer | Stream]
) -> None:
    """A server that does not stream lists is listed in pages and watched from there, for good."""
    server.on("WATCH", CLASSES, refusal(), Stream().send(error_event(410, "Expired")), Stream())
    server.on(
        "GET",
        CLASSES,
        Answer(page(raw("a", 1), version=7, more="t")),
        Answer(page(raw("b", 2), version=7)),
        Answer(page(raw("b", 2), version=8)),
    )
    async with running(informer):
        await server.until_asked("WATCH", CLASSES, 3)
    assert names(informer) == ["b"]
    lists = server.asked_for("GET", CLASSES)
    assert [q.query.get("continue") for q in lists] == [None, "t", None]
    watches = server.asked_for("WATCH", CLASSES)
    assert [w.query.get("resourceVersion") for w in watches] == [None, "7", "8"]
    assert "sendInitialEvents" not in watches[2].query


async def test_a_slow_streamed_list_is_waited_for(server: FakeServer, informer: Classes) -> None:
    """As long as objects keep coming the list is not given up."""
    stream = Stream()
    server.on("WATCH", CLASSES, stream)
    async with running(informer):
        for number in range(10):
            stream.send(event("ADDED", raw(f"c{number}", number)))
            await asyncio.sleep(10)
        stream.send(bookmark(20, complete=True))
        await informer.synced()
    assert len(informer.values()) == 10


@pytest.mark.parametrize(
    "cut", [Hangup, lambda: Stream(event("ADDED", raw("x", 1))).break_off()], ids=["early", "late"]
)
async def test_a_broken_connection_is_no_lack_of_ability(
    server: FakeServer, informer: Classes, cut: Callable[[], Hangup | Stream]
) -> None:
    """A streamed list that is cut is asked for again, as a streamed list; nothing of it is kept."""
    server.on(
        "WATCH", CLASSES, cut(), Stream(event("ADDED", raw("a", 3)), bookmark(5, complete=True))
    )
    async with running(informer):
        await informer.synced()
    assert names(informer) == ["a"]


async def test_pages_that_expire_are_read_all_at_once(
    server: FakeServer, informer: Classes
) -> None:
    """410 in the middle of a paged list: one request without a limit, of one version."""
    server.on("WATCH", CLASSES, NO_WATCHLIST, Stream())
    server.on(
        "GET",
        CLASSES,
        Answer(page(raw("a", 1), version=7, more="t")),
        status(410, "Expired"),
        Answer(page(raw("b", 2), version=9)),
    )
    async with running(informer):
        await informer.synced()
    assert names(informer) == ["b"]
    assert "limit" not in server.asked_for("GET", CLASSES)[2].query


def listed(server: FakeServer, *streams: Stream | Answer | Hangup | Silence) -> None:
    """A server without WatchList that lists `a` and `b` at version 7, then plays the streams."""
    server.on("GET", CLASSES, Answer(page(raw("a", 1), raw("b", 2), version=7)))
    server.on("WATCH", CLASSES, NO_WATCHLIST, *streams)


def versions(server: FakeServer) -> list[str]:
    """From where each watch began."""
    return [w.query["resourceVersion"] for w in server.asked_for("WATCH", CLASSES)[1:]]


async def test_the_end_of_a_watch_is_its_resumption(server: FakeServer, informer: Classes) -> None:
    """After a proper end the next watch begins at the last event's version; nothing is listed."""
    listed(server, Stream(event("MODIFIED", raw("a", 12))).end(), Stream())
    async with running(informer):
        await server.until_asked("WATCH", CLASSES, 3)
    assert versions(server) == ["7", "12"]
    assert len(server.asked_for("GET", CLASSES)) == 1


async def test_bookmarks_move_the_point_of_resumption(
    server: FakeServer, informer: Classes
) -> None:
    """The version of a bookmark is where the next watch begins, though no object changed."""
    listed(server, Stream(bookmark(40)).end(), Stream())
    async with running(informer):
        await server.until_asked("WATCH", CLASSES, 3)
    assert versions(server) == ["7", "40"]


async def test_a_broken_connection_is_resumed(server: FakeServer, informer: Classes) -> None:
    """A cut in the middle of an event loses nothing: the next watch begins before that event."""
    cut = Stream(event("MODIFIED", raw("a", 12)), b'{"type":"MODIFIED","obj').break_off()
    listed(server, cut, Hangup(), Stream(event("MODIFIED", raw("a", 13))))
    async with running(informer):
        await until(lambda: "13" in [c.metadata.resource_version for c in informer.values()])
    assert set(versions(server)[1:]) == {"12"}
    assert len(server.asked_for("GET", CLASSES)) == 1


async def test_a_silent_peer_is_left(server: FakeServer, informer: Classes) -> None:
    """A watch on which nothing arrives for longer than it was asked to last is given up."""
    listed(server, Stream(), Stream(event("DELETED", raw("a", 13))))
    started = asyncio.get_running_loop().time()
    async with running(informer):
        await until(lambda: names(informer) == ["b"])
    lasted = asyncio.get_running_loop().time() - started
    assert lasted > int(server.asked_for("WATCH", CLASSES)[1].query["timeoutSeconds"])
    assert versions(server) == ["7", "7"]


@pytest.mark.parametrize(
    "too_old",
    [lambda: status(410, "Expired"), lambda: Stream(error_event(410, "Expired"))],
    ids=["HTTP", "in-stream"],
)
async def test_too_old_a_version_lists_anew(
    server: FakeServer, informer: Classes, too_old: Callable[[], Answer | Stream]
) -> None:
    """After 410 a new list is read, and what it lacks is told as deleted."""
    gone = []
    informer.subscribe(lambda change: gone.append(change.old) if change.new is None else None)
    listed(server, too_old(), Stream())
    server.on("GET", CLASSES, Answer(page(raw("b", 2), raw("c", 50), version=60)))
    async with running(informer):
        await server.until_asked("WATCH", CLASSES, 3)
    assert names(informer) == ["b", "c"]
    assert [c.name for c in gone if c] == ["a"]
    assert versions(server) == ["7", "60"]


async def test_a_server_that_is_away_is_asked_more_and_more_rarely(
    server: FakeServer, informer: Classes
) -> None:
    """Without an answer the watch keeps its version, waits longer each time, at most 30 s."""
    listed(server, *[Hangup() for _ in range(40)], Stream())
    async with running(informer):
        await informer.synced()
        await asyncio.sleep(120)
        soon = len(server.asked_for("WATCH", CLASSES))
        await server.until_asked("WATCH", CLASSES, soon + 1)
    assert soon < 40
    assert set(versions(server)) == {"7"}
    assert len(server.asked_for("GET", CLASSES)) == 1


async def test_one_event_makes_the_server_trusted_again(
    server: FakeServer, informer: Classes
) -> None:
    """After an event the next failure is the first one again: no long wait."""
    away = [status(503, "ServiceUnavailable") for _ in range(4)]
    listed(server, *away, Stream(event("MODIFIED", raw("a", 8))).break_off(), *away[:1], Stream())
    async with running(informer):
        await server.until_asked("WATCH", CLASSES, 6)
        began = asyncio.get_running_loop().time()
        await server.until_asked("WATCH", CLASSES, 8)
        assert asyncio.get_running_loop().time() - began < 1.0


async def test_a_version_that_is_refused_again_and_again_is_doubted(
    server: FakeServer, informer: Classes
) -> None:
    """A server that knows no such version (restored from a backup) is listed anew."""
    listed(server, *[status(504, "Timeout", "Too large resource version") for _ in range(5)])
    server.on("WATCH", CLASSES, Stream())
    server.on("GET", CLASSES, Answer(page(raw("b", 2), version=3)))
    async with running(informer):
        await until(lambda: names(informer) == ["b"])


async def test_a_mute_watch_is_doubted(server: FakeServer, informer: Classes) -> None:
    """Minutes without even a bookmark: the server may not have reached this version; list anew."""
    mute, quiet = Stream(), Stream(bookmark(7))
    listed(server, quiet, mute, Stream())
    server.on("GET", CLASSES, Answer(page(raw("b", 2), version=3)))
    async with running(informer):
        await quiet.opened.wait()
        await asyncio.sleep(200)
        quiet.end()
        await mute.opened.wait()
        await asyncio.sleep(200)
        mute.end()
        await until(lambda: names(informer) == ["b"])
    assert versions(server) == ["7", "7", "3"]


async def test_a_kind_not_yet_served_is_waited_for(server: FakeServer, informer: Classes) -> None:
    """404 for the whole kind: its CRD will come, and WatchList is still tried then."""
    server.on(
        "WATCH",
        CLASSES,
        status(404, "NotFound"),
        Stream(event("ADDED", raw("a", 1)), bookmark(2, complete=True)),
    )
    async with running(informer):
        await informer.synced()
    assert names(informer) == ["a"]


async def test_throttling_is_obeyed(server: FakeServer, informer: Classes) -> None:
    """429 while the server's cache starts: the watch waits as long as Retry-After says."""
    listed(server, Answer({}, 429, {"Retry-After": "20"}), Stream())
    started = asyncio.get_running_loop().time()
    async with running(informer):
        await server.until_asked("WATCH", CLASSES, 3)
    assert asyncio.get_running_loop().time() - started >= 20


async def test_one_unreadable_object_does_not_stop_the_stream(
    server: FakeServer, informer: Classes
) -> None:
    """What follows it arrives."""
    listed(server, Stream(event("ADDED", unreadable("odd", 8)), event("ADDED", raw("c", 9))))
    async with running(informer):
        await until(lambda: names(informer) == ["a", "b", "c"])


async def test_events_of_any_length_arrive(server: FakeServer, informer: Classes) -> None:
    """An object of several MiB on one line is an event like any other."""
    big = raw("big", 8, annotations={"note": "x" * (5 << 20)})
    listed(server, Stream(event("ADDED", big)))
    async with running(informer):
        await until(lambda: names(informer) == ["a", "b", "big"])


async def test_own_writes_and_the_stream_agree(server: FakeServer, informer: Classes) -> None:
    """An own write stays visible while the stream is behind it, and its echo tells nobody."""
    stream = Stream()
    listed(server, stream)
    told = []
    async with running(informer):
        await informer.synced()
        informer.subscribe(lambda change: told.append(change.new) if change.new else None)
        del told[:]
        informer.observed(model("a", 20))
        stream.send(event("MODIFIED", raw("a", 15)), event("MODIFIED", raw("a", 20)))
        stream.send(event("MODIFIED", raw("b", 21)))
        await until(lambda: len(told) == 2)
    assert [(c.name, c.metadata.resource_version) for c in told] == [("a", "20"), ("b", "21")]


async def test_selectors_go_to_the_server(server: FakeServer, client: Client) -> None:
    """Label and field selector are part of the list and of every watch."""
    listed(server, Stream())
    some = Informer(client, ElasticGPUClass, label_selector="x=y", field_selector="f=g")
    async with running(some):
        await server.until_asked("WATCH", CLASSES, 2)
    assert all(a.query["labelSelector"] == "x=y" for a in server.asked)
    assert all(a.query["fieldSelector"] == "f=g" for a in server.asked)


async def test_the_collector_rests_during_the_first_list_only(
    server: FakeServer, informer: Classes
) -> None:
    """Garbage collection is off until the first list is there, then on again."""
    stream = Stream(event("ADDED", raw("a", 1)))
    server.on("WATCH", CLASSES, stream)
    try:
        async with running(informer):
            await stream.opened.wait()
            await asyncio.sleep(1)
            assert not gc.isenabled()
            stream.send(bookmark(2, complete=True))
            await informer.synced()
            assert gc.isenabled()
    finally:
        gc.unfreeze()
