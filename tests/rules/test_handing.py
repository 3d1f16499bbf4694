"""Handing: what is done about a pod, and the sentence a waiting pod's owner reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.claim import (
    ClaimSpec,
    ClaimTemplateSpec,
    ClaimUser,
    ElasticGPUClaim,
    ElasticGPUClaimTemplate,
    ResourceRequests,
)
from elasticgpu.api.core import ConsumerReference, Pod, ResourceClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import ObjectMeta, OwnerReference
from elasticgpu.api.names import BIND_COMPLETED
from elasticgpu.api.vocabulary import CORE
from elasticgpu.rules import binding, handing
from elasticgpu.rules.decisions import Lost, Wait
from elasticgpu.rules.entries import SPEC, entries
from elasticgpu.rules.handing import (
    MISSED,
    Action,
    Allocate,
    MakeClaim,
    PodView,
    Say,
    Unreserve,
)
from elasticgpu.rules.ledger import OVERCOMMITTED
from elasticgpu.rules.transaction import NODE_LOST
from elasticgpu.rules.waiting import STUCK, EntryView, passes, why

from .build import NOW, claim, device, pod, ref

OURS = ConsumerReference(
    api_group="elasticgpu.io", resource="elasticgpuclaims", name="train", uid="uid-train"
)
PODS = ConsumerReference(resource="pods", name="web-0", uid="uid-web-0")


def bound(name: str = "train", *holders: str, **spec: object) -> ElasticGPUClaim:
    rows = [ClaimUser(pod_uid=f"uid-{holder}", pod_name=holder) for holder in holders]
    found = claim(name, named=f"egpu-{name}", completed=True, **spec)  # type: ignore[arg-type]
    return found.with_status(phase="Bound", users=rows)


def of(owner: ElasticGPUClaim, node: str = "node-a") -> ElasticGPU:
    return device(f"egpu-{owner.name}", of=ref(owner), phase="Bound", node=node)


def made(name: str = "rc-0", *reserved: ConsumerReference, done: bool = False) -> ResourceClaim:
    blank = ResourceClaim(metadata=ObjectMeta(namespace="team", name=name), spec=SPEC["spec"])
    if done:
        whose = bound("train", "web-0")
        blank = handing.allocated(Allocate(blank, whose, of(whose), reserve=False), now=NOW)
    return blank.but(status=blank.status.but(reserved_for=list(reserved)))


def looked(whose: Pod, *views: EntryView, left: Sequence[ResourceClaim] = ()) -> PodView:
    """The view of a pod whose entries have this behind them, in its order."""
    rows = [replace(v, entry=entry) for entry, v in zip(entries(whose), views, strict=True)]
    rcs = [v.resource_claim for v in views if v.resource_claim]
    return PodView(whose, tuple(rows), tuple(left or rcs))


def behind(
    found: ElasticGPUClaim | None = None,
    resource_claim: ResourceClaim | None = None,
    *,
    on: str = "node-a",
    template: ElasticGPUClaimTemplate | None = None,
    foreign: bool = False,
    vanished: str = "",
) -> EntryView:
    """What an entry leads to; the entry itself is filled in by `looked`."""
    (entry,) = entries(pod())
    at = of(found, on) if found and found.spec.elastic_gpu_name else None
    return EntryView(entry, found, template, at, resource_claim, foreign, vanished)


TEMPLATE = ElasticGPUClaimTemplate(
    metadata=ObjectMeta(namespace="team", name="big"),
    spec=ClaimTemplateSpec(
        metadata=ObjectMeta(labels={"a": "b"}, annotations={"c": "d"}),
        spec=ClaimSpec(resources=ResourceRequests(requests={CORE: 10})),
    ),
)
OWNER = OwnerReference(api_version="v1", kind="Pod", name="web-0", uid="uid-web-0", controller=True)
FOR_POD = pod(claims=(), templates=["big"])
MINE = bound("web-0-egpu-0", "web-0").with_metadata(owner_references=[OWNER])
ANOTHERS = MINE.with_metadata(owner_references=[OWNER.but(uid="uid-of-an-earlier-web-0")])
HELD = bound("train", "web-0")
RC = made()
ANNOTATED = {"elasticgpu.io/egpuc-main": "train"}

ACTIONS: list[tuple[str, PodView, tuple[Action, ...]]] = [
    ("no-claims", looked(pod(claims=())), ()),
    ("missed", looked(pod(claims=(), annotations=ANNOTATED)), (Say(MISSED),)),
    (
        "missed-and-running",
        looked(pod(claims=(), annotations=ANNOTATED, node="node-a")),
        (Say(MISSED),),
    ),
    (
        "ready",
        looked(pod(), behind(HELD, RC)),
        (Allocate(RC, HELD, of(HELD), reserve=True),),
    ),
    (
        "ready-and-on-its-node",
        looked(pod(node="node-a"), behind(HELD, RC)),
        (Allocate(RC, HELD, of(HELD), reserve=False),),
    ),
    ("no-resource-claim-yet", looked(pod(), behind(HELD)), ()),
    ("row-on-its-way", looked(pod(), behind(bound(), RC)), ()),
    ("allocated", looked(pod(), behind(HELD, made("rc-0", OURS, done=True))), ()),
    (
        "allocated-and-scheduled",
        looked(pod(node="node-a"), behind(HELD, made("rc-0", OURS, PODS, done=True))),
        (Unreserve(made("rc-0", OURS, PODS, done=True)),),
    ),
    (
        "unreserved-already",
        looked(pod(node="node-a"), behind(HELD, made("rc-0", PODS, done=True))),
        (),
    ),
    (
        "finished",
        looked(pod(phase="Succeeded"), behind(HELD, made("rc-0", OURS, done=True))),
        (Unreserve(made("rc-0", OURS, done=True)),),
    ),
    (
        "terminating",
        looked(pod(terminating=True), behind(HELD, made("rc-0", OURS, done=True))),
        (Unreserve(made("rc-0", OURS, done=True)),),
    ),
    ("finished-gets-nothing-new", looked(pod(phase="Failed"), behind(HELD, RC)), ()),
    ("terminating-gets-nothing-new", looked(pod(terminating=True), behind(HELD, RC)), ()),
    (
        "gone",
        PodView(None, (), (made("rc-0", OURS, done=True), made("rc-1", PODS, done=True))),
        (Unreserve(made("rc-0", OURS, done=True)),),
    ),
    (
        "waits-and-scheduled",
        looked(pod(node="node-a"), behind(None, made("rc-0", OURS, done=True))),
        (
            Say("there is no ElasticGPUClaim train in team: create it"),
            Unreserve(made("rc-0", OURS, done=True)),
        ),
    ),
    (
        "a-claim-of-its-own",
        looked(FOR_POD, behind(template=TEMPLATE)),
        (MakeClaim(handing.claim_of(FOR_POD, entries(FOR_POD)[0], TEMPLATE)),),
    ),
    (
        "its-own-claim-is-there",
        looked(FOR_POD, behind(MINE, RC, template=TEMPLATE)),
        (Allocate(RC, MINE, of(MINE), reserve=True),),
    ),
    (
        "its-own-claim-outlives-the-template",
        looked(FOR_POD, behind(MINE, RC)),
        (Allocate(RC, MINE, of(MINE), reserve=True),),
    ),
    (
        "both",
        looked(
            pod(claims=["a", "b"]),
            behind(bound("a", "web-0"), made("rc-a")),
            behind(bound("b", "web-0"), made("rc-b")),
        ),
        (
            Allocate(made("rc-a"), bound("a", "web-0"), of(bound("a")), reserve=True),
            Allocate(made("rc-b"), bound("b", "web-0"), of(bound("b")), reserve=True),
        ),
    ),
    (
        "none-while-one-row-is-missing",
        looked(
            pod(claims=["a", "b"]),
            behind(bound("a", "web-0"), made("rc-a")),
            behind(bound("b"), made("rc-b")),
        ),
        (),
    ),
    (
        "the-other-one-was-done-before-a-crash",
        looked(
            pod(claims=["train", "b"]),
            behind(HELD, made("rc-0", OURS, done=True)),
            behind(bound("b", "web-0"), made("rc-b")),
        ),
        (Allocate(made("rc-b"), bound("b", "web-0"), of(bound("b")), reserve=True),),
    ),
]


@pytest.mark.parametrize(
    ("view", "want"), [pytest.param(view, want, id=name) for name, view, want in ACTIONS]
)
def test_decision(view: PodView, want: tuple[Action, ...]) -> None:
    """Each view of a pod leads to exactly these actions, in this order."""
    assert handing.decide(view) == want


FULL = binding.unserved(claim(), Wait("NoCapacity", "no card can give it"), "gold", now=NOW)
GONE = binding.unserved(HELD, Lost("DeviceLost", "ElasticGPU egpu-train is gone"), "gold", now=NOW)
HELD_BY_A = (
    "ElasticGPUClaim train is held by pod a: this pod gets it when that one has ended. "
    "A claim with spec.shared true serves several pods at once"
)
NOT_ITS_OWN = (
    "ElasticGPUClaim web-0-egpu-0 was not made for this pod, though it has that name: "
    "delete it, and it is made anew"
)
FIRST = binding.unserved(claim(), Wait("WaitForFirstConsumer", "chosen then"), "gold", now=NOW)
SENTENCES: list[tuple[str, PodView, str | None]] = [
    ("its-claim-waited-for-it", looked(pod(), behind(FIRST)), None),
    ("served", looked(pod(), behind(HELD)), None),
    (
        "no-claim",
        looked(pod(), behind(None)),
        "there is no ElasticGPUClaim train in team: create it",
    ),
    (
        "no-claim-template",
        looked(FOR_POD, behind(None)),
        "there is no ElasticGPUClaimTemplate big in team",
    ),
    (
        "template-of-a-stranger",
        looked(pod(), behind(HELD, foreign=True)),
        "ResourceClaimTemplate egpuc-train is not elasticgpu's, though it has its name: delete "
        "it, and it is made anew",
    ),
    (
        "made-from-a-strangers-template",
        looked(pod(), behind(HELD, RC.but(spec={"devices": {}}))),
        "ResourceClaim rc-0 was made from a template that is not elasticgpu's: delete this pod "
        "and create it anew",
    ),
    (
        "resource-claim-deleted",
        looked(pod(), behind(HELD, vanished="web-0-egpu-0-x7")),
        "its ResourceClaim web-0-egpu-0-x7 was deleted: delete this pod and create it anew",
    ),
    ("claim-of-an-earlier-pod", looked(FOR_POD, behind(ANOTHERS)), NOT_ITS_OWN),
    (
        "its-device-is-being-deleted",
        looked(
            pod(), replace(behind(HELD), device=of(HELD).with_metadata(deletion_timestamp=NOW))
        ),
        "ElasticGPU egpu-train of ElasticGPUClaim train is being deleted",
    ),
    (
        "being-deleted",
        looked(pod(), behind(HELD.with_metadata(deletion_timestamp=NOW))),
        "ElasticGPUClaim train is being deleted",
    ),
    (
        "new",
        looked(pod(), behind(claim())),
        "ElasticGPUClaim train is being bound",
    ),
    (
        "pending",
        looked(pod(), behind(FULL)),
        "ElasticGPUClaim train is Pending: no card can give it",
    ),
    (
        "lost",
        looked(pod(), behind(GONE)),
        "ElasticGPUClaim train is Lost: ElasticGPU egpu-train is gone",
    ),
    ("held-by-nobody-yet", looked(pod(), behind(bound())), None),
    ("held-by-another", looked(pod(), behind(bound("train", "a"))), HELD_BY_A),
    ("shared-row-on-its-way", looked(pod(), behind(bound("train", "a", shared=True))), None),
    (
        "not-yet-undone-for-another",
        looked(pod(), replace(behind(bound()), device=of(bound()).with_status(prepared_for=["u"]))),
        "node node-a has not yet undone ElasticGPU egpu-train for an earlier pod (u)",
    ),
    (
        "the-second-one-says",
        looked(pod(claims=["train", "b"]), behind(HELD), behind(None)),
        "there is no ElasticGPUClaim b in team: create it",
    ),
    (
        "two-nodes",
        looked(
            pod(claims=["a", "b"]),
            behind(bound("a", "web-0")),
            behind(bound("b", "web-0"), on="node-b"),
        ),
        "its claims lie on different nodes (a on node-a, b on node-b): no node can run it",
    ),
    (
        "one-of-them-remote",
        looked(
            pod(claims=["a", "b"]),
            behind(bound("a", "web-0")),
            behind(bound("b", "web-0"), on=""),
        ),
        None,
    ),
    (
        "pod-on-another-node",
        looked(pod(node="node-b"), behind(HELD)),
        "its device is on node-a, but the pod is on node-b",
    ),
    ("remote-and-anywhere", looked(pod(node="node-b"), behind(HELD, on="")), None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("view", "said"), [pytest.param(view, said, id=name) for name, view, said in SENTENCES]
)
def test_why(view: PodView, said: str | None) -> None:
    """Why the pod waits, in the words that its owner reads on it."""
    assert view.pod is not None
    assert why(view.pod, view.entries) == said


def test_a_claim_without_device_takes_nothing_from_its_pod() -> None:
    """Its pod is told why it waits; there is nothing yet that could be withdrawn."""
    view = looked(pod(), behind(FULL, RC))
    assert handing.decide(view) == (Say("ElasticGPUClaim train is Pending: no card can give it"),)


FAILED = binding.unserved(HELD, Lost("DeviceFailed", "node-a refused it"), "gold", now=NOW)


@pytest.mark.parametrize(
    ("node", "reason", "more"),
    [
        pytest.param("node-a", OVERCOMMITTED, f". {STUCK}", id="refused-by-its-node"),
        pytest.param("node-a", NODE_LOST, f". {STUCK}", id="on-a-lost-node"),
        pytest.param("node-a", "ReleaseFailed", "", id="failed-otherwise"),
        pytest.param("", NODE_LOST, "", id="without-a-node"),
    ],
)
def test_who_is_stuck_is_told_what_to_do(node: str, reason: str, more: str) -> None:
    """A pod cannot leave its node for the claim's next device: its owner has to delete it."""
    view = behind(FAILED)
    assert view.device is not None
    view = replace(view, device=view.device.with_status(phase="Failed", reason=reason))
    waits = pod(node=node)
    said = "ElasticGPUClaim train is Lost: node-a refused it"
    assert why(waits, looked(waits, view).entries) == said + more


