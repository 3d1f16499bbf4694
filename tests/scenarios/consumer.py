"""52-54 and 63-65: claims that wait for a pod, and claims that a pod uses together."""

from __future__ import annotations

from functools import partial
from typing import Any

from elasticgpu.errors import Refused, Reschedule, Unavailable, Working

from .backend import Remote
from .bound import bound, taken
from .faults import Fault
from .objects import card, claim, device, gpu_class, held, node, placed, pod, request
from .scenario import Scenario, State, bind, create, delete, edit, fails, says, together

Object = dict[str, Any]

WAITS = gpu_class(mode="WaitForFirstConsumer")
FLEET = [node("n1"), card()]
BOTH = [node("n1"), node("n2"), card(), card("c2", node="n2")]
ALONE = "Bound {} completed by-controller"
WITH = f"{ALONE} with web"
OURS = "Bound train by-controller"
NEW = "egpu-<train>"
MADE = {"claim train": WITH.format(NEW), f"device {NEW}": f"{OURS} provisioned"}
FOUND = {"claim train": WITH.format("d1"), "device d1": OURS}
WAITING = says("Normal", "WaitForFirstConsumer", "claim train")
WAITED: dict[str, Any] = {
    "phase": "Pending",
    "reason": "WaitForFirstConsumer",
    "message": "its device is chosen when the first pod uses it",
}
"""A claim has waited for some time already when its pod comes."""
TRAIN, EVAL = claim(**WAITED), claim("eval", **WAITED)
SAID = ["Normal WaitForFirstConsumer claim train"]
TEMPLATE = ["template egpuc-train created"]
HELD = "claim train status"
"""The write that hands the claim to its pod."""
BEGIN, END = ["claim train", "claim train status"], ["claim train status", "claim train"]
TWO = [claim(core=20, **WAITED), EVAL, WAITS]
ON_N1 = placed(device("d1"))
WEB = create(pod("web", "train"))
ALLOCATION = "request web-egpu-0 status"
REFUSED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/2 nodes are available",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
"""What the scheduler says of a pod, for longer than anybody waits."""


def made(claim: str) -> list[str]:
    """The four writes, the first being a create."""
    first, *rest = bind(f"egpu-<{claim}>", claim)
    return [f"{first} created", *rest]


def gets(claim: str) -> list[list[str]]:
    """A claim that gets a device, and is handed over."""
    of = f"claim {claim}"
    return [[of, f"{of} status", f"{of} status"], [f"template egpuc-{claim} created"]]


def in_vain(claim: str) -> list[list[str]]:
    """A claim that says for what it waits now."""
    return [says("Warning", "NoCapacity", f"claim {claim}"), [f"template egpuc-{claim} created"]]


IN_VAIN = ["Warning NoCapacity claim train", "Warning NoCapacity claim eval"]
LOCKS = [[f"device {name}", f"device {name} status"] for name in ("d1", "d2")]


def each_has_one(state: State) -> list[str]:
    """Two claims and two devices, one to one, and a pod has each claim."""
    lines = [state["claim train"].split(), state["claim eval"].split()]
    got = sorted(line[1] for line in lines)
    good = all(line[0] == "Bound" and line[-2] == "with" for line in lines)
    return [] if good and got == ["d1", "d2"] else [f"{state}"]


