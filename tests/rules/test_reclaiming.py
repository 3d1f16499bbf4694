"""Reclaiming: the whole matrix of a device's states, and the laws that hold in all of it."""

from __future__ import annotations

from functools import cache
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
    InUse,
    Keep,
    Lose,
    Recover,
    Release,
    RollBack,
    Unprotect,
)
from elasticgpu.rules.releasing import RELEASE_FAILED
from elasticgpu.rules.transaction import NODE_LOST, WITHDRAWN

from .build import LATER, NOW, claim, device, ref

Phase = Literal[
    "new", "Pending", "Available", "Bound", "Released", "Failed", "denied", "withdrawn",
    "unreleased", "lost",
]  # fmt: skip
Owner = Literal[
    "none", "shorn", "reserved", "jilted", "unbound", "here", "elsewhere", "gone", "recreated"
]
There = Literal["there", "lost", "cardless"]
PHASES: tuple[Phase, ...] = (
    "new", "Pending", "Available", "Bound", "Released", "Failed", "denied", "withdrawn",
    "unreleased", "lost",
)  # fmt: skip
OWNERS: tuple[Owner, ...] = (
    "none", "shorn", "reserved", "jilted", "unbound", "here", "elsewhere", "gone", "recreated",
)  # fmt: skip
"""The device has no claimRef; none any more, though a claim is bound to it; one without uid; one
without uid whose claim took another device; its claim lives and names nothing yet, this device,
another device; its claim is gone; one of the same name is there with another uid."""
NODE: tuple[There, ...] = ("there", "lost", "cardless")
"""The device's node is there; is lost; is there, but not the cards the device is cut from."""
POLICIES: tuple[ReclaimPolicy, ...] = ("Delete", "Retain")
FULL = "the card is full"
GONE = "node node-a is gone"
LOST = f"{GONE}: its claim gets another ElasticGPU once no pod has this one"
IN_USE = "is being deleted, but ElasticGPUClaim team/train has it: it goes when that is deleted"


class World(NamedTuple):
    """One cell of the matrix."""

    phase: Phase
    owner: Owner
    policy: ReclaimPolicy = "Retain"
    terminating: bool = False
    protected: bool = True
    ours: bool = False
    lacks: str | None = None
    node: There = "there"


