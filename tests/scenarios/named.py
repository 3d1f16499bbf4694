"""17-23: a person chose the device."""

from __future__ import annotations

from .objects import claim, device
from .scenario import Scenario, bind, create, says

CHOSEN = "Bound d1 completed"
OTHER = claim("other", names="d1", completed=True, by_controller=True, phase="Bound")
OTHERS = device(owner="other", phase="Bound", by_controller=True, protected=True)
OTHER_PAIR = {
    "claim other": "Bound d1 completed by-controller",
    "device d1": "Bound other by-controller",
}

SCENARIOS = [
    Scenario(
        17,
        given=[claim(names="d1"), device("d0")],
        then={"claim train": "Pending d1 DeviceMissing", "device d0": "Available"},
        writes=["claim train status"],
    ),
    Scenario(
        17,
        case="and then it comes",
        given=[claim(names="d1")],
        when=[create(device("d1", phase=""))],
        then={"claim train": CHOSEN, "device d1": "Bound train by-controller"},
        writes=["claim train status", "claim train status", "device d1 status", *bind("d1")],
    ),
    Scenario(
        18,
        given=[claim(names="d1"), device("d1", core=40), device("d0")],
        then={
            "claim train": CHOSEN,
            "device d0": "Available",
            "device d1": "Bound train by-controller",
        },
        writes=bind("d1"),
    ),
    Scenario(
        19,
        case="by name",
        given=[claim(names="d1"), device("d1", reserved="train")],
        then={"claim train": CHOSEN, "device d1": "Bound train"},
        writes=bind("d1"),
    ),
    Scenario(
        19,
        case="by uid",
        given=[claim(names="d1"), device("d1", owner="train")],
        then={"claim train": CHOSEN, "device d1": "Bound train"},
        writes=bind("d1")[1:],
    ),
    Scenario(
        20,
        given=[OTHER, OTHERS, claim(names="d1")],
        then={**OTHER_PAIR, "claim train": "Pending d1 DeviceTaken"},
        writes=says("Warning", "DeviceTaken", "claim train"),
        events=["Warning DeviceTaken claim train"],
        audited=False,
    ),
    Scenario(
        21,
        given=[OTHER, OTHERS, claim(names="d1", by_controller=True)],
        then={**OTHER_PAIR, "claim train": "new d1 by-controller"},
        audited=False,
    ),
    Scenario(
        22,
        given=[claim(names="d1", selector={"matchLabels": {"site": "a"}}), device("d1")],
        then={"claim train": CHOSEN, "device d1": "Bound train by-controller"},
        writes=bind("d1"),
    ),
    Scenario(
        23,
        case="too small",
        given=[claim(names="d1"), device("d1", core=5)],
        then={"claim train": "Pending d1 DeviceMismatch", "device d1": "Available"},
        writes=says("Warning", "DeviceMismatch", "claim train"),
        events=["Warning DeviceMismatch claim train"],
    ),
    Scenario(
        23,
        case="other class",
        given=[claim(names="d1"), device("d1", of_class="silver")],
        then={"claim train": "Pending d1 DeviceMismatch", "device d1": "Available"},
        writes=says("Warning", "DeviceMismatch", "claim train"),
        events=["Warning DeviceMismatch claim train"],
    ),
]