ON_D1 = [
    pod("web", "train", asked=True),
    held(bound()),
    WAITS,
    *BOTH,
    placed(taken()),
    request("web", given="d1", on="n1"),
]
"""A pod was handed a device on n1, and is not scheduled yet."""
SCENARIOS = [
    Scenario(
        52,
        given=[claim(), WAITS, *FLEET, device("d1")],
        then={"claim train": "Pending WaitForFirstConsumer", "device d1": "Available"},
        writes=WAITING,
        events=SAID,
    ),
    Scenario(
        52,
        case="reserved",
        given=[claim(), WAITS, *FLEET, device("d0"), device("d1", reserved="train")],
        then={
            "claim train": ALONE.format("d1"),
            "device d0": "Available",
            "device d1": "Bound train",
        },
        writes=bind("d1"),
    ),
    Scenario(
        53,
        given=[claim(), WAITS, *FLEET],
        when=[WEB],
        then=MADE,
        writes=[[*WAITING, *made("train"), HELD], TEMPLATE],
        events=SAID,
    ),
    Scenario(
        53,
        case="a fit where the pod may run",
        given=[claim(), WAITS, *FLEET, ON_N1],
        when=[WEB],
        then=FOUND,
        writes=[[*WAITING, *bind("d1"), HELD], TEMPLATE],
        events=SAID,
    ),
    Scenario(
        53,
        case="it holds its uid",
        given=[claim(), WAITS, *FLEET, device("d1", owner="train", by_controller=True)],
        then={"claim train": ALONE.format("d1"), "device d1": OURS},
        writes=bind("d1")[1:],
    ),
    Scenario(
        54,
        case="reschedules",
        plugin=partial(Remote, says=[Reschedule()]),
        given=[TRAIN, WAITS, *BOTH],
        when=[WEB],
        then={**MADE, f"asset {NEW}": "made"},
        fields={f"device {NEW} spec.nodeName": "n2", "claim train status.excludedNodes": ["n1"]},
        writes=[[*BEGIN, *END, *BEGIN, *made("train"), HELD], TEMPLATE],
        calls=(2, 0),
    ),
    Scenario(
        54,
        case="final",
        plugin=partial(Remote, always=Refused("not today")),
        given=[TRAIN, WAITS, *BOTH],
        when=[WEB],
        then={"claim train": "Pending ProvisioningFailed"},
        fields={"claim train status.excludedNodes": ""},
        writes=[
            [*BEGIN, *END, "event Warning ProvisioningFailed claim train"],
            TEMPLATE,
        ],
        events=["Warning ProvisioningFailed claim train"],
    ),
    Scenario(
        54,
        case="in progress",
        plugin=partial(Remote, says=[Working("soon", 0.01), Working("soon", 0.01)]),
        given=[TRAIN, WAITS, *BOTH],
        when=[WEB],
        then={**MADE, f"asset {NEW}": "made"},
        fields={f"device {NEW} spec.nodeName": "n1"},
        writes=[[*BEGIN, "claim train status", *made("train"), HELD], TEMPLATE],
        calls=(3, 0),
    ),
    Scenario(
        63,
        case="two at once",
        given=[TRAIN, EVAL, WAITS, *FLEET, ON_N1, placed(device("d2"))],
        when=[together(create(pod("web", "train")), create(pod("job", "eval")))],
        then=each_has_one,
        writes=[*gets("train"), *gets("eval"), *LOCKS],
    ),
    Scenario(
        63,
        case="asked again",
        given=[TRAIN, WAITS, *FLEET, ON_N1, placed(device("d2"))],
        when=[WEB],
        before={"device d1": fails(Unavailable(503, "Busy", "come again"))},
        then={**FOUND, "device d2": "Available"},
        writes=[[*bind("d1"), HELD], TEMPLATE],
        refused=["device d1: Busy"],
    ),
    Scenario(
        63,
        case="news win",
        given=[TRAIN, WAITS, *FLEET, ON_N1, placed(device("d2"))],
        when=[WEB],
        before={"device d1": edit("device d1", {"metadata": {"labels": {"kept": "for-eval"}}})},
        then={**FOUND, "device d2": "Available"},
        writes=[[*bind("d1"), HELD], TEMPLATE],
        refused=["device d1: Conflict"],
    ),
    Scenario(
        64,
        case="pod deleted",
        given=[TRAIN, WAITS, *FLEET, ON_N1],
        when=[WEB],
        before={"device d1 status": delete("pod web")},
        then={"claim train": ALONE.format("d1"), "device d1": OURS},
        writes=[[*bind("d1")], [*TEMPLATE, "template egpuc-train deleted"]],
    ),
    Scenario(
        64,
        case="claimRef reset",
        given=[TRAIN, WAITS, *FLEET, ON_N1],
        when=[WEB],
        before={"device d1 status": edit("device d1", {"spec": {"claimRef": None}})},
        then=FOUND,
        writes=[["device d1", *bind("d1"), HELD], TEMPLATE],
        refused=["device d1 status: Conflict"],
    ),
    Scenario(
        64,
        case="the node does not take it",
        given=ON_D1,
        when=[edit("pod web", {"status": {"conditions": [REFUSED]}})],
        before={f"device {NEW} created": edit("pod web", {"status": {"conditions": []}})},
        then={**MADE, "device d1": "Available"},
        fields={f"device {NEW} spec.nodeName": "n2", "claim train status.excludedNodes": ["n1"]},
        writes=[
            [
                ALLOCATION,
                "device d1 status",
                "claim train status",
                "claim train",
                *made("train"),
                HELD,
                ALLOCATION,
            ],
            ["device d1", "device d1 status"],
            TEMPLATE,
        ],
    ),
    Scenario(
        64,
        case="not yet in the cache",
        own=Fault(held=frozenset({"device"})),
        given=[pod("web", "train"), bound(), WAITS],
        before={"device d1 read": create(taken())},
        then=FOUND,
        writes=[[HELD], TEMPLATE],
    ),
    Scenario(
        65,
        case="the first node has room for one",
        given=[
            *TWO,
            *BOTH,
            device("filler", core=95, cut="c1", of_class="silver"),
            placed(device("d0")),
            placed(device("d1", core=15), "n2"),
            placed(device("d2", core=20), "n2"),
        ],
        when=[create(pod("web", "train", "eval"))],
        then={
            "claim train": WITH.format("d2"),
            "claim eval": WITH.format("d1"),
            "device d0": "Available",
            "device d1": "Bound eval by-controller",
            "device d2": OURS,
            "device filler": "Available",
        },
        writes=[*gets("train"), *gets("eval"), *LOCKS],
    ),
    Scenario(
        65,
        case="one is made",
        given=[*TWO, *FLEET, ON_N1],
        when=[create(pod("web", "train", "eval"))],
        then={
            "claim train": WITH.format(NEW),
            "claim eval": WITH.format("d1"),
            f"device {NEW}": f"{OURS} provisioned",
            "device d1": "Bound eval by-controller",
        },
        writes=[
            *gets("train"),
            *gets("eval"),
            LOCKS[0],
            [f"device {NEW} created", f"device {NEW} status"],
        ],
    ),
    Scenario(
        65,
        case="room for one on any node",
        given=[*TWO, *FLEET, device("filler", core=95, cut="c1", of_class="silver"), ON_N1],
        when=[create(pod("web", "train", "eval"))],
        then={
            "claim train": "Pending NoCapacity",
            "claim eval": "Pending NoCapacity",
            "device d1": "Available",
            "device filler": "Available",
        },
        writes=[
            *in_vain("train"),
            *in_vain("eval"),
        ],
        events=IN_VAIN,
    ),
]
