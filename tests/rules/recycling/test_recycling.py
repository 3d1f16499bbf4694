"""Released devices: nothing that is used is given back."""

from __future__ import annotations

import pytest

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.names import BOUND_BY_CONTROLLER, NODE_FINALIZER
from elasticgpu.rules import recycling
from elasticgpu.rules.ledger import OVERCOMMITTED
from elasticgpu.rules.recycling import Decline, Free, Remove
from elasticgpu.rules.transaction import WITHDRAWN
from tests.rules.build import claim, ref

from .devices import TRAIN, released

ANOTHER = claim().with_metadata(uid="uid-of-a-later-train")
MARKED = {BOUND_BY_CONTROLLER: "yes", "keep": "me"}


def prepared(pod: str) -> ElasticGPU:
    return released().with_status(prepared_for=[pod])


FAILED = released(phase="Failed").with_status(message="the card fell off")
DECLINED: list[tuple[str, ElasticGPU, ElasticGPUClaim | None, bool, str]] = [
    ("terminating", released(terminating=True), None, True, "being deleted already"),
    ("bound", released(phase="Bound"), TRAIN, False, "belongs to ElasticGPUClaim team/train"),
    ("bound-says-the-cache", released(phase="Bound"), None, True, "it is Bound, not Released"),
    ("its-claim-is-there", released(), TRAIN, False, "delete that claim first"),
    ("its-claim-is-there-still", released(), TRAIN, True, "delete that claim first"),
    ("reserved", released(of=ref(TRAIN, uid="")), TRAIN, False, "belongs to ElasticGPUClaim"),
    ("withdrawn", released(reason=WITHDRAWN), TRAIN, False, "the controller is taking it back"),
    ("prepared", prepared("uid-web"), None, False, "still has it ready for the pods with uid uid-"),
    ("prepared-deletes-neither", prepared("uid-web"), None, True, "wait for their end"),
    ("materialised", released(finalizers=[NODE_FINALIZER]), None, True, "has not undone it yet"),
    ("failed", FAILED, None, False, "it is Failed (the card fell off): it can only be deleted"),
    ("failed-mute", released(phase="Failed"), None, False, "it is Failed (no reason)"),
    ("available", released(phase="Available", of=None), None, False, "it is Available, not Rel"),
    ("no-phase-yet", released(phase=""), None, True, "it is Pending, not Released"),
    ("again", released(of=None), None, False, "it was given back already"),
    ("delete-policy", released(policy="Delete"), None, False, "the controller deletes it"),
    (
        "delete-policy-stuck",
        released(policy="Delete").with_status(message="no provisioner"),
        None,
        True,
        "the controller deletes it, but: no provisioner",
    ),
]


@pytest.mark.parametrize(
    ("found", "owner", "delete", "said"), [pytest.param(*row, id=name) for name, *row in DECLINED]
)
def test_declined(
    found: ElasticGPU, owner: ElasticGPUClaim | None, delete: bool, said: str
) -> None:
    """What somebody may still use stays, in words."""
    answer = recycling.decide(found, owner, delete=delete)
    assert isinstance(answer, Decline)
    assert said in answer.reason


@pytest.mark.parametrize("owner", [None, ANOTHER], ids=["claim-is-gone", "name-taken-anew"])
def test_freed(owner: ElasticGPUClaim | None) -> None:
    """It loses its claim and the mark that the controller chose it, and nothing else."""
    found = released(annotations=MARKED)
    assert recycling.decide(found, owner, delete=False) == Free(
        released(of=None, annotations={"keep": "me"})
    )


@pytest.mark.parametrize(
    "found",
    [
        released(),
        released(of=None),
        FAILED,
        released(phase="Failed", reason=OVERCOMMITTED, of=None),
        released(policy="Delete", of=None),
    ],
    ids=["released", "given-back", "failed", "never-had-room", "no-claim"],
)
def test_removed(found: ElasticGPU) -> None:
    """Deleting also serves what is Failed."""
    assert recycling.decide(found, None, delete=True) == Remove(found)


WAITING = [
    ("released", released(), True),
    ("bound", released(phase="Bound"), False),
    ("withdrawn", released(reason=WITHDRAWN), False),
    ("prepared", prepared("uid-web"), False),
    ("goes-by-itself", released(policy="Delete"), False),
    ("given-back", released(of=None), False),
]


@pytest.mark.parametrize(
    ("found", "waits"), [pytest.param(*row, id=name) for name, *row in WAITING]
)
def test_what_waits_for_an_admin(found: ElasticGPU, waits: bool) -> None:
    """Only what nobody uses and nothing else frees is offered."""
    assert recycling.waits_for_admin(found) is waits
