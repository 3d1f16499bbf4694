"""55-58 and 62: a device whose claim is gone, and what it stands for outside the cluster."""

from __future__ import annotations

from functools import partial
from typing import Any

from elasticgpu.errors import Forbidden, Refused, Unavailable

from .backend import Remote, Share
from .objects import GONE, Object, claim, deleting, device
from .scenario import Scenario, edit, fails, force_delete, says

GOING = ["device d1 deleted", "device d1"]
FAILED = says("Warning", "ReleaseFailed", "device d1")
HAS = partial(Remote, has=["d1"])


def orphan(**more: Any) -> Object:
    """A device whose claim is gone."""
    facts = {"phase": "Released", "protected": True, "provisioned": True, "policy": "Delete"}
    return device("d1", owner="train", uid=GONE, **{**facts, **more})


SCENARIOS = [
    Scenario(55, case="provisioned", plugin=HAS, given=[orphan()], then={}, writes=GOING),
    Scenario(
        55,
        case="user-bound",
        plugin=HAS,
        given=[orphan(provisioned=False)],
        then={},
        writes=GOING,
        calls=(0, 1),
    ),
    Scenario(
        55,
        case="already deleting",
        plugin=HAS,
        given=[deleting(orphan())],
        then={},
        writes=["device d1"],
        calls=(0, 1),
    ),
    Scenario(
        56,
        case="no deleter",
        plugin=Share,
        given=[orphan(driver="example.com/other")],
        then={"device d1": "Failed train-gone provisioned ReleaseFailed"},
        writes=FAILED,
        events=["Warning ReleaseFailed device d1"],
    ),
    Scenario(
        56,
        case="error, then success",
        plugin=partial(Remote, has=["d1"], refuses=[Refused("no"), RuntimeError("broken")]),
        given=[orphan()],
        then={},
        writes=[*FAILED, *GOING],
        events=["Warning ReleaseFailed device d1"],
        calls=(0, 3),
    ),
    Scenario(
        57,
        case="gone meanwhile",
        plugin=HAS,
        given=[orphan()],
        before={"claim train read": force_delete("device d1")},
        then={"asset d1": "made"},
        calls=(0, 0),
    ),
    Scenario(
        57,
        case="re-owned meanwhile",
        plugin=HAS,
        given=[orphan(provisioned=False)],
        before={"claim train read": edit("device d1", {"spec": {"claimRef": None}})},
        then={"device d1": "Available", "asset d1": "made"},
        writes=["device d1 status"],
        calls=(0, 0),
    ),
    Scenario(
        57,
        case="a new claim of that name",
        plugin=HAS,
        given=[orphan(), claim(of_class="")],
        then={"claim train": "Pending NoDevice"},
        writes=[GOING, says("Normal", "NoDevice", "claim train")],
        events=["Normal NoDevice claim train"],
        calls=(0, 1),
    ),
    Scenario(
        58,
        given=[orphan(driver="example.com/unknown", provisioned=False)],
        then={"device d1": "Failed train-gone ReleaseFailed"},
        writes=FAILED,
        events=["Warning ReleaseFailed device d1"],
    ),
    Scenario(
        62,
        case="once",
        plugin=HAS,
        given=[orphan()],
        before={"device d1 deleted": fails(Unavailable(503, "Busy", "come again"))},
        then={},
        writes=GOING,
        refused=["device d1 deleted: Busy"],
    ),
    Scenario(
        62,
        case="always",
        plugin=HAS,
        given=[orphan()],
        before={"device d1 deleted": fails(Forbidden(403, "Forbidden", "no"), always=True)},
        then={"device d1": "Released train-gone provisioned"},
        refused=None,
    ),
]