WORLDS = [
    World(*cell)
    for cell in product(
        PHASES, OWNERS, POLICIES, (False, True), (False, True), (False, True), (None, FULL), NODE
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
        "shorn": None,
        "reserved": by_name,
        "jilted": by_name,
    }
    phases: dict[Phase, DevicePhase] = {
        "new": "", "denied": "Failed", "withdrawn": "Released", "unreleased": "Failed",
        "lost": "Failed",
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
    reasons: dict[Phase, str] = {
        "withdrawn": WITHDRAWN, "unreleased": RELEASE_FAILED, "lost": NODE_LOST,
    }  # fmt: skip
    if world.phase in reasons:
        found = found.with_status(reason=reasons[world.phase])
    return DeviceView(
        found,
        pointing.get(world.owner),
        named_by=claim(named="egpu-a") if world.owner == "shorn" else None,
        lacks=world.lacks,
        lost=GONE if world.node == "lost" else None,
        cards=world.node != "cardless",
    )


def given_up(world: World) -> bool:
    """Its claim may live, but will not get it: it says so itself."""
    return world.phase in ("withdrawn", "lost") or (world.phase == "denied" and world.ours)


def going(world: World, *, freed_first: bool) -> Decision:
    """Somebody deleted it, and no claim has it."""
    if not world.protected:
        return Keep()
    deletes = world.policy == "Delete" or (world.ours and given_up(world))
    return Delete() if freed_first and deletes else Unprotect()


def expected(world: World) -> Decision:
    """The matrix, folded: the first line that fits is the answer."""
    fresh = world.phase in ("new", "Pending", "denied") and not world.ours
    lacks = GONE if world.node == "lost" else world.lacks
    claimless = world.owner in ("none", "shorn", "reserved", "jilted")
    lost = world.node == "lost" and (
        world.phase in ("new", "Pending", "Available", "Bound")
        or (claimless and world.phase in ("Released", "withdrawn"))
    )
    spare = world.owner == "elsewhere" and world.ours and world.policy == "Delete"
    match world:
        case World(terminating=False) if fresh:
            return admitted_or_not(world, lacks)
        case World(owner="gone" | "recreated"):
            return ownerless(world)
        case World(owner="shorn"):
            return Keep()
        case _ if lost:
            return Lose(LOST)
        case World(owner="unbound" | "elsewhere", terminating=True):
            return ownerless(world)
        case World(owner="here", terminating=True):
            return InUse(IN_USE)
        case World(terminating=True):
            return going(world, freed_first=world.ours)
        case World(owner="unbound" | "elsewhere", ours=True) if given_up(world):
            return Delete()
        case World(owner="elsewhere"):
            return ownerless(world) if spare else RollBack()
        case World(owner="unbound"):
            return RollBack() if given_up(world) else Keep()
        case World(owner="here"):
            return Recover() if (world.phase, world.node) == ("lost", "there") else Keep()
        case World(phase="Available" | "Failed"):
            return Keep()
        case World(phase="lost"):
            return Admit() if world.node == "there" else Keep()
        case World(phase="unreleased"):
            return Keep() if world.node == "lost" else Admit()
        case World(phase="Bound" | "Released" | "withdrawn"):
            return Admit()
        case _:
            return admitted_or_not(world, lacks)


def admitted_or_not(world: World, lacks: str | None) -> Decision:
    if lacks is None:
        return Admit()
    return Keep() if (world.phase, lacks) == ("denied", FULL) else Deny(lacks)


def ownerless(world: World) -> Decision:
    match world:
        case World(phase="new" | "Pending" | "Available" | "Bound"):
            return Release()
        case World(terminating=True):
            return going(world, freed_first=world.phase != "denied" or world.ours)
        case World(policy="Delete"):
            return Delete()
        case _:
            return Keep()


@cache
def decided() -> list[tuple[World, Decision]]:
    return [(world, reclaiming.decide(view(world))) for world in WORLDS]


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("phase", PHASES)
def test_matrix(phase: Phase, owner: Owner) -> None:
    """Each of the 8,640 states leads to the decision of the folded matrix."""
    cells = [(w, got) for w, got in decided() if (w.phase, w.owner) == (phase, owner)]
    wrong = [(world, got) for world, got in cells if got != expected(world)]
    assert (len(cells), wrong) == (96, [])


SCENARIOS: list[tuple[str, World, Decision]] = [
    ("29-no-claimref", World("new", "none"), Admit()),
    ("29-reserved-by-name", World("new", "reserved"), Admit()),
    ("29-no-room", World("new", "none", lacks=FULL), Deny(FULL)),
    ("29-room-appeared", World("denied", "none"), Admit()),
    ("30-claim-gone-retained", World("Bound", "gone"), Release()),
    ("30-stays-released", World("Released", "gone"), Keep()),
    ("30-claimref-cleared", World("Released", "none"), Admit()),
    ("31-same-name-new-uid", World("Bound", "recreated"), Release()),
    ("31-claimref-taken-from-a-bound-one", World("Bound", "shorn"), Keep()),
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
    ("59-deleting-and-bound", World("Bound", "here", "Delete", terminating=True), InUse(IN_USE)),
    ("59-deleting-and-free", World("Available", "none", terminating=True), Unprotect()),
    ("59-let-go-already", World("Available", "none", terminating=True, protected=False), Keep()),
    ("node-lost-in-use", World("Bound", "here", node="lost"), Lose(LOST)),
    ("node-lost-and-free", World("Available", "none", node="lost"), Lose(LOST)),
    ("node-lost-before-the-bind", World("new", "unbound", ours=True, node="lost"), Lose(LOST)),
    ("node-lost-but-kept-for-a-person", World("Released", "gone", node="lost"), Keep()),
    ("node-lost-and-recycled", World("Released", "none", node="lost"), Lose(LOST)),
    ("node-back-before-the-claim-left", World("lost", "here"), Recover()),
    ("node-back-without-its-cards", World("lost", "here", node="cardless"), Keep()),
    ("node-back-for-anybody", World("lost", "none"), Admit()),
    ("node-lost-and-the-claim-left", World("lost", "unbound", ours=True, node="lost"), Delete()),
    ("node-lost-an-admins", World("lost", "unbound", node="lost"), RollBack()),
]


@pytest.mark.parametrize(
    ("world", "want"), [pytest.param(world, want, id=name) for name, world, want in SCENARIOS]
)
def test_scenarios(world: World, want: Decision) -> None:
    """The scenarios of Kubernetes' tests, under their numbers."""
    assert reclaiming.decide(view(world)) == want


def reaching(*decisions: type[Decision]) -> list[World]:
    return [world for world, decision in decided() if isinstance(decision, decisions)]


def test_nothing_is_freed_under_a_living_claim() -> None:
    """While its claim lives and points here, or may yet, a device is kept, deletion or not.

    A claim that names nothing yet will not take a device that is being deleted or given up."""
    freed = reaching(Release, Delete, RollBack, Unprotect)
    assert [w for w in freed if w.owner == "here"] == []
    unbound = [w for w in freed if w.owner == "unbound" and not w.terminating]
    assert all(given_up(w) for w in unbound)


def test_an_admin_made_device_is_let_in_by_the_ledger_alone() -> None:
    """Whatever its claimRef says, nothing happens to it before it was admitted or denied."""
    for world, decision in decided():
        if world.phase in ("new", "Pending") and not (world.ours or world.terminating):
            assert isinstance(decision, Admit | Deny)


def test_delete_only_what_was_written_down_as_released() -> None:
    """Delete comes after Released or Failed, with policy Delete, and never without a claimRef;
    one that somebody deletes may be without, if we made it."""
    for world in reaching(Delete):
        deleted = world.terminating and world.protected
        assert world.policy == "Delete" or given_up(world)
        if world.owner in ("none", "shorn", "reserved", "jilted"):
            assert deleted
            assert world.ours
        else:
            assert world.phase not in ("new", "Pending", "Available", "Bound")
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
    told = DeviceView(new.device.with_status(message=FULL), lacks=FULL)
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
