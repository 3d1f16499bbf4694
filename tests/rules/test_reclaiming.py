"""Reclaiming: the whole matrix of a device's states, and the laws that hold in all of it."""

from __future__ import annotations

from itertools import product
from typing import Literal, NamedTuple

import pytest

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import DevicePhase, ReclaimPolicy
from elasticgpu.api.meta import ObjectReference
from elasticgpu.api.names import BOUND_BY_CONTROLLER, DEVICE_PROTECTION, PROVISIONED_BY
from elasticgpu.rules import reclaiming
from elasticgpu.rules.ledger import OVERCOMMITTED
from elasticgpu.rules.reclaiming import (
    Admit,
    Decision,
    Delete,
    Deny,
    DeviceView,
    Keep,
    Release,
    RollBack,
    Unprotect,
)
from elasticgpu.rules.releasing import RELEASE_FAILED
from elasticgpu.rules.transaction import WITHDRAWN

from .build import LATER, NOW, claim, device, ref

Phase = Literal[
    "new", "Pending", "Available", "Bound", "Released", "Failed", "denied", "withdrawn",
    "unreleased",
]  # fmt: skip
Owner = Literal["none", "reserved", "jilted", "unbound", "here", "elsewhere", "gone", "recreated"]
PHASES: tuple[Phase, ...] = (
    "new", "Pending", "Available", "Bound", "Released", "Failed", "denied", "withdrawn",
    "unreleased",
)  # fmt: skip
OWNERS: tuple[Owner, ...] = (
    "none", "reserved", "jilted", "unbound", "here", "elsewhere", "gone", "recreated",
)  # fmt: skip
"""The device has no claimRef; one without uid; one without uid whose claim took another device; its
claim lives and names nothing yet, this device, another device; its claim is gone; one of the same
name is there with another uid."""
POLICIES: tuple[ReclaimPolicy, ...] = ("Delete", "Retain")
FULL = "the card is full"


class World(NamedTuple):
    """One cell of the matrix."""

    phase: Phase
    owner: Owner
    policy: ReclaimPolicy = "Retain"
    terminating: bool = False
    protected: bool = True
    ours: bool = False
    lacks: str | None = None


WORLDS = [
    World(*cell)
    for cell in product(
        PHASES, OWNERS, POLICIES, (False, True), (False, True), (False, True), (None, FULL)
    )
]


def view(world: World, said: str = FULL) -> DeviceView:
    pointing: dict[Owner, ElasticGPUClaim] = {
        "unbound": claim(),
        "here": claim(named="egpu-a"),
        "elsewhere": claim(named="egpu-b"),
        "jilted": claim(named="egpu-b"),
        "recreated": claim().with_metadata(uid="uid-of-a-later-train"),
    }
    by_name = ref(claim(), uid="")
    refs: dict[Owner, ObjectReference | None] = {
        "none": None,
        "reserved": by_name,
        "jilted": by_name,
    }
    phases: dict[Phase, DevicePhase] = {
        "new": "", "denied": "Failed", "withdrawn": "Released", "unreleased": "Failed",
    }  # fmt: skip
    found = device(
        phase=phases.get(world.phase, world.phase),  # type: ignore[arg-type] # the rest are phases
        of=refs.get(world.owner, ref(claim())),
        policy=world.policy,
        terminating=world.terminating,
        finalizers=[DEVICE_PROTECTION] if world.protected else [],
        annotations={PROVISIONED_BY: "x"} if world.ours else {},
    )
    if world.phase == "denied":
        found = found.with_status(reason=OVERCOMMITTED, message=said)
    if world.phase == "withdrawn":
        found = found.with_status(reason=WITHDRAWN)
    if world.phase == "unreleased":
        found = found.with_status(reason=RELEASE_FAILED)
    return DeviceView(found, pointing.get(world.owner), world.lacks)


def given_up(world: World) -> bool:
    """Its claim may live, but will not get it: it says so itself."""
    return world.phase == "withdrawn" or (world.phase == "denied" and world.ours)


def going(world: World, *, freed_first: bool) -> Decision:
    """Somebody deleted it, and no claim has it."""
    if not world.protected:
        return Keep()
    deletes = world.policy == "Delete" or (world.ours and given_up(world))
    return Delete() if freed_first and deletes else Unprotect()


