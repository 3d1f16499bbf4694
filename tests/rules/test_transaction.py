"""The bind is four writes; a crash after any of them is gone on from, with the same device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.claim import ElasticGPUClaim, ProvisioningRequest
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import ObjectReference
from elasticgpu.api.names import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    CLAIM_PROTECTION,
    DEVICE_PROTECTION,
    PROVISIONED_BY,
    PROVISIONING,
    device_name,
)
from elasticgpu.api.vocabulary import CORE, MEMORY
from elasticgpu.rules import binding, transaction
from elasticgpu.rules.decisions import Bind, Decision, Seek, Settled
from elasticgpu.rules.reclaiming import rolled_back

from .build import DRIVER, LATER, NOW, claim, device, gpu_class, ref, seen

TRAIN = claim()
RIVALS = (
    device("egpu-0-rival"),
    device("egpu-1-rival", core=100, memory="80Gi"),
    device("egpu-2-reserved", core=50, of=ref(TRAIN, uid="")),
)


class Start(NamedTuple):
    """How a pair comes to its bind, and how many of the four writes it needs."""

    claim: ElasticGPUClaim
    device: ElasticGPU
    writes: int = 4


STARTS = {
    "chosen": Start(TRAIN, device(memory="10Gi", name="egpu-a")),
    "reserved": Start(TRAIN, device(core=30, of=ref(TRAIN, uid=""))),
    "named": Start(claim(named="egpu-a"), device(core=90)),
    "named-and-reserved": Start(claim(named="egpu-a"), device(core=90, of=ref(TRAIN, uid=""))),
    "made-for-it": Start(
        TRAIN, device(of=ref(TRAIN), phase="", annotations={PROVISIONED_BY: DRIVER}), 3
    ),
    "lost-and-back": Start(
        claim(named="egpu-a", completed=True).with_status(phase="Lost"), device(), 3
    ),
}


def writes(
    of: ElasticGPUClaim, found: ElasticGPU, now: str
) -> Iterator[tuple[ElasticGPUClaim, ElasticGPU]]:
    """The pair after each of the four writes."""
    found = transaction.owned(found, of)
    yield of, found
    found = transaction.device_bound(found, now=now)
    yield of, found
    of = transaction.pointing(of, found)
    yield of, found
    of = transaction.claim_bound(of, found, now=now)
    yield of, found


def go_on(
    of: ElasticGPUClaim, found: ElasticGPU, *, crash_after: int, now: str = NOW
) -> tuple[ElasticGPUClaim, ElasticGPU, int]:
    """The pair after so many writes that change something, and how many there were."""
    done = 0
    for new in writes(of, found, now):
        if done == crash_after:
            break
        done += new != (of, found)
        of, found = new
    return of, found, done


def decide(
    of: ElasticGPUClaim, found: ElasticGPU, rivals: tuple[ElasticGPU, ...]
) -> Decision | Seek:
    return binding.decide(seen(of, found, *rivals, gpu_class=gpu_class()))


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
@pytest.mark.parametrize("crash_after", range(5))
def test_resumes_after_each_write(start: Start, crash_after: int) -> None:
    """After a crash the same device is bound, what is true is not written again, then it is quiet.

    The rivals are only there after the first write: before it, another one may rightly win.
    """
    of, found, done = go_on(start.claim, start.device, crash_after=crash_after)
    if done < start.writes:
        assert decide(of, found, RIVALS if done else ()) == Bind(found)
    of, found, more = go_on(of, found, crash_after=4, now=LATER)
    assert done + more == start.writes
    assert decide(of, found, RIVALS) == Settled()
    assert go_on(of, found, crash_after=4, now=LATER) == (of, found, 0)


@given(
    start=st.sampled_from([*STARTS.values()]),
    crashes=st.lists(st.integers(0, 4), max_size=8),
    rivals=st.lists(st.sampled_from(RIVALS), unique_by=lambda d: d.name).map(tuple),
)
def test_never_a_second_device(
    start: Start, crashes: list[int], rivals: tuple[ElasticGPU, ...]
) -> None:
    """However often it crashes, and whatever else is free, every write is to one device."""
    of, found, total = *start[:2], 0
    for crash_after in [1, *crashes, 4]:
        decision = decide(of, found, rivals if total else ())
        assert decision in (Bind(found), Settled())
        if decision == Bind(found):
            of, found, done = go_on(of, found, crash_after=crash_after)
            total += done
    assert total == start.writes
    assert decide(of, found, rivals) == Settled()
    assert of.spec.elastic_gpu_name == found.name
    assert found.claim_uid == of.uid


@given(
    start=st.sampled_from([*STARTS.values()]),
    done=st.integers(0, 4),
    rivals=st.lists(st.sampled_from(RIVALS), unique_by=lambda d: d.name).map(tuple),
)
def test_terminating_is_never_bound(
    start: Start, done: int, rivals: tuple[ElasticGPU, ...]
) -> None:
    """A claim whose deletion was asked for is not bound, however far its bind had come."""
    of, found, _ = go_on(start.claim, start.device, crash_after=done)
    going = of.with_metadata(deletion_timestamp=LATER)
    assert decide(going, found, rivals) == Settled()


def test_what_the_four_writes_say() -> None:
    """A chosen device and its claim say who they are for, since when, and that we chose."""
    of, found, _ = go_on(TRAIN, device(), crash_after=4)
    assert found.spec.claim_ref == ref(TRAIN)
    assert found.metadata.annotations == {BOUND_BY_CONTROLLER: "yes"}
    assert found.metadata.finalizers == [DEVICE_PROTECTION]
    (says,) = found.status.conditions
    assert (found.status.phase, says.status, says.reason) == ("Bound", "True", "ClaimBound")
    assert of.metadata.annotations == {BIND_COMPLETED: "yes", BOUND_BY_CONTROLLER: "yes"}
    assert of.metadata.finalizers == [CLAIM_PROTECTION]
    assert (of.spec.elastic_gpu_name, of.spec.elastic_gpu_class_name) == ("egpu-a", "gold")
    assert (of.status.phase, of.status.class_name) == ("Bound", "gold")
    assert of.status.capacity == {CORE: 10, MEMORY: "10Gi"}
    (says,) = of.status.conditions
    assert (says.status, says.message, says.last_transition_time) == (
        "True",
        "bound to egpu-a",
        NOW,
    )


@pytest.mark.parametrize(
    ("start", "device_marked", "claim_marked"),
    [
        pytest.param("chosen", True, True, id="01-chosen"),
        pytest.param("reserved", False, True, id="05-reserved"),
        pytest.param("named", True, False, id="18-named"),
        pytest.param("named-and-reserved", False, False, id="19-each-other"),
    ],
)
def test_who_made_the_pointer(start: str, device_marked: bool, claim_marked: bool) -> None:
    """A pointer is marked as ours only if no person had set it before."""
    of, found, _ = go_on(*STARTS[start][:2], crash_after=4)
    assert (BOUND_BY_CONTROLLER in found.metadata.annotations) is device_marked
    assert (BOUND_BY_CONTROLLER in of.metadata.annotations) is claim_marked


@pytest.mark.parametrize(
    ("named", "of_device", "then"),
    [
        pytest.param(None, "gold", "gold", id="from-the-device"),
        pytest.param("", "", "", id="classless"),
        pytest.param(None, "", None, id="none-to-fill-in"),
        pytest.param("gold", "gold", "gold", id="already-there"),
        pytest.param("silver", "gold", "silver", id="reserved-in-another-class"),
    ],
)
def test_third_write_fills_in_the_class(
    named: str | None, of_device: str, then: str | None
) -> None:
    """The class the claim got is written where it named none."""
    asks = claim(elastic_gpu_class_name=named)
    pointed = transaction.pointing(asks, device(class_name=of_device))
    assert pointed.spec.elastic_gpu_class_name == then


def test_second_and_fourth_write_leave_a_bound_one_alone() -> None:
    """What says Bound already is not written, whoever said it and in whatever words."""
    found = device(of=ref(TRAIN), phase="Bound").with_status(message="by hand")
    of = claim(named="egpu-a", completed=True).with_status(phase="Bound", capacity={CORE: 1})
    assert transaction.device_bound(found, now=NOW) == found
    assert transaction.claim_bound(of, found, now=NOW) == of


@pytest.mark.parametrize("start", ["chosen", "reserved"])
def test_roll_back_undoes_the_first_write(start: str) -> None:
    """34: what we reserved is free again; what a person reserved stays reserved, without uid."""
    before = STARTS[start].device
    back = rolled_back(transaction.owned(before, TRAIN))
    assert back.spec.claim_ref == before.spec.claim_ref
    assert back.metadata.annotations == {}


def test_excluded_nodes_are_remembered_once_and_up_to_a_bound() -> None:
    """A node tried in vain stands once; the oldest of too many goes; no node is no news."""
    once = transaction.excluded(TRAIN, "node-a")
    assert once.status.excluded_nodes == ["node-a"]
    assert transaction.excluded(once, "node-a") is once
    assert transaction.excluded(once, "") is once
    many = TRAIN.with_status(excluded_nodes=[f"node-{n}" for n in range(64)])
    nodes = transaction.excluded(many, "node-a").status.excluded_nodes
    assert (len(nodes), nodes[0], nodes[-1]) == (64, "node-1", "node-a")


@pytest.mark.parametrize(("final", "left"), [(True, []), (False, ["node-b"])])
def test_fourth_write_forgets_excluded_nodes_if_the_place_is_final(
    final: bool, left: list[str]
) -> None:
    """A pod may still refuse the node, and then the others are remembered."""
    tried = claim(named="egpu-a").with_status(phase="Pending", excluded_nodes=["node-b"])
    bound = transaction.claim_bound(tried, device(of=ref(TRAIN)), now=NOW, final=final)
    assert (bound.status.phase, bound.status.excluded_nodes) == ("Bound", left)


@pytest.mark.parametrize(
    ("of", "phase", "repaired"),
    [
        pytest.param(None, "Bound", True, id="25-taken-away"),
        pytest.param(ref(TRAIN, uid=""), "Bound", True, id="25-only-its-uid"),
        pytest.param(ref(TRAIN), "Bound", False, id="untouched"),
        pytest.param(None, "Pending", False, id="a-first-bind"),
        pytest.param(None, "Lost", False, id="28-back-again"),
    ],
)
def test_a_repair_is_told_from_a_bind(
    of: ObjectReference | None, phase: str, repaired: bool
) -> None:
    """Who takes claimRef away under a bound claim is told that it was written again, and why."""
    bound = claim(named="egpu-a", completed=True).with_status(phase=phase)
    said = transaction.cut_off(bound, device(phase="Bound", of=of))
    assert (said is not None) is repaired
    if said:
        assert "ElasticGPU egpu-a" in said
        assert "ElasticGPUClaim team/train" in said
        assert "delete the claim" in said


def test_the_marks_of_provisioning_go_with_the_third_and_fourth_write() -> None:
    """What kept the claim while its own device was made goes with the bind to it, not to another's.

    A spare device is still being made then, and nothing may be let go before it is there."""
    request = ProvisioningRequest(provisioner=DRIVER)
    making = claim().with_finalizers(PROVISIONING).with_status(provisioning=request)
    for name, left in ((device_name(making.uid), False), ("egpu-other", True)):
        made = device(name, of=ref(making))
        named = transaction.pointing(making, made)
        assert (PROVISIONING in named.metadata.finalizers) is left
        assert CLAIM_PROTECTION in named.metadata.finalizers
        bound = transaction.claim_bound(named, made, now=NOW)
        assert (bound.status.provisioning is not None) is left
        assert bound.status.phase == "Bound"
