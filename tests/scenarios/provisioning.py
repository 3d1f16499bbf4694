"""42, 43, 45-47, 49, 50, 60, 61: a claim for which a device has to be made."""

from __future__ import annotations

from functools import partial

from elasticgpu.errors import Forbidden, NotOurs, Refused, Retry, Unavailable, Working

from .backend import Remote
from .binding import MADE, MAKE
from .faults import Fault
from .objects import DRIVER, GONE, card, claim, device, gpu_class
from .scenario import Scenario, delete, fails, says, the_backend

WORLD = [claim(), gpu_class(), card()]
HERE = {**MADE, "asset egpu-<train>": "made"}
BEGIN = ["claim train", "claim train status"]
"""The finalizer that says that it is in progress, then the request."""
END = ["claim train status", "claim train"]
FAILED = says("Warning", "ProvisioningFailed", "claim train")
EVENT = "event Warning ProvisioningFailed claim train"
WARNED = ["Warning ProvisioningFailed claim train"]

SCENARIOS = [
    Scenario(
        42,
        case="the object is all",
        given=WORLD,
        then=MADE,
        fields={"device egpu-<train> spec.claimRef.uid": "<train>"},
        writes=MAKE,
    ),
    Scenario(
        42,
        case="Retain",
        given=[claim(), gpu_class(policy="Retain"), card()],
        then=MADE,
        fields={"device egpu-<train> spec.reclaimPolicy": "Retain"},
        writes=MAKE,
    ),
    Scenario(
        42,
        case="with a backend",
        plugin=Remote,
        given=WORLD,
        then=HERE,
        writes=[*BEGIN, *MAKE],
        calls=(1, 0),
    ),
    Scenario(
        43,
        case="class missing",
        given=[claim(), card()],
        then={"claim train": "Pending UnknownClass"},
        writes=says("Warning", "UnknownClass", "claim train"),
        events=["Warning UnknownClass claim train"],
    ),
    Scenario(
        43,
        case="provisioner unknown",
        given=[claim(), gpu_class(provisioner="example.com/other"), card()],
        then={"claim train": "Pending NoProvisioner"},
        writes=says("Warning", "NoProvisioner", "claim train"),
        events=["Warning NoProvisioner claim train"],
    ),
    Scenario(
        43,
        case="backend refuses",
        plugin=partial(Remote, always=Refused("not today")),
        given=WORLD,
        then={"claim train": "Pending ProvisioningFailed"},
        writes=[*BEGIN, *END, EVENT],
        events=WARNED,
    ),
    Scenario(
        43,
        case="backend errs, then succeeds",
        plugin=partial(Remote, says=[RuntimeError("broken")]),
        given=WORLD,
        then=HERE,
        writes=[*BEGIN, *FAILED, *MAKE],
        events=WARNED,
    ),
    Scenario(
        45,
        case="it exists",
        plugin=partial(Remote, has=[]),
        given=[*WORLD, device("egpu-<train>", owner="train", provisioned=True, by_controller=True)],
        then=MADE,
        writes=MAKE[1:],
        calls=(0, 0),
    ),
    Scenario(
        45,
        case="it exists and is another's",
        given=[*WORLD, device("egpu-<train>", reserved="other")],
        then={
            "claim train": "Pending ProvisioningFailed",
            "device egpu-<train>": "Available for other",
        },
        writes=FAILED,
        events=WARNED,
        refused=None,
    ),
    Scenario(
        46,
        case="fails once",
        plugin=Remote,
        given=WORLD,
        before={"device egpu-<train> created": fails(Unavailable(503, "Busy", "come again"))},
        then=HERE,
        writes=[*BEGIN, *MAKE],
        refused=["device egpu-<train> created: Busy"],
        calls=(1, 0),
    ),
    Scenario(
        46,
        case="fails always",
        plugin=Remote,
        given=WORLD,
        before={
            "device egpu-<train> created": fails(Forbidden(403, "Forbidden", "no"), always=True)
        },
        then={"claim train": "Pending ProvisioningFailed"},
        writes=[*BEGIN, *FAILED, *END],
        events=WARNED,
        refused=None,
        calls=(1, 1),
    ),
    Scenario(
        46,
        case="and so does the cleanup",
        plugin=partial(Remote, refuses=[Refused("no"), Refused("no")]),
        given=WORLD,
        before={
            "device egpu-<train> created": fails(Forbidden(403, "Forbidden", "no"), always=True)
        },
        then={"claim train": "Pending ProvisioningFailed"},
        writes=[
            *BEGIN,
            *FAILED,
            *says("Warning", "ProvisioningCleanupFailed", "claim train"),
            *END,
        ],
        events=[*WARNED, "Warning ProvisioningCleanupFailed claim train"],
        refused=None,
        calls=(1, 3),
    ),
    Scenario(
        47,
        plugin=Remote,
        own=Fault("lost", 3),
        given=WORLD,
        then=HERE,
        writes=[*BEGIN, *MAKE],
        refused=None,
        calls=(1, 0),
    ),
    Scenario(
        49,
        plugin=partial(Remote, busy=True),
        given=WORLD,
        then={"claim train": "Pending Provisioning", "asset egpu-<train>": "made"},
        fields={
            "claim train metadata.finalizers": ["elasticgpu.io/provisioning"],
            "claim train status.provisioning.provisioner": DRIVER,
        },
        writes=[*BEGIN, "claim train status"],
    ),
    Scenario(
        50,
        plugin=partial(Remote, busy=True),
        given=WORLD,
        when=[delete("claim train"), the_backend(Remote.finish)],
        then={},
        writes=[
            *BEGIN,
            "claim train status",
            "device egpu-<train> created",
            *END,
            "device egpu-<train> status",
            "device egpu-<train> deleted",
            "device egpu-<train>",
        ],
    ),
    Scenario(
        60,
        case="working",
        plugin=partial(Remote, says=[Working("soon", 0.01), Working("soon", 0.01)]),
        given=WORLD,
        then=HERE,
        writes=[*BEGIN, "claim train status", *MAKE],
        calls=(3, 0),
    ),
    Scenario(
        60,
        case="later",
        plugin=partial(Remote, says=[Retry("full", 0.01)]),
        given=WORLD,
        then=HERE,
        writes=[*BEGIN, *FAILED, *MAKE],
        events=WARNED,
        calls=(2, 0),
    ),
    Scenario(
        61,
        case="claim",
        plugin=partial(Remote, always=NotOurs()),
        given=WORLD,
        then={"claim train": "Pending NotOurs"},
        writes=[*BEGIN, *END],
        calls=(1, 0),
    ),
    Scenario(
        61,
        case="device",
        plugin=partial(Remote, has=["d1"], always=NotOurs()),
        given=[
            device(
                "d1", owner="train", uid=GONE, phase="Released", provisioned=True, policy="Delete"
            )
        ],
        then={"device d1": "Released train-gone provisioned", "asset d1": "made"},
        calls=(0, 1),
    ),
]
