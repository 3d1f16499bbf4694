"""41: what the watch shows, beside what the controllers wrote themselves."""

from __future__ import annotations

from .bound import LOST, PAIR, bound, taken
from .faults import Fault
from .named import CHOSEN
from .objects import claim, device
from .scenario import Scenario, bind, create, edit, listed_anew, says

SCENARIOS = [
    Scenario(
        41,
        case="older and equal versions",
        own=Fault(stutters=True),
        given=[claim(names="d1")],
        when=[create(device("d1", phase=""))],
        then={"claim train": CHOSEN, "device d1": "Bound train by-controller"},
        writes=["claim train status", "claim train status", "device d1 status", *bind("d1")],
    ),
    Scenario(
        41,
        case="an equal version in a new list",
        given=[bound()],
        when=[listed_anew("claim", so_that="device d1 read")],
        then={"claim train": LOST},
        writes=says("Warning", "DeviceLost", "claim train"),
        events=["Warning DeviceLost claim train"],
    ),
    Scenario(
        41,
        case="garbage",
        own=Fault("garbage"),
        given=[bound(), taken()],
        when=[edit("claim train", {"metadata": {"labels": {"looked": "at"}}})],
        then=PAIR,
    ),
]
