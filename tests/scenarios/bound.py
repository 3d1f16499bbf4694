"""24-28 and 40: what becomes of a claim that is bound."""

from __future__ import annotations

from .objects import Object, claim, device, held, pod
from .scenario import Scenario, bind, create, delete, edit, force_delete, restart, says

TRAIN = "Bound d1 completed by-controller"
LOST = "Lost d1 completed by-controller DeviceLost"
DEVICE = "Bound train by-controller"
PAIR = {"claim train": TRAIN, "device d1": DEVICE}
REPAIRED = [
    "event Warning ClaimRefTaken device d1",
    "event Warning ClaimRefTaken claim train",
]


def bound(name: str = "train", to: str = "d1", **more: object) -> Object:
    """A claim that is bound, as the controllers leave it."""
    return claim(name, names=to, completed=True, by_controller=True, phase="Bound", **more)  # type: ignore[arg-type]


def taken(name: str = "d1", by: str = "train", **more: object) -> Object:
    """The device of a bound claim, as the controllers leave it."""
    facts = {"phase": "Bound", "by_controller": True, "protected": True, **more}
    return device(name, owner=by, **facts)  # type: ignore[arg-type]


SCENARIOS = [
    Scenario(
        24,
        case="gone when synced",
        given=[bound()],
        then={"claim train": LOST},
        writes=says("Warning", "DeviceLost", "claim train"),
        events=["Warning DeviceLost claim train"],
    ),
    Scenario(
        24,
        case="gone by an event",
        given=[bound(), taken()],
        when=[force_delete("device d1")],
        then={"claim train": LOST},
        writes=says("Warning", "DeviceLost", "claim train"),
        events=["Warning DeviceLost claim train"],
    ),
    Scenario(
        24,
        case="its claim is being deleted",
        given=[pod("web", "train", on="n1", phase="Running"), held(bound()), taken()],
        when=[delete("claim train"), force_delete("device d1")],
        then={"claim train": "Lost d1 completed by-controller deleting with web DeviceLost"},
        writes=[
            ["template egpuc-train created"],
            ["event Normal InUse claim train", *says("Warning", "DeviceLost", "claim train")],
        ],
        events=["Normal InUse claim train", "Warning DeviceLost claim train"],
    ),
    Scenario(
        24,
        case="pointer emptied",
        given=[claim(completed=True, by_controller=True, phase="Bound")],
        then={"claim train": "Lost completed by-controller DeviceLost"},
        writes=says("Warning", "DeviceLost", "claim train"),
        events=["Warning DeviceLost claim train"],
    ),
    Scenario(
        25,
        given=[bound(selector={"matchLabels": {"site": "a"}}), taken()],
        when=[edit("device d1", {"spec": {"claimRef": None}})],
        then=PAIR,
        writes=["device d1", *REPAIRED],
        events=[said.removeprefix("event ") for said in REPAIRED],
    ),
    Scenario(
        25,
        case="the device is being deleted",
        given=[bound(), taken()],
        when=[delete("device d1"), edit("device d1", {"spec": {"claimRef": None}})],
        then={"claim train": TRAIN, "device d1": f"{DEVICE} deleting"},
        writes=["event Normal InUse device d1", "device d1", *REPAIRED],
        events=["Normal InUse device d1", *(said.removeprefix("event ") for said in REPAIRED)],
    ),
    Scenario(
        26,
        given=[bound(), bound("other"), taken(by="other")],
        then={
            "claim train": "Lost d1 completed by-controller Misbound",
            "claim other": TRAIN,
            "device d1": "Bound other by-controller",
        },
        writes=says("Warning", "Misbound", "claim train"),
        events=["Warning Misbound claim train"],
        audited=False,
    ),
    Scenario(
        27,
        given=[bound(), taken()],
        when=[
            edit("claim train", {"metadata": {"labels": {"looked": "at"}}}),
            edit("device d1", {"metadata": {"labels": {"looked": "at"}}}),
        ],
        then=PAIR,
    ),
    Scenario(
        28,
        given=[
            claim(
                names="d1",
                completed=True,
                by_controller=True,
                phase="Lost",
                reason="DeviceLost",
                message="ElasticGPU ~d1 is gone",
            )
        ],
        when=[create(device("d1", phase=""))],
        then=PAIR,
        writes=[
            "claim train status",
            "device d1 status",
            *bind("d1")[:2],
            "claim train status",
        ],
    ),
    Scenario(
        40,
        given=[bound(), taken(), bound("serve", to="d2"), taken("d2", by="serve")],
        when=[restart(), restart()],
        then={
            **PAIR,
            "claim serve": "Bound d2 completed by-controller",
            "device d2": "Bound serve by-controller",
        },
    ),
]
