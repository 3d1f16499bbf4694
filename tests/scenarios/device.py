"""29-37: a device nobody is binding."""

from __future__ import annotations

from .bound import PAIR, bound, taken
from .faults import Fault
from .objects import GONE, claim, device
from .scenario import Scenario, at_once, bind, create, delete, edit, force_delete, says, together

MADE = {**PAIR, "device d1": "Bound train by-controller provisioned"}

SCENARIOS = [
    Scenario(
        29,
        case="no claimRef",
        given=[device("d1", phase="")],
        then={"device d1": "Available"},
        writes=["device d1 status"],
    ),
    Scenario(
        29,
        case="reserved",
        given=[device("d1", phase="Pending", reserved="train")],
        then={"device d1": "Available for train"},
        writes=["device d1 status"],
    ),
    Scenario(
        30,
        case="kept",
        given=[bound(), taken()],
        when=[delete("claim train")],
        then={"device d1": "Released train by-controller"},
        writes=["claim train", "device d1 status"],
    ),
    Scenario(
        30,
        case="claimRef cleared",
        given=[device("d1", phase="Released", owner="train", uid=GONE)],
        when=[edit("device d1", {"spec": {"claimRef": None}})],
        then={"device d1": "Available"},
        writes=["device d1 status"],
    ),
    Scenario(
        31,
        given=[claim(of_class=""), taken(uid=GONE, of_class="")],
        then={
            "claim train": "Pending NoDevice",
            "device d1": "Released train-gone by-controller",
        },
        writes=[["device d1 status"], says("Normal", "NoDevice", "claim train")],
        events=["Normal NoDevice claim train"],
    ),
    Scenario(
        32,
        given=[claim(), device("d1", owner="train", by_controller=True, protected=True)],
        then=PAIR,
        writes=bind("d1")[1:],
    ),
    Scenario(
        33,
        given=[bound(), taken(phase="Available", provisioned=True, policy="Delete")],
        then=MADE,
        writes=["device d1 status"],
    ),
    Scenario(
        34,
        case="controller-bound",
        given=[bound(), taken(), taken("d2")],
        then={**PAIR, "device d2": "Available"},
        writes=["device d2", "device d2 status"],
    ),
    Scenario(
        34,
        case="user-bound",
        given=[bound(), taken(), taken("d2", by_controller=False)],
        then={**PAIR, "device d2": "Available for train"},
        writes=["device d2", "device d2 status"],
    ),
    Scenario(
        35,
        case="not in the cache",
        own=Fault(held=frozenset({"claim"})),
        given=[],
        when=[at_once(create(claim()), create(taken(provisioned=True)))],
        then=MADE,
        writes=bind("d1")[2:],
        also_says=["Warning UnknownClass claim train"],
    ),
    Scenario(
        35,
        case="another uid in the cache",
        own=Fault(held=frozenset({"claim"})),
        given=[claim(of_class="")],
        when=[
            together(
                force_delete("claim train"),
                create(claim()),
                create(taken(by="train#2", provisioned=True)),
            )
        ],
        then={
            "claim train": "Bound d1 completed by-controller",
            "device d1": "Bound train#2 by-controller provisioned",
        },
        writes=[*says("Normal", "NoDevice", "claim train"), *bind("d1")[2:]],
        events=["Normal NoDevice claim train"],
        refused=None,
        also_says=["Warning UnknownClass claim train"],
    ),
    Scenario(
        36,
        given=[claim(), taken(phase="Available"), taken("d2", phase="Available")],
        then={**PAIR, "device d2": "Available"},
        writes=[bind("d1")[1:], ["device d2"]],
    ),
    Scenario(
        37,
        given=[
            claim(),
            taken(provisioned=True, policy="Delete"),
            taken("d2", provisioned=True, policy="Delete"),
        ],
        then=MADE,
        writes=[bind("d1")[2:], ["device d2 status", "device d2 deleted", "device d2"]],
    ),
    Scenario(
        37,
        case="nobody here can delete it",
        given=[
            claim(),
            taken(provisioned=True, policy="Delete"),
            taken("d2", provisioned=True, policy="Delete", driver="example.com/other"),
        ],
        then={**MADE, "device d2": "Failed train by-controller provisioned ReleaseFailed"},
        writes=[
            bind("d1")[2:],
            ["device d2 status", *says("Warning", "ReleaseFailed", "device d2")],
        ],
        events=["Warning ReleaseFailed device d2"],
    ),
]