def test_what_passes() -> None:
    """A claim that is made with its pod is not there yet, then it is being bound: no news."""
    said = {name: why(view.pod, view.entries) for name, view, _ in SENTENCES if view.pod}
    assert {name for name, words in said.items() if words and passes(words)} == {
        "no-claim",
        "the-second-one-says",
        "new",
    }


FORGED: list[tuple[str, list[OwnerReference]]] = [
    ("nobodys", []),
    ("a-jobs", [OWNER.but(kind="Job", name="web", uid="uid-job")]),
]


@pytest.mark.parametrize("owners", [pytest.param(owners, id=name) for name, owners in FORGED])
def test_a_claim_that_only_has_the_name_is_refused(owners: list[OwnerReference]) -> None:
    """A claim called like the one made for this pod, which the pod does not own, is not used."""
    odd = MINE.with_metadata(owner_references=owners)
    assert handing.decide(looked(FOR_POD, behind(odd, RC))) == (Say(NOT_ITS_OWN),)


def test_a_second_owner_does_not_take_the_claim_away() -> None:
    """Whoever else was written into the owners, and wherever: the pod's claim stays its own."""
    other = OWNER.but(kind="App", name="app", uid="uid-app", controller=False)
    both = MINE.with_metadata(owner_references=[other, OWNER])
    assert handing.decide(looked(FOR_POD, behind(both, RC))) == (
        Allocate(RC, both, of(both), reserve=True),
    )


