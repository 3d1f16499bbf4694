"""What a claim says that gets no device, and how it leaves one that is given up."""

from __future__ import annotations

import pytest

from elasticgpu.api.claim import ClaimUser
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.names import BIND_COMPLETED
from elasticgpu.api.vocabulary import CORE
from elasticgpu.rules import binding, transaction
from elasticgpu.rules.decisions import ClaimView, Lost, Unbind, Wait
from elasticgpu.rules.ledger import OVERCOMMITTED
from elasticgpu.rules.transaction import NODE_LOST, WITHDRAWN
from tests.rules.build import LATER, NOW, claim, device, ref

from .worlds import TRAIN


@pytest.mark.parametrize(
    "why",
    [Wait("NoCapacity", "x" * 5000), Lost("DeviceLost", "x" * 5000)],
    ids=["pending", "lost"],
)
def test_unserved_says_so(why: Wait | Lost) -> None:
    """The reason is in the Bound condition, within its bounds, and no capacity is claimed."""
    had = TRAIN.with_status(phase="Bound", capacity={CORE: 10}, class_name="gold")
    status = binding.unserved(had, why, "", now=NOW).status
    (condition,) = status.conditions
    assert (status.phase, status.capacity, status.class_name) == (
        "Pending" if isinstance(why, Wait) else "Lost",
        {},
        "gold",
    )
    assert (condition.type, condition.status, condition.reason) == ("Bound", "False", why.reason)
    assert condition.message == "x" * 4096
    assert condition.last_transition_time == NOW


def test_waiting_is_a_warning_unless_said_otherwise() -> None:
    """A person has to do something about most of what a claim waits for."""
    assert Wait("NoCapacity", "full").event == "Warning"


def test_unserved_twice_is_the_same() -> None:
    """Said a second time, later, it is no change: a waiting claim costs no writes."""
    once = binding.unserved(TRAIN, Wait("NoCapacity", "full"), "gold", now=NOW)
    twice = binding.unserved(once, Wait("NoCapacity", "full"), "gold", now="later")
    assert twice == once
    assert once.status.class_name == "gold"


GIVEN_UP = {
    "withdrawn": ("Released", WITHDRAWN),
    "overcommitted": ("Failed", OVERCOMMITTED),
    "node-lost": ("Failed", NODE_LOST),
}


def abandoned(how: str, **more: object) -> ElasticGPU:
    phase, reason = GIVEN_UP[how]
    found = device(phase=phase, reason=reason, of=ref(claim()))  # type: ignore[arg-type]
    return found.with_status(**more)


@pytest.mark.parametrize("how", GIVEN_UP)
@pytest.mark.parametrize("phase", ["Bound", "Pending", "Lost"])
def test_a_claim_leaves_a_device_that_is_given_up(how: str, phase: str) -> None:
    """Whatever write was the last: status, then name, and then it waits for the device's end."""
    if how != "withdrawn" and phase == "Lost":
        phase = "Bound"
    rows = [ClaimUser(pod_uid="pod-1")] if (how, phase) == ("withdrawn", "Bound") else []
    bound = claim(named="egpu-a", completed=True).with_status(phase=phase, users=rows)
    found = abandoned(how)
    view = ClaimView(claim=bound, named=found, reserved=(found,))
    assert binding.decide(view) == Unbind(found)
    waiting = transaction.unbound(bound, found, now=NOW)
    assert (waiting.status.phase, waiting.status.users) == ("Pending", [])
    assert transaction.unbound(waiting, found, now=LATER) == waiting
    assert waiting.status.excluded_nodes == (["node-a"] if rows else [])
    free = transaction.nameless(waiting)
    assert transaction.nameless(free) == free
    assert (free.spec.elastic_gpu_name, BIND_COMPLETED in free.metadata.annotations) == ("", False)
    last = binding.decide(ClaimView(claim=free, reserved=(found,)))
    assert isinstance(last, Wait)
    assert (last.reason, last.event) == (
        (WITHDRAWN, None) if how == "withdrawn" else ("DeviceGivenUp", "Warning")
    )


@pytest.mark.parametrize(
    ("how", "change"),
    [
        ("overcommitted", {"users": True}),
        ("node-lost", {"users": True}),
        ("overcommitted", {"prepared": True}),
        ("node-lost", {"prepared": True}),
    ],
)
def test_a_claim_whose_pod_has_the_device_is_lost(how: str, change: dict[str, bool]) -> None:
    """What a pod may have used is not replaced behind its back."""
    found = abandoned(how, prepared_for=["pod-1"] if change.get("prepared") else [])
    users = [ClaimUser(pod_uid="pod-1")] if change.get("users") else []
    bound = claim(named="egpu-a", completed=True).with_status(phase="Bound", users=users)
    assert isinstance(binding.decide(ClaimView(claim=bound, named=found)), Lost)


def test_nodes_tried_are_remembered_up_to_a_bound() -> None:
    """The oldest is forgotten, so that the status stays within its schema."""
    found = abandoned("withdrawn")
    tried = [f"node-{n}" for n in range(64)]
    rows = [ClaimUser(pod_uid="pod-1")]
    bound = claim(named="egpu-a").with_status(phase="Bound", excluded_nodes=tried, users=rows)
    nodes = transaction.unbound(bound, found, now=NOW).status.excluded_nodes
    assert (len(nodes), nodes[-1]) == (64, "node-a")
