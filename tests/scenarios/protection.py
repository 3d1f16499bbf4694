"""59: what is deleted while somebody has it."""

from __future__ import annotations

from elasticgpu.errors import Unavailable

from .bound import TRAIN, bound, taken
from .faults import Fault
from .objects import held, pod
from .scenario import Scenario, create, delete, edit, fails, together

RUNNING = pod("web", "train", on="n1", phase="Running")
WORLD = [RUNNING, held(bound()), taken()]
TEMPLATE = "template egpuc-train created"
IN_USE = "event Normal InUse claim train"
DEVICE = {"device d1": "Bound train by-controller"}
ROW = {"podUid": "<web>", "podName": "web", "containers": ["main"]}
RELEASED = {"device d1": "Released train by-controller"}

SCENARIOS = [
    Scenario(
        59,
        case="a bound device",
        given=[bound(), taken()],
        when=[delete("device d1")],
        then={"claim train": TRAIN, "device d1": "Bound train by-controller deleting"},
        writes=["event Normal InUse device d1"],
        events=["Normal InUse device d1"],
    ),
    Scenario(
        59,
        case="and then its claim",
        given=[bound(), taken()],
        when=[delete("device d1"), delete("claim train")],
        then={},
        writes=["event Normal InUse device d1", "claim train", "device d1 status", "device d1"],
        events=["Normal InUse device d1"],
    ),
    Scenario(
        59,
        case="an unused claim",
        given=[bound(), taken()],
        when=[delete("claim train")],
        then=RELEASED,
        writes=["claim train", "device d1 status"],
    ),
    Scenario(
        59,
        case="a used claim",
        given=WORLD,
        when=[delete("claim train")],
        then={"claim train": f"{TRAIN} deleting with web", **DEVICE},
        writes=[[TEMPLATE], [IN_USE]],
        events=["Normal InUse claim train"],
    ),
    Scenario(
        59,
        case="until its pod ends",
        given=WORLD,
        when=[delete("claim train"), edit("pod web", {"status": {"phase": "Succeeded"}})],
        then=RELEASED,
        writes=[[TEMPLATE], [IN_USE, "claim train status", "claim train", "device d1 status"]],
        events=["Normal InUse claim train"],
    ),
    Scenario(
        59,
        case="a holder that the cache lacks",
        own=Fault(held=frozenset({"pod"})),
        given=[bound(), taken()],
        when=[
            together(
                create(RUNNING),
                edit("claim train", {"status": {"users": [ROW], "usedBy": "web"}}),
                delete("claim train"),
            )
        ],
        then={"claim train": f"{TRAIN} deleting with web", **DEVICE},
        writes=[[TEMPLATE], [IN_USE]],
        events=["Normal InUse claim train"],
    ),
    Scenario(
        59,
        case="a scheduled pod that the cache lacks",
        own=Fault(held=frozenset({"pod"})),
        given=[bound(), taken()],
        when=[together(create(RUNNING), delete("claim train"))],
        then={"claim train": f"{TRAIN} deleting", **DEVICE},
        writes=[[TEMPLATE], [IN_USE]],
        events=["Normal InUse claim train"],
    ),
    Scenario(
        59,
        case="an error at one of two",
        given=[bound(), taken(), bound("serve", to="d2"), taken("d2", by="serve")],
        when=[together(delete("claim train"), delete("claim serve"))],
        before={"claim train": fails(Unavailable(503, "Busy", "come again"))},
        then={**RELEASED, "device d2": "Released serve by-controller"},
        writes=[["claim train", "device d1 status"], ["claim serve", "device d2 status"]],
        refused=["claim train: Busy"],
    ),
]
