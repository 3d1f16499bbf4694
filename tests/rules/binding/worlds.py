"""The claims, devices and classes of the tables of binding, and what a row of them is."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from elasticgpu.api.vocabulary import Demand
from elasticgpu.rules.decisions import ClaimView, Decision, Wait
from elasticgpu.rules.fleet import NodeView
from elasticgpu.rules.ledger import Slice
from tests.rules.build import GI, Share, card, claim, device, free, gold, part, ref

TRAIN = claim()
NAMES_A = claim(named="egpu-a")
BOUND = claim(named="egpu-a", completed=True).with_status(phase="Bound")
OTHER = ref(claim("other"))
MINE = ref(TRAIN)
MY_NAME = ref(TRAIN, uid="")
STRANGER = ref(TRAIN, uid="uid-of-an-earlier-train")
SMALL = device("egpu-small", core=10, memory="10Gi")
LARGE = device("egpu-large", core=20, memory="20Gi")
NO_CLASS = {"class_name": None, "classes": ("gold", "silver")}
NO_CLASS_WAITS = Wait(
    "NoClass",
    "it names no class and none is the default; known classes: gold, silver",
    event="Normal",
)


class Row(NamedTuple):
    """A world, and the decision it leads to."""

    id: str
    view: ClaimView
    want: Decision


def rows(*table: Row) -> list[object]:
    return [pytest.param(row.view, row.want, id=row.id) for row in table]


MISSING = Wait("DeviceMissing", "ElasticGPU egpu-a does not exist yet: waiting for it", event=None)
PENDING = Wait(
    "DevicePending", "ElasticGPU egpu-a is not yet Available: waiting for it", event=None
)
HALF = NodeView("node-a", (free(card(), core=50, memory=40 * GI, mode=Share.name),))
GOLD = gold(HALF)
RELEASED = device(core=50, memory="10Gi", phase="Released", policy="Retain", of=STRANGER)
HERE = Slice((part("card-0", 10, 10 * GI),))
WANT = Demand(core=10, memory=10 * GI)
