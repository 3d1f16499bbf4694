"""What pods take of their nodes: the scheduler's formula, and the sum while pods come and go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import ceil
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.core import Pod
from elasticgpu.rules.occupancy import Occupancy, requests, tenant

Wire = dict[str, Any]
GIB = 1 << 30


def box(cpu: str = "", memory: str = "", other: str = "", *, always: bool = False) -> Wire:
    asked = {"cpu": cpu, "memory": memory, "example.com/x": other}
    restart = {"restartPolicy": "Always"} if always else {}
    resources = {"requests": {name: value for name, value in asked.items() if value}}
    return {"name": "c", "resources": resources, **restart}


def running(*containers: Wire, init: tuple[Wire, ...] = (), **spec: object) -> Pod:
    whole = {"containers": list(containers), "initContainers": list(init), **spec}
    return Pod.model_validate({"metadata": {"name": "p", "uid": "u"}, "spec": whole})


FORMULA: list[tuple[str, Pod, dict[str, int]]] = [
    ("nothing", running(box()), {}),
    (
        "containers-together",
        running(box("100m", "1Gi"), box("1", "1Gi")),
        {"cpu": 1100, "memory": 2 * GIB},
    ),
    ("one-init-container-at-a-time", running(box("1"), init=(box("2"), box("3"))), {"cpu": 3000}),
    ("init-below-the-containers", running(box("4"), init=(box("2"),)), {"cpu": 4000}),
    (
        "the-most-of-each-resource",
        running(box("1", "2Gi"), init=(box("3", "1Gi"),)),
        {"cpu": 3000, "memory": 2 * GIB},
    ),
    ("sidecars-run-on", running(box("1"), init=(box("2", always=True),)), {"cpu": 3000}),
    (
        "init-beside-the-sidecars-before-it",
        running(box("1"), init=(box("2", always=True), box("5"), box("4", always=True))),
        {"cpu": 7000},
    ),
    (
        "init-before-the-sidecars-after-it",
        running(box("1"), init=(box("7"), box("4", always=True))),
        {"cpu": 7000},
    ),
    ("overhead-on-top", running(box("1"), overhead={"cpu": "250m"}), {"cpu": 1250}),
    (
        "the-pod-as-a-whole",
        running(
            box("1", "1Gi", "2"),
            resources={"requests": {"cpu": "3", "example.com/x": "9"}},
            overhead={"cpu": "1"},
        ),
        {"cpu": 4000, "memory": GIB, "example.com/x": 2},
    ),
    ("rounded-up-once", running(box("0.4m"), box("0.4m")), {"cpu": 1}),
]


@pytest.mark.parametrize(("pod", "want"), [pytest.param(p, w, id=i) for i, p, w in FORMULA])
def test_what_the_scheduler_counts(pod: Pod, want: dict[str, int]) -> None:
    """Each shape of a pod takes exactly this, and one pod's place."""
    assert requests(pod) == {"pods": 1, **want}


millis = st.integers(0, 4000)
boxes = st.builds(lambda cpu, gib, always: (cpu, gib, always), millis, millis, st.booleans())


@given(st.lists(boxes, min_size=1, max_size=3), st.lists(boxes, max_size=5))
def test_formula_is_the_most_at_any_moment(
    containers: list[tuple[int, int, bool]], init: list[tuple[int, int, bool]]
) -> None:
    """Every moment of the pod's life acted out: who runs then, and what they ask together."""
    moments = []
    for now, starting in enumerate(init):
        beside = [one for one in init[:now] if one[2]]
        moments.append([*beside, starting])
    moments.append([*(one for one in init if one[2]), *containers])
    pod = running(
        *(box(f"{cpu}m", f"{memory}Mi") for cpu, memory, _ in containers),
        init=tuple(box(f"{cpu}m", f"{memory}Mi", always=always) for cpu, memory, always in init),
    )
    got = requests(pod)
    assert got.get("cpu", 0) == max(sum(one[0] for one in run) for run in moments)
    assert got.get("memory", 0) == max(sum(one[1] for one in run) for run in moments) << 20


