"""When a pod's devices are taken back: ten seconds, all of them, and only what nobody else has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.claim import ClaimUser, ElasticGPUClaim
from elasticgpu.api.core import ConsumerReference, Pod, PodCondition, ResourceClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.api.names import BOUND_BY_CONTROLLER
from elasticgpu.rules import allocation, handing, withdrawing
from elasticgpu.rules.allocation import Allocate
from elasticgpu.rules.entries import SPEC, entries
from elasticgpu.rules.handing import Deallocate, PodView, Say
from elasticgpu.rules.transaction import WITHDRAWN
from elasticgpu.rules.waiting import EntryView
from elasticgpu.rules.withdrawing import LookAgain, Sharer, Stake, Stays, Verdict, Withdraw

from .build import claim, device, gpu_class, pod, ref

BEFORE, ALLOCATED = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
WAITS = gpu_class(egpu_binding_mode="WaitForFirstConsumer")
CHOSEN = {BOUND_BY_CONTROLLER: "yes"}
WORDS = "0/3 nodes are available: 1 node(s) didn't have free ports"
PODS = ConsumerReference(resource="pods", name="web-0", uid="uid-web-0")


def at(second: int) -> str:
    return f"2026-01-01T00:01:{second:02}Z"


def refused(since: str = BEFORE, message: str = WORDS, reason: str = "Unschedulable") -> Pod:
    """A pod that the scheduler has no node for."""
    said = PodCondition(
        type="PodScheduled",
        status="False",
        reason=reason,
        message=message,
        last_transition_time=since,
    )
    waiting = pod(claims=["train", "eval"], phase="Pending")
    return waiting.but(status=waiting.status.but(conditions=[said]))


def owned(name: str = "train", *holders: str) -> ElasticGPUClaim:
    rows = [ClaimUser(pod_uid=f"uid-{holder}", pod_name=holder) for holder in holders or ["web-0"]]
    of = claim(name, named=f"egpu-{name}", completed=True)
    marks = {**of.metadata.annotations, **CHOSEN}
    return of.with_metadata(annotations=marks).with_status(phase="Bound", users=rows)


def cut(of: ElasticGPUClaim, on: str = "node-a") -> ElasticGPU:
    return device(f"egpu-{of.name}", of=ref(of), phase="Bound", node=on, annotations=CHOSEN)


def made(of: ElasticGPUClaim, on: str = "node-a", *, done: bool = True) -> ResourceClaim:
    blank = ResourceClaim(
        metadata=ObjectMeta(namespace="team", name=f"rc-{of.name}"), spec=SPEC["spec"]
    )
    order = Allocate(blank, of, cut(of, on), reserve=True)
    return allocation.allocated(order, now=ALLOCATED) if done else blank


def stake(name: str = "train", on: str = "node-a", **more: object) -> Stake:
    of = owned(name)
    return replace(Stake(of, cut(of, on), made(of, on), WAITS), **more)  # type: ignore[arg-type]


def reserved(for_whom: ConsumerReference) -> ResourceClaim:
    whole = made(owned())
    status = whole.status.but(reserved_for=[*whole.status.reserved_for, for_whom])
    return whole.but(status=status)


def decide(
    of: Pod, stakes: Sequence[Stake], *unserved: ElasticGPUClaim, second: int = 30
) -> Verdict | None:
    return withdrawing.decide(of, stakes, unserved, now=at(second))


ONE, TWO = stake("train"), stake("eval")
BOTH = Withdraw(refused(), (ONE.resource_claim, TWO.resource_claim), (ONE, TWO), "node-a", WORDS)


def test_both_are_withdrawn() -> None:
    """All allocations first, then all devices, and the scheduler's words go with them."""
    assert decide(refused(), [ONE, TWO]) == BOTH
    said = f"node node-a does not take it ({WORDS}): its devices move to another node"
    assert BOTH.message == said


@pytest.mark.parametrize(
    ("since", "second", "left"),
    [
        (BEFORE, 0, 11),
        (BEFORE, 10, 1),
        (BEFORE, 11, None),
        (at(5), 11, 5),
        (at(5), 16, None),
        ("", 11, None),
    ],
)
def test_ten_seconds_since_the_later_of_allocation_and_verdict(
    since: str, second: int, left: float | None
) -> None:
    """Times are written in whole seconds: more than ten have to lie between them."""
    verdict = decide(refused(since), [ONE, TWO], second=second)
    assert verdict == (LookAgain(left) if left else replace(BOTH, pod=refused(since)))


def test_nothing_is_old_of_which_no_time_is_known() -> None:
    """Neither the scheduler nor we said when: the ten seconds have not begun."""
    untimed = ONE.resource_claim.status.allocation
    assert untimed is not None
    status = ONE.resource_claim.status.but(allocation=untimed.but(allocation_timestamp=None))
    one = replace(ONE, resource_claim=ONE.resource_claim.but(status=status))
    assert decide(refused(""), [one]) == LookAgain(11)


