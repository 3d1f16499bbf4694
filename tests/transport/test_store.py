"""The cache: own writes, late events, tombstones, indexes, and what does not parse."""

from __future__ import annotations

import pytest

from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.cluster.store import Change, Store
from elasticgpu.errors import Refused

from .objects import model, raw, unreadable

Told = list[tuple[str | None, str | None]]


@pytest.fixture
def store() -> Store[ElasticGPUClass]:
    return Store(ElasticGPUClass, {"provisioner": lambda c: [c.spec.provisioner]})


def version(obj: ElasticGPUClass | None) -> str | None:
    return obj.metadata.resource_version if obj else None


def listen(store: Store[ElasticGPUClass]) -> Told:
    told: Told = []
    store.subscribe(lambda change: told.append((version(change.old), version(change.new))))
    return told


def at(store: Store[ElasticGPUClass], name: str = "a") -> str | None:
    return version(store.get(("", name)))


def test_own_write_is_visible_at_once(store: Store[ElasticGPUClass]) -> None:
    """`observed` shows the object and tells the handlers, before any event."""
    told = listen(store)
    store.observed(model("a", 5))
    assert (at(store), told) == ("5", [(None, "5")])


def test_older_event_does_not_undo_an_own_write(store: Store[ElasticGPUClass]) -> None:
    """An event from before the write is passed over, compared as a number: 9 is older than 10."""
    store.observed(model("a", 10))
    told = listen(store)
    store.put(raw("a", 9))
    assert (at(store), told) == ("10", [(None, "10")])


def test_the_echo_of_an_own_write_is_silent(store: Store[ElasticGPUClass]) -> None:
    """The event of the version already known tells nobody, and keeps the very object."""
    store.observed(model("a", 10))
    known, told = store.get(("", "a")), listen(store)
    store.put(raw("a", 10))
    assert store.get(("", "a")) is known
    assert told == [(None, "10")]


def test_an_answer_whose_event_came_first(store: Store[ElasticGPUClass]) -> None:
    """The event's object is answered, the very one, and nobody is told twice."""
    store.put(raw("a", 10))
    told = listen(store)
    assert store.answered(raw("a", 10)) is store.get(("", "a"))
    assert told == [(None, "10")]


def test_an_answer_that_comes_first(store: Store[ElasticGPUClass]) -> None:
    """It is parsed, shown at once and answered; an unreadable one is refused."""
    assert store.answered(raw("a", 10)) is store.get(("", "a"))
    with pytest.raises(Refused, match="a cannot be read"):
        store.answered(unreadable("a", 11))
    assert at(store) == "10"


def test_an_answer_about_another_object_of_that_name(store: Store[ElasticGPUClass]) -> None:
    """The same version under another uid is not what is known."""
    store.put(raw("a", 10, uid="first"))
    assert store.answered(raw("a", 10, uid="second")).uid == "second"


def test_managed_fields_are_left_behind(store: Store[ElasticGPUClass]) -> None:
    """Whichever way an object comes in, and nothing else of it is."""
    for take in (store.put, store.answered):
        take(raw("a", 10 if take == store.put else 11, managedFields=[{}], selfLink="kept"))
        known = store.get(("", "a"))
        assert known is not None
        assert known.wire()["metadata"].keys() == {"name", "uid", "resourceVersion", "selfLink"}


def test_a_late_answer_does_not_bring_back_the_dead(store: Store[ElasticGPUClass]) -> None:
    """The answer to a write that arrives after the stream reported the deletion is ignored."""
    store.put(raw("a", 10))
    store.gone(raw("a", 12))
    store.reached(12)
    store.observed(model("a", 11))
    assert at(store) is None


def test_own_delete_is_visible_at_once_and_stays(store: Store[ElasticGPUClass]) -> None:
    """After `deleted`, neither an event nor a list from before it brings the object back."""
    store.put(raw("a", 10))
    told = listen(store)
    store.deleted(model("a", 10))
    store.put(raw("a", 9))
    store.put(raw("a", 10))
    assert (at(store), told) == (None, [(None, "10"), ("10", None)])
    store.replace([raw("a", 10)], 11)
    assert at(store) is None


def test_a_finalizer_outlives_an_own_delete(store: Store[ElasticGPUClass]) -> None:
    """An event after the delete shows that the object still exists, and is believed."""
    store.put(raw("a", 10))
    store.deleted(model("a", 10))
    store.put(raw("a", 11, deletionTimestamp="2026-11-20T10:00:00Z"))
    assert at(store) == "11"


def test_an_older_deletion_does_not_hit_a_new_object(store: Store[ElasticGPUClass]) -> None:
    """The DELETED event of an object whose successor we made ourselves removes nothing."""
    store.put(raw("a", 10, uid="first"))
    store.deleted(model("a", 10, uid="first"))
    store.observed(model("a", 13, uid="second"))
    store.gone(raw("a", 12, uid="first"))
    assert at(store) == "13"


def test_a_new_object_of_an_old_name_is_two_changes(store: Store[ElasticGPUClass]) -> None:
    """Deleted and made anew while nobody looked: one is gone, another has come."""
    store.put(raw("a", 10, uid="first"))
    told = listen(store)
    store.put(raw("a", 20, uid="second"))
    assert told == [(None, "10"), ("10", None), (None, "20")]


