"""1-16, 44, 48, 51: a claim looks for a device of its own."""

from __future__ import annotations

from .objects import GONE, card, claim, deleting, device, gpu_class
from .scenario import Scenario, bind, create, later, says

TRAIN = "Bound d1 completed by-controller"
FREE = "Available"
MADE = {
    "claim train": "Bound egpu-<train> completed by-controller",
    "device egpu-<train>": "Bound train by-controller provisioned",
}
JUDGE = ["class gold status"]
MAKE = ["device egpu-<train> created", *bind("egpu-<train>")[1:]]
HUGE = 2**62
"""Bytes; three of them are more than a signed number of 64 bits holds."""

SCENARIOS = [
    Scenario(
        1,
        given=[claim(), device("d1")],
        then={"claim train": TRAIN, "device d1": "Bound train by-controller"},
        writes=bind("d1"),
    ),
    Scenario(
        2,
        given=[claim(of_class=""), device("small", core=5, of_class="")],
        then={"claim train": "Pending NoDevice", "device small": FREE},
        writes=says("Normal", "NoDevice", "claim train"),
        events=["Normal NoDevice claim train"],
    ),
    Scenario(
        3,
        given=[claim(of_class="", phase="Bound")],
        then={"claim train": "Pending NoDevice"},
        writes=says("Normal", "NoDevice", "claim train"),
        events=["Normal NoDevice claim train"],
    ),
    Scenario(
        4,
        given=[claim(), device("big", core=40, memory="40Gi"), device("fits", core=15)],
        then={
            "claim train": "Bound fits completed by-controller",
            "device big": FREE,
            "device fits": "Bound train by-controller",
        },
        writes=bind("fits"),
    ),
    Scenario(
        5,
        given=[claim(), device("big", core=40, memory="40Gi", reserved="train"), device("fits")],
        then={
            "claim train": "Bound big completed by-controller",
            "device big": "Bound train",
            "device fits": FREE,
        },
        writes=bind("big"),
    ),
    Scenario(
        6,
        given=[
            claim(of_class=""),
            device("d1", of_class="", phase="Released", owner="train", uid=GONE),
        ],
        then={"claim train": "Pending NoDevice", "device d1": "Released train-gone"},
        writes=says("Normal", "NoDevice", "claim train"),
        events=["Normal NoDevice claim train"],
    ),
    Scenario(
        7,
        given=[
            claim(),
            device("d1", owner="train", by_controller=True, protected=True),
            device("d0"),
        ],
        then={
            "claim train": TRAIN,
            "device d0": FREE,
            "device d1": "Bound train by-controller",
        },
        writes=bind("d1")[1:],
    ),
    Scenario(
        8,
        given=[
            claim(),
            device("d1", owner="train", phase="Bound", by_controller=True, protected=True),
            device("d0"),
        ],
        then={
            "claim train": TRAIN,
            "device d0": FREE,
            "device d1": "Bound train by-controller",
        },
        writes=bind("d1")[2:],
    ),
    Scenario(
        9,
        given=[
            claim(names="d1", completed=True, by_controller=True),
            device("d1", owner="train", phase="Bound", by_controller=True, protected=True),
        ],
        then={"claim train": TRAIN, "device d1": "Bound train by-controller"},
        writes=bind("d1")[3:],
    ),
    Scenario(
        10,
        case="labels match",
        given=[
            claim(selector={"matchLabels": {"site": "a"}}),
            device("d0", labels={"site": "b"}),
            device("d1", labels={"site": "a"}),
        ],
        then={
            "claim train": TRAIN,
            "device d0": FREE,
            "device d1": "Bound train by-controller",
        },
        writes=bind("d1"),
    ),
    Scenario(
        10,
        case="labels differ",
        given=[
            claim(of_class="", selector={"matchLabels": {"site": "a"}}),
            device("d0", of_class="", labels={"site": "b"}),
        ],
        then={"claim train": "Pending NoDevice", "device d0": FREE},
        writes=says("Normal", "NoDevice", "claim train"),
        events=["Normal NoDevice claim train"],
    ),
    Scenario(
        11,
        given=[
            claim(of_class=""),
            device("new", of_class="", phase="", cut="nowhere"),
            device("pending", of_class="", phase="Pending", cut="nowhere"),
            device("failed", of_class="", phase="Failed", reason="Broken"),
            device("released", of_class="", phase="Released", owner="old", uid=GONE),
        ],
        then={
            "claim train": "Pending NoDevice",
            "device new": "Failed Overcommitted",
            "device pending": "Failed Overcommitted",
            "device failed": "Failed Broken",
            "device released": "Released old-gone",
        },
        writes=[
            says("Normal", "NoDevice", "claim train"),
            says("Warning", "Overcommitted", "device new"),
            says("Warning", "Overcommitted", "device pending"),
        ],
        events=[
            "Normal NoDevice claim train",
            "Warning Overcommitted device new",
            "Warning Overcommitted device pending",
        ],
    ),
    Scenario(
        12,
        case="matching",
        given=[claim(of_class=""), deleting(device("d1", of_class=""))],
        then={"claim train": "Pending NoDevice", "device d1": "Available deleting"},
        writes=says("Normal", "NoDevice", "claim train"),
        events=["Normal NoDevice claim train"],
    ),
    Scenario(
        12,
        case="named",
        given=[claim(names="d1"), deleting(device("d1"))],
        then={"claim train": "Pending d1 DeviceMismatch", "device d1": "Available deleting"},
        writes=says("Warning", "DeviceMismatch", "claim train"),
        events=["Warning DeviceMismatch claim train"],
    ),
    Scenario(
        13,
        case="gold",
        given=[claim(), device("plain", of_class=""), device("d1", core=40)],
        then={
            "claim train": TRAIN,
            "device plain": FREE,
            "device d1": "Bound train by-controller",
        },
        writes=bind("d1"),
    ),
    Scenario(
        13,
        case="without class",
        given=[claim(of_class=""), device("gold"), device("d1", core=40, of_class="")],
        then={
            "claim train": TRAIN,
            "device gold": FREE,
            "device d1": "Bound train by-controller",
        },
        writes=bind("d1"),
    ),
    Scenario(
        14,
        case="no class",
        given=[claim(of_class=None), device("d1", of_class="")],
        then={"claim train": TRAIN, "device d1": "Bound train by-controller"},
        writes=bind("d1"),
    ),
    Scenario(
        15,
        given=[claim(), device("d0", core=5, reserved="train"), device("d1")],
        then={
            "claim train": TRAIN,
            "device d0": "Available for train",
            "device d1": "Bound train by-controller",
        },
        writes=bind("d1"),
    ),
    Scenario(
        16,
        given=[
            claim(of_class="", memory=str(3 * HUGE)),
            device("small", of_class="", memory=str(2 * HUGE)),
            device("d1", of_class="", memory=str(4 * HUGE)),
        ],
        then={
            "claim train": TRAIN,
            "device small": FREE,
            "device d1": "Bound train by-controller",
        },
        writes=bind("d1"),
    ),
    Scenario(
        44,
        given=[claim(), gpu_class(), card(), device("d1")],
        then={"claim train": TRAIN, "device d1": "Bound train by-controller"},
        writes=bind("d1"),
    ),
    Scenario(
        48,
        case="class ''",
        given=[claim(of_class=""), gpu_class(default=True), card()],
        then={"claim train": "Pending NoDevice"},
        writes=says("Normal", "NoDevice", "claim train"),
        events=["Normal NoDevice claim train"],
    ),
    Scenario(
        48,
        case="no class",
        given=[claim(of_class=None), gpu_class(), card()],
        then={"claim train": "Pending NoClass"},
        writes=says("Normal", "NoClass", "claim train"),
        events=["Normal NoClass claim train"],
    ),
    Scenario(
        48,
        case="no such provisioner",
        given=[claim(), gpu_class(provisioner="example.com/other"), card()],
        then={"claim train": "Pending NoProvisioner"},
        writes=says("Warning", "NoProvisioner", "claim train"),
        events=["Warning NoProvisioner claim train"],
    ),
    Scenario(
        51,
        case="a default appears",
        given=[claim(of_class=None), card()],
        when=[create(gpu_class(default=True, judged=False))],
        then=MADE,
        fields={"claim train spec.elasticGPUClassName": "gold"},
        writes=[[*says("Normal", "NoClass", "claim train"), *MAKE], JUDGE],
        events=["Normal NoClass claim train"],
    ),
    Scenario(
        51,
        case="the newest of two",
        given=[gpu_class("agate", default=True), card()],
        when=[
            later(1.1),
            create(gpu_class("gold", default=True, judged=False)),
            create(claim(of_class=None)),
        ],
        then=MADE,
        fields={
            "claim train spec.elasticGPUClassName": "gold",
            "claim train status.className": "gold",
        },
        writes=[MAKE, JUDGE],
    ),
    Scenario(
        51,
        case="others untouched",
        given=[
            claim("named", of_class="silver"),
            claim("none", of_class=""),
            claim("old", of_class=None, names="d1", completed=True, phase="Bound"),
            device("d1", of_class="", owner="old", phase="Bound", protected=True),
            card(),
        ],
        when=[create(gpu_class(default=True, judged=False))],
        then={
            "claim named": "Pending UnknownClass",
            "claim none": "Pending NoDevice",
            "claim old": "Bound d1 completed",
            "device d1": "Bound old",
        },
        fields={
            "claim named spec.elasticGPUClassName": "silver",
            "claim none spec.elasticGPUClassName": "",
            "claim old spec.elasticGPUClassName": "",
        },
        writes=[
            says("Warning", "UnknownClass", "claim named"),
            says("Normal", "NoDevice", "claim none"),
            JUDGE,
        ],
        events=["Warning UnknownClass claim named", "Normal NoDevice claim none"],
    ),
]