NOTHING: dict[str, tuple[Pod, list[Stake]]] = {
    "not-looked-at": (pod(phase="Pending"), [ONE]),
    "gated": (refused(reason="SchedulingGated"), [ONE]),
    "scheduled-this-moment": (refused(), [replace(ONE, resource_claim=reserved(PODS))]),
    "allocated-in-part": (
        refused(),
        [ONE, replace(TWO, resource_claim=made(owned("eval"), done=False))],
    ),
    "room-is-being-made-there": (
        refused().but(status=refused().status.but(nominated_node_name="node-a")),
        [ONE],
    ),
    "remote": (refused(), [stake(on="")]),
    "no-claims": (refused(), []),
}


@pytest.mark.parametrize("case", NOTHING)
def test_not_now(case: str) -> None:
    """Nothing is taken from a pod that the scheduler may still have there."""
    of, stakes = NOTHING[case]
    assert decide(of, stakes) is None


def test_words_are_bounded() -> None:
    """However long the scheduler talks."""
    verdict = decide(refused(message="x" * 5000), [ONE])
    assert isinstance(verdict, Withdraw)
    assert len(verdict.words) == 300


def prepared(found: ElasticGPU) -> ElasticGPU:
    return found.with_status(prepared_for=["uid-other"])


OTHER = pod("other", phase="Pending")
ITS = ResourceClaim(metadata=ObjectMeta(namespace="team", name="rc-other"), spec=SPEC["spec"])
FIXED: dict[str, tuple[Stake, str]] = {
    "at-once": (
        replace(ONE, gpu_class=gpu_class()),
        "devices of its class are placed at once, and not moved for a pod",
    ),
    "class-gone": (
        replace(ONE, gpu_class=None),
        "devices of its class are placed at once, and not moved for a pod",
    ),
    "named": (
        replace(ONE, claim=owned().with_metadata(annotations={})),
        "egpu-train was chosen for it by name",
    ),
    "reserved": (
        replace(ONE, device=cut(owned()).with_metadata(annotations={})),
        "egpu-train was chosen for it by name",
    ),
    "prepared": (
        replace(ONE, device=prepared(cut(owned()))),
        "egpu-train is prepared for a pod there",
    ),
    "another-runs-with-it": (
        replace(ONE, sharers=(Sharer("other", pod("other", node="node-a")),)),
        "pod other has it too",
    ),
    "another-held-it-and-is-not-undone": (
        replace(ONE, sharers=(Sharer("other"),)),
        "pod other has it too",
    ),
    "another-is-scheduled-this-moment": (
        replace(ONE, sharers=(Sharer("other", OTHER, (reserved(PODS),)),)),
        "pod other has it too",
    ),
    "colocated": (replace(ONE, partners=("eval", "test")), "it is colocated with eval, test"),
}


@pytest.mark.parametrize("case", FIXED)
def test_what_cannot_move_keeps_all_where_they_are(case: str) -> None:
    """One claim that stays keeps the others of the pod, which have to be beside it; it says why."""
    stays, why = FIXED[case]
    said = f"ElasticGPUClaim train stays on node node-a, which does not take the pod ({WORDS}): "
    assert decide(refused(), [TWO, stays]) == Stays(said + why)


def test_those_who_share_it_and_wait_lose_it_too() -> None:
    """A pod without node that has the same device is taken its allocation first."""
    whole = made(owned()).with_metadata(name="rc-other")
    shared = replace(ONE, sharers=(Sharer("other", OTHER, (whole, ITS)),))
    verdict = decide(refused(), [shared])
    assert isinstance(verdict, Withdraw)
    assert verdict.resource_claims == (ONE.resource_claim, whole)


GIVEN_UP = replace(ONE, device=ONE.device.with_status(phase="Released", reason=WITHDRAWN))
EXCLUDES_A = claim("test").with_status(phase="Pending", excluded_nodes=["node-a"])


@pytest.mark.parametrize("of", [refused(), pod(phase="Pending")], ids=["refused", "not-looked-at"])
def test_what_a_crash_left_behind_follows(of: Pod) -> None:
    """One of its devices is given up there, or its claim is past that: the others go as well."""
    follows = Withdraw(of, (TWO.resource_claim,), (TWO,), "node-a", "")
    assert decide(of, [GIVEN_UP, TWO], second=0) == follows
    assert decide(of, [TWO], EXCLUDES_A, second=0) == follows
    done = replace(TWO, resource_claim=made(owned("eval"), done=False))
    assert decide(of, [done], EXCLUDES_A, second=0) == Withdraw(of, (), (done,), "node-a", "")
    assert follows.message == "node node-a does not take it: its devices move to another node"