def test_tenant_keeps_what_it_takes_and_little_else() -> None:
    """Of a pod as it travels: who it is, where, and how much; nothing of the rest is kept."""
    meta = {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "7", "labels": {"a": "b"}}
    spec = {"nodeName": "node-a", "containers": [box("2", "1Gi")], "volumes": [{"name": "v"}]}
    one = tenant({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    assert (one.key, one.uid, one.metadata.resource_version) == (("n", "p"), "u", "7")
    assert (one.node, one.takes) == ("node-a", {"pods": 1, "cpu": 2000, "memory": GIB})
    assert one.metadata.labels == {}
    assert set(one.wire()) == {"apiVersion", "kind", "metadata", "node", "takes"}


def test_a_pod_that_cannot_be_read_is_one_pod() -> None:
    """A quantity that is none keeps nobody else from being counted."""
    odd = tenant({"metadata": {"name": "p"}, "spec": {"containers": [box("lots")]}})
    assert odd.takes == {"pods": 1}


def test_a_pod_counts_where_it_is_expected_until_it_is_somewhere() -> None:
    """Expected, bound elsewhere, gone: at each moment it takes of one node, or of none."""
    takes, occupancy = {"pods": 1, "cpu": 500}, Occupancy()

    def taken() -> tuple[int, int]:
        first, second = occupancy.on("n1"), occupancy.on("n2")
        return first.get("cpu", 0), second.get("cpu", 0)

    occupancy.arrive("a", "n1", takes)
    occupancy.expect("b", "n1", takes)
    assert (occupancy.expected("a"), occupancy.expected("b")) == (False, True)
    assert taken() == (1000, 0)
    assert occupancy.on("n1", without="b") == takes
    assert occupancy.on("n1", without="c") == {"pods": 2, "cpu": 1000}
    occupancy.expect("b", "n2", takes)
    occupancy.expect("a", "n2", takes)  # it is on a node already: nothing else is expected of it
    assert taken() == (500, 500)
    occupancy.give_up("a")
    occupancy.give_up("b")
    occupancy.leave("b")
    assert taken() == (500, 0)
    occupancy.expect("b", "n2", takes)
    occupancy.arrive("b", "n1", takes)
    assert taken() == (1000, 0)
    occupancy.leave("a")
    occupancy.leave("b")
    assert taken() == (0, 0)


STEPS = st.tuples(
    st.sampled_from(["arrive", "expect", "leave", "give_up"]),
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["n1", "n2"]),
    st.integers(0, 3),
)


@given(st.lists(STEPS, max_size=30))
def test_sum_follows_every_coming_and_going(steps: list[tuple[str, str, str, int]]) -> None:
    """The running sum is the sum of those who are there, whatever order they came and went in."""
    occupancy = Occupancy()
    there: dict[str, tuple[str, int, bool]] = {}
    for step, uid, node, cpu in steps:
        takes = {"pods": 1, "cpu": cpu}
        if step == "arrive":
            occupancy.arrive(uid, node, takes)
            there[uid] = (node, cpu, True)
        elif step == "expect":
            occupancy.expect(uid, node, takes)
            if uid not in there or not there[uid][2]:
                there[uid] = (node, cpu, False)
        elif step == "leave":
            occupancy.leave(uid)
            there.pop(uid, None)
        else:
            occupancy.give_up(uid)
            if uid in there and not there[uid][2]:
                del there[uid]
    for node in ("n1", "n2"):
        assert _plain(occupancy.on(node)) == _sum(there, node)
        for uid in "abc":
            others = {name: stay for name, stay in there.items() if name != uid}
            assert _plain(occupancy.on(node, without=uid)) == _sum(others, node)


def _sum(there: Mapping[str, tuple[str, int, bool]], node: str) -> dict[str, int]:
    total: dict[str, int] = defaultdict(int)
    for where, cpu, _ in there.values():
        if where == node:
            total["pods"] += 1
            total["cpu"] += cpu
    return _plain(total)


def _plain(amounts: Mapping[str, int]) -> dict[str, int]:
    return {name: value for name, value in amounts.items() if value}


def test_rounding_is_up() -> None:
    """A thousandth of a CPU and a byte are the smallest that is counted."""
    pod = running(box("1.0001", "1.5"))
    assert requests(pod) == {"pods": 1, "cpu": ceil(1000.1), "memory": 2}