def test_a_new_list_removes_what_it_lacks(store: Store[ElasticGPUClass]) -> None:
    """The difference between cache and list is told as deletions, changes and additions; what is
    the same in both is told again."""
    store.replace([raw("a", 1), raw("b", 2), raw("c", 3)], 5)
    told = listen(store)
    del told[:]
    store.replace([raw("b", 2), raw("c", 7), raw("d", 8)], 9)
    assert sorted(c.name for c in store.values()) == ["b", "c", "d"]
    assert told == [("2", "2"), ("3", "7"), (None, "8"), ("1", None)]


def test_a_list_does_not_remove_what_is_newer(store: Store[ElasticGPUClass]) -> None:
    """What we created after the list was made is not in it and stays."""
    store.observed(model("mine", 20))
    store.replace([raw("a", 1)], 10)
    assert (at(store, "mine"), at(store)) == ("20", "1")


def test_a_restored_server_is_believed(store: Store[ElasticGPUClass]) -> None:
    """A list whose version is older than what was seen: etcd was restored; all is taken anew."""
    store.replace([raw("a", 90), raw("b", 91)], 100)
    told = listen(store)
    del told[:]
    store.replace([raw("a", 40)], 50)
    assert (at(store), at(store, "b")) == ("40", None)
    assert told == [("90", "40"), ("91", None)]
    store.put(raw("b", 51))
    assert at(store, "b") == "51"


def test_a_restored_server_may_bring_back_the_dead(store: Store[ElasticGPUClass]) -> None:
    """What we deleted after the backup was taken exists again, and its events count."""
    store.replace([], 100)
    store.observed(model("a", 120))
    store.deleted(model("a", 120))
    store.replace([raw("a", 40)], 50)
    store.put(raw("a", 60))
    assert at(store) == "60"


def test_an_old_delete_does_not_hide_a_newer_version(store: Store[ElasticGPUClass]) -> None:
    """A delete accepted for version 10 says nothing about version 11, which outlived it."""
    store.put(raw("a", 11))
    store.deleted(model("a", 10))
    assert at(store) == "11"


def test_indexes_follow_the_objects(store: Store[ElasticGPUClass]) -> None:
    """An object is found under its present values only, and under none once it is gone."""
    store.put(raw("a", 1, provisioner="x"))
    store.put(raw("b", 2, provisioner="x"))
    store.put(raw("a", 3, provisioner="y"))
    assert [c.name for c in store.by_index("provisioner", "x")] == ["b"]
    assert [version(c) for c in store.by_index("provisioner", "y")] == ["3"]
    store.gone(raw("a", 4))
    assert store.by_index("provisioner", "y") == []


def test_an_index_sees_the_newest_version(store: Store[ElasticGPUClass]) -> None:
    """A change that keeps the indexed value still replaces the object found there."""
    store.put(raw("a", 1))
    store.put(raw("a", 2))
    assert [version(c) for c in store.by_index("provisioner", "a/b")] == ["2"]


def test_an_index_that_fails_harms_its_object_only(caplog: pytest.LogCaptureFixture) -> None:
    """An index function that raises is logged; the object is cached, without a place in it."""
    store: Store[ElasticGPUClass] = Store(ElasticGPUClass, {"bad": lambda c: [1 // 0]})
    store.put(raw("a", 1))
    assert (at(store), store.by_index("bad", 1)) == ("1", [])
    assert "index bad failed" in caplog.text


def test_unreadable_objects_are_logged_once_and_left_out(
    store: Store[ElasticGPUClass], caplog: pytest.LogCaptureFixture
) -> None:
    """What does not parse is named once in the log, in `unreadable`, and not in the cache."""
    store.put(unreadable("a", 1))
    store.put(unreadable("a", 2))
    store.put(raw("b", 3))
    assert (at(store), at(store, "b")) == (None, "3")
    assert [r.message.startswith("ElasticGPUClass a is left out") for r in caplog.records] == [True]
    assert list(store.unreadable) == [("", "a")]
    store.put(raw("a", 4))
    assert (at(store), store.unreadable) == ("4", {})


def test_the_last_readable_version_stays(store: Store[ElasticGPUClass]) -> None:
    """An object that becomes unreadable is not taken for deleted, until it is."""
    store.put(raw("a", 1))
    told = listen(store)
    store.put(unreadable("a", 2))
    store.replace([unreadable("a", 2)], 3)
    assert (at(store), told) == ("1", [(None, "1")])
    store.gone(unreadable("a", 4))
    assert (at(store), store.unreadable) == (None, {})


def test_a_handler_that_fails_stops_nobody(
    store: Store[ElasticGPUClass], caplog: pytest.LogCaptureFixture
) -> None:
    """The failure is logged; the cache and the other handlers go on."""

    def bad(change: Change[ElasticGPUClass]) -> None:
        raise RuntimeError("oops")

    store.subscribe(bad)
    told = listen(store)
    store.put(raw("a", 1))
    assert (at(store), told) == ("1", [(None, "1")])
    assert "oops" in caplog.text


def test_tombstones_do_not_pile_up(store: Store[ElasticGPUClass]) -> None:
    """Once the stream has passed a deletion, nothing of it is kept."""
    for number in range(100):
        store.put(raw(f"a{number}", number + 1))
        store.deleted(model(f"a{number}", number + 1))
    store.reached(100)
    assert store._tombstones == {}