def test_what_is_elsewhere_or_stays_does_not_follow() -> None:
    """Only what nobody else has, and only from that node."""
    assert decide(refused(), [stake("eval", on="node-b")], EXCLUDES_A) is None
    assert decide(refused(), [replace(TWO, gpu_class=gpu_class())], EXCLUDES_A) is None
    assert decide(refused(), [replace(ONE, resource_claim=reserved(PODS))], EXCLUDES_A) is None


def test_unallocated() -> None:
    """Allocation and our entry go in one write; what others wrote stays."""
    bare = allocation.unallocated(reserved(PODS))
    assert bare.status.allocation is None
    assert bare.status.reserved_for == [PODS]
    assert bare.wire()["status"]["allocation"] is None


def behind(of: Pod, *stakes: Stake) -> PodView:
    """The view of a pod that has these, in the order of its entries."""
    rows = tuple(
        EntryView(entry, one.claim, None, one.device, one.resource_claim, gpu_class=one.gpu_class)
        for entry, one in zip(entries(of), stakes, strict=True)
    )
    return PodView(of, rows, tuple(one.resource_claim for one in stakes), now=at(30))


def test_the_pods_loop_withdraws_and_says_so() -> None:
    """First the sentence, for it names the node; then the act."""
    assert handing.decide(behind(refused(), ONE, TWO)) == (Say(BOTH.message), BOTH)


def test_the_pods_loop_says_why_not_and_waits() -> None:
    """What stays is said; what is too early is looked at again."""
    stays = replace(TWO, gpu_class=gpu_class())
    (said,) = handing.decide(behind(refused(), ONE, stays))
    assert isinstance(said, Say)
    assert said.message.startswith("ElasticGPUClaim eval stays on node node-a")
    early = replace(behind(refused(), ONE, TWO), now=at(5))
    assert handing.decide(early) == (LookAgain(6.0),)


def test_an_allocation_that_is_no_longer_the_claims_goes_first() -> None:
    """A claim that has left its device, or has another, while the pod has no node."""
    left = owned().but(spec=owned().spec.but(elastic_gpu_name=""))
    free = replace(ONE, claim=left.with_status(phase="Pending"))
    other = owned().but(spec=owned().spec.but(elastic_gpu_name="egpu-other"))
    for one in (free, replace(ONE, claim=other), GIVEN_UP):
        assert handing.decide(behind(refused(), one, TWO)) == (Deallocate(ONE.resource_claim),)
    on_node = pod(claims=["train", "eval"], node="node-a")
    actions = handing.decide(behind(on_node, replace(ONE, claim=other), TWO))
    assert Deallocate(ONE.resource_claim) not in actions
    said = "its device egpu-train is not ElasticGPUClaim train's any more: delete this pod"
    assert any(isinstance(one, Say) and one.message.startswith(said) for one in actions)


@given(
    st.lists(
        st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans()),
        min_size=1,
        max_size=3,
    ),
    st.integers(0, 40),
)
def test_never_what_somebody_has(rows: list[tuple[bool, bool, bool, bool]], second: int) -> None:
    """Whatever the pod's claims are like: what is withdrawn is of a class that waits for pods,
    prepared for nobody, reserved for no pod; all of them or, behind a crash, what is left."""
    stakes = []
    for n, (waits, ready, scheduled, gone) in enumerate(rows):
        one = stake(f"claim-{n}", gpu_class=WAITS if waits else gpu_class())
        one = replace(one, device=prepared(one.device)) if ready else one
        status = one.resource_claim.status
        entry = one.resource_claim.but(status=status.but(reserved_for=[*status.reserved_for, PODS]))
        one = replace(one, resource_claim=entry) if scheduled else one
        up = one.device.with_status(phase="Released", reason=WITHDRAWN)
        stakes.append(replace(one, device=up) if gone else one)
    verdict = decide(refused(), stakes, second=second)
    if isinstance(verdict, Withdraw):
        behind_a_crash = any(gone for *_, gone in rows)
        assert behind_a_crash or len(verdict.stakes) == len(stakes)
        assert behind_a_crash or second >= 11
        for one in verdict.stakes:
            waits, ready, scheduled, gone = rows[stakes.index(one)]
            assert (waits, ready, scheduled, gone) == (True, False, False, False)


def test_what_is_on_no_node_stays() -> None:
    """It is not why a node refuses the pod: what is of the node moves, and the other goes along."""
    far, near = stake("train", ""), stake("eval")
    found = withdrawing.decide(refused(), [far, near], [], now=at(30))
    assert isinstance(found, Withdraw)
    assert [one.claim.name for one in found.stakes] == ["eval"]
    assert withdrawing.decide(refused(), [far], [], now=at(30)) is None
    gone = replace(near, device=near.device.with_status(phase="Released", reason=WITHDRAWN))
    assert withdrawing.decide(refused(), [far, gone], [], now=at(30)) is None