def expected(world: World) -> Decision:
    """The matrix, folded: the first line that fits is the answer."""
    spare = world.owner == "elsewhere" and (
        world.terminating or (world.ours and world.policy == "Delete")
    )
    abandoned = (
        given_up(world) and world.owner in ("unbound", "elsewhere") and not world.terminating
    )
    fresh = world.phase in ("new", "Pending", "denied") and not world.ours
    match world:
        case World(terminating=False, lacks=None) if fresh:
            return Admit()
        case World(terminating=False) if fresh:
            return Keep() if world.phase == "denied" else Deny(FULL)
        case _ if abandoned:
            return Delete() if world.ours else RollBack()
        case World(owner="here") | World(owner="unbound", terminating=False):
            return Keep()
        case World(owner="elsewhere") if not spare:
            return RollBack()
        case World(owner="none" | "reserved" | "jilted", terminating=True):
            return going(world, freed_first=world.ours)
        case World(owner="none" | "reserved" | "jilted", phase="Available" | "Failed"):
            return Keep()
        case World(
            owner="none" | "reserved" | "jilted",
            phase="Bound" | "Released" | "withdrawn" | "unreleased",
        ):
            return Admit()
        case World(owner="none" | "reserved" | "jilted", lacks=None):
            return Admit()
        case World(owner="none" | "reserved" | "jilted", phase="denied"):
            return Keep()
        case World(owner="none" | "reserved" | "jilted"):
            return Deny(FULL)
        case World(phase="new" | "Pending" | "Available" | "Bound"):
            return Release()
        case World(terminating=True):
            return going(world, freed_first=not fresh)
        case World(policy="Delete"):
            return Delete()
        case _:
            return Keep()


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("phase", PHASES)
def test_matrix(phase: Phase, owner: Owner) -> None:
    """Each of the 2,304 states leads to the decision of the folded matrix."""
    cells = [w for w in WORLDS if (w.phase, w.owner) == (phase, owner)]
    wrong = [
        (world, got)
        for world in cells
        if (got := reclaiming.decide(view(world))) != expected(world)
    ]
    assert (len(cells), wrong) == (32, [])


SCENARIOS: list[tuple[str, World, Decision]] = [
    ("29-no-claimref", World("new", "none"), Admit()),
    ("29-reserved-by-name", World("new", "reserved"), Admit()),
    ("29-no-room", World("new", "none", lacks=FULL), Deny(FULL)),
    ("29-room-appeared", World("denied", "none"), Admit()),
    ("30-claim-gone-retained", World("Bound", "gone"), Release()),
    ("30-stays-released", World("Released", "gone"), Keep()),
    ("30-claimref-cleared", World("Released", "none"), Admit()),
    ("31-same-name-new-uid", World("Bound", "recreated"), Release()),
    ("32-claim-without-pointer", World("new", "unbound", "Delete", ours=True), Keep()),
    ("33-claim-points-here", World("Bound", "here", "Delete", ours=True), Keep()),
    ("34-claim-elsewhere", World("Bound", "elsewhere"), RollBack()),
    ("37-made-for-it-and-not-taken", World("Bound", "elsewhere", "Delete", ours=True), Release()),
    ("37-then-deleted", World("Released", "elsewhere", "Delete", ours=True), Delete()),
    ("50-claim-deleted-meanwhile", World("new", "gone", "Delete", ours=True), Release()),
    ("55-released-and-delete", World("Released", "gone", "Delete"), Delete()),
    ("55-failed-and-delete", World("Failed", "gone", "Delete"), Delete()),
    ("55-made-by-an-admin-too", World("Released", "gone", "Delete", ours=False), Delete()),
    ("55-already-deleting", World("Released", "gone", "Delete", terminating=True), Delete()),
    ("55-deleting-and-retained", World("Released", "gone", terminating=True), Unprotect()),
    ("56-not-released-yet", World("unreleased", "gone", "Delete"), Delete()),
    ("56-not-released-and-recycled", World("unreleased", "none", "Delete"), Admit()),
    ("56-policy-now-retain", World("unreleased", "gone"), Keep()),
    (
        "made-for-nobody-and-deleting",
        World("Available", "none", "Delete", terminating=True, ours=True),
        Delete(),
    ),
    ("59-deleting-and-bound", World("Bound", "here", "Delete", terminating=True), Keep()),
    ("59-deleting-and-free", World("Available", "none", terminating=True), Unprotect()),
    ("59-let-go-already", World("Available", "none", terminating=True, protected=False), Keep()),
]


@pytest.mark.parametrize(
    ("world", "want"), [pytest.param(world, want, id=name) for name, world, want in SCENARIOS]
)
def test_scenarios(world: World, want: Decision) -> None:
    """The scenarios of Kubernetes' tests, under their numbers."""
    assert reclaiming.decide(view(world)) == want


