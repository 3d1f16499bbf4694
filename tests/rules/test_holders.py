"""Holders: who gets a claim, who keeps it, and that a hand-over never lets two pods through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.claim import ClaimStatus, ClaimUser, ElasticGPUClaim
from elasticgpu.api.core import (
    Container,
    ContainerClaim,
    ContainerResources,
    Pod,
)
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.rules import holders
from elasticgpu.rules.holders import Add, Decision, Drop, HoldersView, Keep
from elasticgpu.rules.transaction import NODE_LOST

from .build import LATER, NOW, claim, device, pod, ref

BOUND = claim(named="egpu-a", completed=True).with_status(phase="Bound")
SHARED = claim(named="egpu-a", completed=True, shared=True).with_status(phase="Bound")
READY = device(of=ref(BOUND), phase="Bound")
A, B, C = pod("a"), pod("b"), pod("c")
FAILED, SUCCEEDED = pod("a", phase="Failed"), pod("a", phase="Succeeded")
STOPPING = pod("a", terminating=True)
LOST = READY.with_status(phase="Failed", reason=NODE_LOST)
THERE = pod("a", node="node-a")
ANOTHERS = device(of=ref(claim("x")), phase="Bound")


def row(of: Pod, *containers: str) -> ClaimUser:
    return ClaimUser(pod_uid=of.uid, pod_name=of.name, containers=list(containers) or ["main"])


def held(*pods: Pod, by: ElasticGPUClaim = BOUND) -> ElasticGPUClaim:
    return by.with_status(users=[row(p) for p in pods])


def prepared(*pods: Pod) -> ElasticGPU:
    return READY.with_status(prepared_for=[p.uid for p in pods])


TABLE: list[tuple[str, HoldersView, Decision]] = [
    ("nobody", HoldersView(BOUND, READY), Keep()),
    ("the-first", HoldersView(BOUND, READY, (A,)), Add((row(A),))),
    ("the-second-waits", HoldersView(held(A), READY, (A, B)), Keep()),
    ("waits-while-the-first-stops", HoldersView(held(A), prepared(A), (STOPPING, B)), Keep()),
    ("finished-and-undone", HoldersView(held(A), READY, (SUCCEEDED, B)), Drop(())),
    ("failed-and-undone", HoldersView(held(A), READY, (FAILED, B)), Drop(())),
    ("finished-not-undone", HoldersView(held(A), prepared(A), (FAILED, B)), Keep()),
    ("gone-and-undone", HoldersView(held(A), READY, (B,)), Drop((), (row(A),))),
    ("gone-not-undone", HoldersView(held(A), prepared(A), (B,)), Keep()),
    ("then-the-next", HoldersView(held(), READY, (FAILED, B)), Add((row(B),))),
    ("same-name-new-pod", HoldersView(
        held(A), READY, (pod("a", uid="uid-2"),)), Drop((), (row(A),))),
    ("not-the-terminating", HoldersView(BOUND, READY, (STOPPING, B)), Add((row(B),))),
    ("not-the-finished", HoldersView(BOUND, READY, (SUCCEEDED,)), Keep()),
    ("the-older", HoldersView(BOUND, READY, (pod("a", created=LATER), B)), Add((row(B),))),
    ("by-uid", HoldersView(BOUND, READY, (B, A)), Add((row(A),))),
    ("who-holds-another-claim-goes-first", HoldersView(
        BOUND, READY, (A, pod("b", created=LATER)), frozenset({"uid-b"})), Add((row(B),))),
    ("shared-all", HoldersView(SHARED, READY, (B, A)), Add((row(A), row(B)))),
    ("shared-one-more", HoldersView(held(B, by=SHARED), READY, (A, B)), Add((row(B), row(A)))),
    ("shared-one-goes", HoldersView(
        held(A, B, by=SHARED), READY, (B, C)), Drop((row(B),), (row(A),))),
    ("not-bound", HoldersView(BOUND.with_status(phase="Pending"), READY, (A,)), Keep()),
    ("lost", HoldersView(BOUND.with_status(phase="Lost"), READY, (A,)), Keep()),
    ("lost-still-drops", HoldersView(
        held(A).with_status(phase="Lost"), None, ()), Drop((), (row(A),))),
    ("no-device", HoldersView(BOUND, None, (A,)), Keep()),
    ("device-not-bound", HoldersView(BOUND, READY.with_status(phase="Failed"), (A,)), Keep()),
    ("device-of-another", HoldersView(BOUND, ANOTHERS, (A,)), Keep()),
    ("node-lost-and-the-pod-on-it", HoldersView(held(THERE), LOST, (THERE,)), Keep()),
    ("node-lost-before-the-pod-got-there", HoldersView(held(A), LOST, (A,)), Drop(())),
    ("node-lost-with-the-pods-container", HoldersView(
        held(A), LOST.with_status(prepared_for=[A.uid]), (A,)), Keep()),
    ("claim-terminating", HoldersView(
        BOUND.with_metadata(deletion_timestamp=NOW), READY, (A,)), Keep()),
    ("claim-terminating-still-drops", HoldersView(
        held(A).with_metadata(deletion_timestamp=NOW), READY, (B,)), Drop((), (row(A),))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("view", "want"), [pytest.param(view, want, id=name) for name, view, want in TABLE]
)
def test_decision(view: HoldersView, want: Decision) -> None:
    """Each view of a claim and its pods leads to exactly these rows."""
    assert holders.decide(view) == want


PODS = st.lists(
    st.builds(
        pod,
        st.sampled_from("abcde"),
        phase=st.sampled_from(("", "Pending", "Running", "Succeeded", "Failed")),
        terminating=st.booleans(),
        created=st.sampled_from((NOW, LATER)),
        node=st.sampled_from(("", "node-a")),
    ),
    unique_by=lambda p: p.uid,
).map(tuple)
UIDS = st.lists(st.sampled_from("abcde").map("uid-{}".format), unique=True)


DEVICES = st.none() | st.builds(
    lambda uids, found: found.with_status(prepared_for=uids),
    UIDS,
    st.sampled_from((READY, READY.with_status(phase="Failed"), LOST)),
)


@st.composite
def views(draw: st.DrawFn) -> HoldersView:
    of = draw(st.sampled_from((BOUND, SHARED, BOUND.with_metadata(deletion_timestamp=NOW))))
    users = draw(UIDS)
    if not of.spec.shared:
        users = users[:1]
    return HoldersView(
        of.with_status(users=[ClaimUser(pod_uid=uid) for uid in users]),
        draw(DEVICES),
        draw(PODS),
        frozenset(draw(UIDS)),
    )


def uids(rows: tuple[ClaimUser, ...]) -> set[str]:
    return {user.pod_uid for user in rows}


@given(views())
def test_laws(view: HoldersView) -> None:
    """One holder of an unshared claim; no row goes under a prepared pod, or a living one that can
    get to the device; no row comes for a pod that ended or is ending, nor to a claim that is being
    deleted; what is not known at all is said."""
    had = uids(tuple(view.claim.status.users))
    lost = view.device is not None and view.device.status.reason == NODE_LOST
    alive = {p.uid for p in view.pods if not p.finished and (p.spec.node_name or not lost)}
    ready = set(view.device.status.prepared_for) if view.device else set()
    match holders.decide(view):
        case Drop(users, unseen):
            assert uids(users) < had
            assert not (had - uids(users)) & (alive | ready)
            assert uids(unseen) == had - uids(users) - {p.uid for p in view.pods}
        case Add(users):
            new = uids(users) - had
            assert new
            assert uids(users) >= had
            assert len(users) == 1 or view.claim.spec.shared
            assert len(uids(users)) == len(users)
            assert new <= {p.uid for p in view.pods if not p.finished and not p.terminating}
            assert not view.claim.terminating
        case Keep():
            pass


@given(views())
def test_settles(view: HoldersView) -> None:
    """Writing what was decided, again and again, ends after a drop and an add."""
    for _ in range(2):
        match holders.decide(view):
            case Drop(users) | Add(users):
                written = view.claim.with_status(users=list(users))
                view = HoldersView(written, view.device, view.pods, view.others)
            case Keep():
                pass
    assert holders.decide(view) == Keep()


KEEPERS: list[tuple[str, ElasticGPUClaim, tuple[Pod, ...], list[str]]] = [
    ("nobody", BOUND, (), []),
    ("a-holder", held(A), (), ["a"]),
    ("a-holder-without-a-node", held(A), (A,), ["a"]),
    ("on-a-node-without-a-row", BOUND, (THERE,), ["a"]),
    ("waiting-for-a-node", BOUND, (A,), []),
    ("ended", BOUND, (pod("a", node="node-a", phase="Succeeded"), FAILED), []),
    ("ending", BOUND, (pod("a", node="node-a", terminating=True),), ["a"]),
    ("names-another", BOUND, (pod("a", node="node-a", claims=("other",)),), []),
    ("both", held(C), (THERE, pod("b", node="node-a")), ["a", "b", "c"]),
]


@pytest.mark.parametrize(
    ("of", "pods", "want"), [pytest.param(*row, id=name) for name, *row in KEEPERS]
)
def test_keepers(of: ElasticGPUClaim, pods: tuple[Pod, ...], want: list[str]) -> None:
    """59: a claim being deleted stays for its holders and for living pods on a node."""
    assert holders.keepers(of, pods) == want


@pytest.mark.parametrize(
    ("count", "want"),
    [
        (0, ""),
        (1, "web-0"),
        (3, "web-0, web-1, web-2"),
        (5, "web-0, web-1, web-2 and 2 more"),
    ],
)
def test_holders_in_short(count: int, want: str) -> None:
    """However many hold a claim, one line says who and how many."""
    told = BOUND.with_users([row(pod(f"web-{n}")) for n in range(count)])
    assert (told.status.used_by, len(told.status.users)) == (want, count)
    longest = BOUND.with_users([ClaimUser(pod_uid=str(n), pod_name="x" * 253) for n in range(256)])
    assert ClaimStatus.model_validate(longest.status.wire()).used_by == longest.status.used_by


def test_rows_of_a_shared_claim_fit_the_schema() -> None:
    """However many pods wait for a shared claim, what is written is what the API server takes."""
    waiting = tuple(pod(f"p{n:03}") for n in range(300))
    match holders.decide(HoldersView(SHARED, READY, waiting)):
        case Add(users):
            assert ClaimStatus.model_validate({"users": list(users)}).users == list(users)
        case other:
            pytest.fail(f"nobody got it: {other}")


def test_row_names_the_containers_that_see_the_device() -> None:
    """Containers and init containers that mention the claim, each once, sorted."""
    uses = ContainerResources(claims=[ContainerClaim(name="egpu-0")])
    other = ContainerResources(claims=[ContainerClaim(name="egpu-1")])
    several = pod("a", claims=["train", "other"])
    several = several.but(
        spec=several.spec.but(
            containers=[
                Container(name="z", resources=uses),
                Container(name="idle"),
                Container(name="other", resources=other),
            ],
            init_containers=[Container(name="init", resources=uses)],
        )
    )
    assert holders.row_of(BOUND, several) == row(several, "init", "z")


def test_strangers_and_holds() -> None:
    """Prepared without a row is a stranger; a row is what holds."""
    assert holders.strangers([row(A)], ["uid-a", "uid-b"]) == {"uid-b"}
    assert holders.strangers([row(A)], []) == set()
    assert holders.holds(held(A), "uid-a")
    assert not holders.holds(held(A), "uid-b")