def test_claim_of_a_template() -> None:
    """It carries the template's labels, annotations and spec, and the pod owns it."""
    (entry,) = entries(FOR_POD)
    new = handing.claim_of(FOR_POD, entry, TEMPLATE)
    assert new.key == ("team", "web-0-egpu-0")
    assert (new.metadata.labels, new.metadata.annotations) == ({"a": "b"}, {"c": "d"})
    assert new.spec == TEMPLATE.spec.spec
    assert new.metadata.owner_references == [OWNER]
    assert BIND_COMPLETED not in new.metadata.annotations


def test_allocated_says_device_node_and_time() -> None:
    """The scheduler reads the device and its node, and leaves the reservation alone."""
    got = handing.allocated(Allocate(RC, HELD, of(HELD), reserve=True), now=NOW)
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


def test_allocated_without_a_node() -> None:
    """A remote device can be used from any node, and nothing is reserved for a placed pod."""
    got = handing.allocated(Allocate(RC, HELD, of(HELD, ""), reserve=False), now=NOW)
    assert got.status.allocation is not None
    assert got.status.allocation.devices.results[0].pool == "remote"
    assert got.status.allocation.node_selector is None
    assert got.status.reserved_for == []


def test_unreserved_takes_only_our_entry() -> None:
    """A pod's own stays, and so does the allocation."""
    whole = made("rc-0", OURS, PODS, done=True)
    back = handing.unreserved(whole)
    assert handing.reserved(back) == [PODS]
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
    got = handing.allocated(Allocate(before, HELD, of(HELD), reserve=reserve), now=NOW)
    assert handing.reserved(got) == [*others, *([OURS] if reserve else [])]
    back = handing.unreserved(got)
    assert handing.reserved(back) == others
    assert back.status.allocation == got.status.allocation
    assert handing.unreserved(back) == back


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