def reaching(*decisions: type[Decision]) -> list[World]:
    return [w for w in WORLDS if isinstance(reclaiming.decide(view(w)), decisions)]


def test_nothing_is_freed_under_a_living_claim() -> None:
    """While its claim lives and points here, or may yet, a device is kept, deletion or not.

    A claim that names nothing yet will not take a device that is being deleted or given up."""
    freed = reaching(Release, Delete, RollBack, Unprotect)
    assert [w for w in freed if w.owner == "here"] == []
    unbound = [w for w in freed if w.owner == "unbound" and not w.terminating]
    assert all(given_up(w) for w in unbound)


def test_an_admin_made_device_is_let_in_by_the_ledger_alone() -> None:
    """Whatever its claimRef says, nothing happens to it before it was admitted or denied."""
    for world in WORLDS:
        if world.phase in ("new", "Pending") and not (world.ours or world.terminating):
            assert isinstance(reclaiming.decide(view(world)), Admit | Deny)


def test_delete_only_what_was_written_down_as_released() -> None:
    """Delete comes after Released or Failed, with policy Delete, and never without a claimRef;
    one that somebody deletes may be without, if we made it."""
    for world in reaching(Delete):
        deleted = world.terminating and world.protected
        assert world.policy == "Delete" or given_up(world)
        if world.owner in ("none", "reserved", "jilted"):
            assert deleted
            assert world.ours
        else:
            assert world.phase in ("Released", "Failed", "denied", "withdrawn", "unreleased")
            lives = world.owner in ("here", "unbound")
            assert not lives or given_up(world) or (deleted and world.owner == "unbound")


def test_retained_is_never_deleted() -> None:
    """With policy Retain nothing a person could still want is deleted."""
    kept = [w for w in reaching(Delete) if w.policy == "Retain" and not given_up(w)]
    assert kept == []


def test_only_what_has_room_is_admitted() -> None:
    """A device that never held room is not admitted while it lacks it."""
    never = [w for w in reaching(Admit) if w.lacks and w.phase in ("new", "Pending", "denied")]
    assert never == []


def test_unprotect_comes_once() -> None:
    """Our finalizer goes from a device that is being deleted, and only if it is there."""
    assert all(w.terminating and w.protected for w in reaching(Unprotect))


def test_denied_for_another_reason_is_said_anew() -> None:
    """A denied device hears of the new reason, and is quiet under the same one."""
    world = World("denied", "none", lacks=FULL)
    assert reclaiming.decide(view(world, said="other words")) == Deny(FULL)
    assert reclaiming.decide(view(world)) == Keep()


def test_denied_first_time_whatever_its_status_says() -> None:
    """A new device without room is denied, even if its status has those very words."""
    new = view(World("new", "none", lacks=FULL))
    told = DeviceView(new.device.with_status(message=FULL), None, FULL)
    assert reclaiming.decide(told) == Deny(FULL)


def test_in_phase_agrees_with_its_condition() -> None:
    """Phase, reason, message and the Bound condition say one thing, and fit their fields."""
    freed = reclaiming.in_phase(device(phase="Bound"), "Available", now=NOW)
    assert (freed.status.phase, freed.status.reason) == ("Available", "")
    assert [(c.status, c.reason) for c in freed.status.conditions] == [("False", "Available")]
    denied = reclaiming.in_phase(freed, "Failed", now=LATER, reason="Odd", message="x" * 2000)
    (condition,) = denied.status.conditions
    assert denied.status.message == condition.message == "x" * 1024
    assert (condition.reason, condition.last_transition_time) == ("Odd", NOW)


@pytest.mark.parametrize(
    ("annotations", "had", "want"),
    [
        pytest.param({BOUND_BY_CONTROLLER: "yes", "a": "b"}, ref(claim()), None, id="34-ours"),
        pytest.param({"a": "b"}, ref(claim()), ref(claim(), uid=""), id="34-a-persons"),
        pytest.param({"a": "b"}, None, None, id="none"),
    ],
)
def test_rolled_back(
    annotations: dict[str, str], had: ObjectReference | None, want: ObjectReference | None
) -> None:
    """Our claimRef goes whole, of a person's only the uid; other annotations stay."""
    back = reclaiming.rolled_back(device(of=had, annotations=annotations))
    assert (back.spec.claim_ref, back.metadata.annotations) == (want, {"a": "b"})


def test_made_by_us() -> None:
    """The provisioner's annotation tells the controller's devices from an admin's."""
    assert reclaiming.made_by_us(device(annotations={PROVISIONED_BY: "x"}))
    assert not reclaiming.made_by_us(device())
