"""What is written into a ResourceClaim, what is taken out again, and when."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import ConsumerReference, ResourceClaim
from elasticgpu.api.gpuclass import Topology, TopologyTerm
from elasticgpu.rules import allocation, handing
from elasticgpu.rules.allocation import Allocate
from elasticgpu.rules.handing import PodView, Unreserve
from tests.rules.build import NOW, gpu_class, pod

from .views import FULL, HELD, OURS, PODS, RC, behind, bound, looked, made, of


def test_allocated_says_device_node_and_time() -> None:
    """The scheduler reads the device and its node, and leaves the reservation alone."""
    got = allocation.allocated(Allocate(RC, HELD, of(HELD), reserve=True), now=NOW)
    assert got.wire()["status"] == {
        "allocation": {
            "devices": {
                "results": [
                    {
                        "request": "egpu",
                        "driver": "elasticgpu.io",
                        "pool": "node-a",
                        "device": "egpu-train",
                    }
                ]
            },
            "allocationTimestamp": NOW,
            "nodeSelector": {
                "nodeSelectorTerms": [
                    {
                        "matchFields": [
                            {"key": "metadata.name", "operator": "In", "values": ["node-a"]}
                        ]
                    }
                ]
            },
        },
        "reservedFor": [
            {
                "apiGroup": "elasticgpu.io",
                "resource": "elasticgpuclaims",
                "name": "train",
                "uid": "uid-train",
            }
        ],
    }


def test_allocated_where_its_class_allows() -> None:
    """Of a device on no node; one that is on a node was placed there by that."""
    terms = [TopologyTerm(key="zone", values=["a", "b"])]
    topologies = (Topology(match_label_expressions=terms),)
    got = allocation.allocated(Allocate(RC, HELD, of(HELD, ""), False, topologies), now=NOW)
    assert got.status.allocation is not None
    assert got.status.allocation.node_selector == {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}
        ]
    }
    shop = gpu_class(allowed_topologies=topologies)
    for node, allowed in (("", topologies), ("node-a", ())):
        entry = replace(behind(HELD, RC), device=of(HELD, node), gpu_class=shop)
        (order,) = handing.decide(looked(pod(), entry))
        assert order == Allocate(RC, HELD, of(HELD, node), True, allowed)


def test_allocated_without_a_node() -> None:
    """A remote device can be used from any node, and nothing is reserved for a placed pod."""
    got = allocation.allocated(Allocate(RC, HELD, of(HELD, ""), reserve=False), now=NOW)
    assert got.status.allocation is not None
    assert got.status.allocation.devices.results[0].pool == "remote"
    assert got.status.allocation.node_selector is None
    assert got.status.reserved_for == []


def test_unreserved_takes_only_our_entry() -> None:
    """A pod's own stays, and so does the allocation."""
    whole = made("rc-0", OURS, PODS, done=True)
    back = allocation.unreserved(whole)
    assert back.status.reserved_for == [PODS]
    assert back.status.allocation == whole.status.allocation


OTHERS = st.lists(
    st.builds(
        ConsumerReference,
        api_group=st.sampled_from(("", "example.com", "elasticgpu.io")),
        resource=st.sampled_from(("pods", "jobs")),
        name=st.sampled_from("ab"),
        uid=st.sampled_from("xyz"),
    ),
    unique_by=lambda entry: entry.uid,
)


@given(OTHERS, st.booleans())
def test_round_trip_keeps_other_reservations(
    others: list[ConsumerReference], reserve: bool
) -> None:
    """Ours comes and goes; every other entry, and the allocation, stays as it is."""
    before = made("rc-0", *others)
    got = allocation.allocated(Allocate(before, HELD, of(HELD), reserve=reserve), now=NOW)
    assert got.status.reserved_for == [*others, *([OURS] if reserve else [])]
    back = allocation.unreserved(got)
    assert back.status.reserved_for == others
    assert back.status.allocation == got.status.allocation
    assert allocation.unreserved(back) == back


@given(
    node=st.sampled_from(("", "node-a")),
    phase=st.sampled_from(("Pending", "Running", "Succeeded", "Failed")),
    terminating=st.booleans(),
    gone=st.booleans(),
    ours=st.booleans(),
    found=st.sampled_from((None, HELD, FULL, bound())),
)
def test_unreserve_exactly_when_it_has_served(
    node: str,
    phase: str,
    terminating: bool,
    gone: bool,
    ours: bool,
    found: ElasticGPUClaim | None,
) -> None:
    """Our entry goes once the pod has a node, ends or is deleted; no earlier, and only ours."""
    rc = made("rc-0", *([OURS] if ours else []), PODS, done=True)
    of_pod = pod(node=node, phase=phase, terminating=terminating)
    view = PodView(None, (), (rc,)) if gone else looked(of_pod, behind(found, rc))
    served = gone or bool(node) or of_pod.finished or terminating
    unreserved = [a for a in handing.decide(view) if isinstance(a, Unreserve)]
    assert unreserved == ([Unreserve(rc)] if ours and served else [])


@given(
    st.lists(
        st.tuples(
            st.sampled_from((None, HELD, bound(), FULL, bound("train", "a"))),
            st.sampled_from((None, RC, made("rc-0", OURS, done=True))),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_all_or_none(rows: list[tuple[ElasticGPUClaim | None, ResourceClaim | None]]) -> None:
    """Nothing is allocated while the pod does not hold all of its claims; then all that is made."""
    whose = pod(claims=["train"] * len(rows))
    actions = handing.decide(looked(whose, *(behind(c, rc) for c, rc in rows)))
    allocations = [action for action in actions if isinstance(action, Allocate)]
    ready = all(found == HELD for found, _ in rows)
    assert len(allocations) == (sum(rc == RC for _, rc in rows) if ready else 0)
