"""Claims and the cases they make, as the answers about them are tested on."""

from __future__ import annotations

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.meta import Condition, merge_condition
from elasticgpu.rules.claim_case import ClaimCase
from elasticgpu.rules.explaining import CONTROLLER, Step
from elasticgpu.rules.fleet import NodeView
from tests.rules.build import GI, LATER, NOW, Share, card, claim, free, gold, seen

TRAIN = claim().with_metadata(creation_timestamp=NOW)
ASKS = "It asks for 10% core and 10Gi memory of class gold, the default."
MUTE = "The controller has not said anything about it yet."
RUNS = Step("See whether the controller runs", CONTROLLER)
EVENTS = Step("See its events", "kubectl describe elasticgpuclaim train -n team")
TREE = Step("See who holds what", "elasticgpu tree")
HALF = NodeView("node-a", (free(card(), core=5, memory=40 * GI, mode=Share.name),))
GOLD = gold(HALF)


def told(
    of: ElasticGPUClaim, reason: str, message: str = "as it was", status: str = "False"
) -> ElasticGPUClaim:
    """The claim with what the controller said of it, later than it was made."""
    row = Condition(type="Bound", status="False", reason=reason, message=message).but(status=status)
    return of.with_status(conditions=merge_condition(of.status.conditions, row, now=LATER))


def case(of: ElasticGPUClaim, *devices: object, **more: object) -> ClaimCase:
    view = seen(of, *devices, **{**GOLD, **more})  # type: ignore[arg-type]
    return ClaimCase(view, nodes=tuple(view.nodes.in_order("binpack")))


NO_CLASS = {"class_name": None, "classes": ("silver",)}
