"""Claims in every state, and the whole answer about each."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from elasticgpu.api.claim import ClaimUser, ProvisioningRequest
from elasticgpu.api.names import BOUND_BY_CONTROLLER, CLAIM_PROTECTION
from elasticgpu.rules.claim_case import ClaimCase
from elasticgpu.rules.explaining import CONTROLLER, Step
from elasticgpu.rules.fleet import NodeView
from tests.rules.build import LATER, NOW, card, claim, device, free, pod, ref

from .cases import ASKS, EVENTS, MUTE, RUNS, TRAIN, case, told

LASTS = Step("This takes a moment. If it lasts, see whether the controller runs", CONTROLLER)
ANEW = Step(
    "Delete the claim and create it anew, then the pods that use it",
    "kubectl delete elasticgpuclaim train -n team",
)
BOUND = told(claim(named="egpu-a", completed=True), "Bound", "", "True").with_status(phase="Bound")
USED = BOUND.with_status(users=[ClaimUser(pod_uid="uid-web-0", pod_name="web-0")])
TWICE = BOUND.with_status(users=[*USED.status.users, ClaimUser(pod_uid="u", pod_name="web-1")])
MINE = device(phase="Bound", of=ref(claim()))
HAS = "It has ElasticGPU egpu-a: 10% core and 10Gi memory of card-0 on node node-a."
DELETED = "When the claim is deleted, the device is deleted too."


class Row(NamedTuple):
    """A case, and its answer: state, facts, steps, since."""

    id: str
    case: ClaimCase
    state: str
    facts: tuple[str, ...]
    steps: tuple[Step, ...] = ()
    since: str = LATER


LEAVING = claim(terminating=True).with_metadata(finalizers=[CLAIM_PROTECTION])
STATES = [
    Row("bound", case(BOUND, MINE), "Bound", (HAS, DELETED, "No pod uses it.")),
    Row("used", case(USED, MINE), "Bound", (HAS, DELETED, "Pod web-0 uses it.")),
    Row("used-twice", case(TWICE, MINE), "Bound", (HAS, DELETED, "Pods web-0, web-1 use it.")),
    Row(
        "wanted",
        replace(case(USED, MINE), pods=(pod(), pod("web-1"), pod("old", phase="Failed"))),
        "Bound",
        (HAS, DELETED, "Pod web-0 uses it.", "Pod web-1 waits for it."),
        (Step("See what pod web-1 waits for", "elasticgpu why pod/web-1 -n team"),),
    ),
    Row(
        "kept-and-remote",
        case(BOUND, device(phase="Bound", of=ref(claim()), policy="Retain", parts=[], node="")),
        "Bound",
        (
            "It has ElasticGPU egpu-a: 10% core and 10Gi memory.",
            "When the claim is deleted, the device stays Released until an admin gives it back.",
            "No pod uses it.",
        ),
    ),
    Row(
        "lost",
        case(told(BOUND, "DeviceLost").with_status(phase="Lost")),
        "Lost",
        ("ElasticGPU egpu-a is gone.",),
        (ANEW,),
    ),
    Row(
        "contradiction",
        case(
            claim(named="egpu-a").with_metadata(
                annotations={BOUND_BY_CONTROLLER: "yes"}, creation_timestamp=NOW
            ),
            device(of=ref(claim("other"))),
        ),
        "Pending",
        (ASKS, "The controller chose its device, yet ElasticGPU egpu-a belongs to team/other."),
        (ANEW,),
        NOW,
    ),
    Row(
        "deleted-while-used",
        case(LEAVING.with_status(users=USED.status.users)),
        "Terminating",
        ("It is being deleted, and stays until pod web-0 has ended.",),
        (Step("End what holds it", "kubectl delete pod web-0 -n team"),),
        NOW,
    ),
    Row(
        "deleted-while-used-twice",
        case(LEAVING.with_status(users=TWICE.status.users)),
        "Terminating",
        ("It is being deleted, and stays until pods web-0, web-1 have ended.",),
        (Step("End what holds it", "kubectl delete pod web-0 web-1 -n team"),),
        NOW,
    ),
    Row(
        "deleted-and-kept",
        case(LEAVING),
        "Terminating",
        (f"It is being deleted, and stays until finalizer {CLAIM_PROTECTION} is taken off.",),
        (Step("Who put it there takes it off. See whether the controller runs", CONTROLLER),),
        NOW,
    ),
    Row(
        "about-to-be-bound",
        case(TRAIN, device()),
        "Pending",
        (ASKS, "ElasticGPU egpu-a serves it: the controller binds the two."),
        (LASTS,),
        NOW,
    ),
    Row(
        "about-to-be-cut",
        case(told(TRAIN, "ProvisioningFailed", "no luck"), nodes=(NodeView("n", (free(card()),)),)),
        "Pending",
        (
            ASKS,
            "There is room on card-0 of node n: the controller cuts a device there.",
            "The controller last said ProvisioningFailed: no luck.",
        ),
        (EVENTS,),
    ),
    Row(
        "room-again",
        replace(
            case(told(TRAIN, "NoCapacity", "full"), nodes=(NodeView("n", (free(card()),)),)),
            note="Nodes are a secret.",
        ),
        "Pending",
        (
            ASKS,
            "There is room on card-0 of node n: the controller cuts a device there.",
            "The controller last said NoCapacity: full.",
            "Nodes are a secret.",
        ),
        (LASTS,),
    ),
    Row(
        "its-provisioner-is-at-work",
        case(
            told(TRAIN, "Provisioning", "example.com/share makes its device").with_status(
                provisioning=ProvisioningRequest(provisioner="example.com/share")
            )
        ),
        "Pending",
        (ASKS, "example.com/share makes its device."),
        (EVENTS,),
    ),
    Row(
        "being-created",
        case(TRAIN, creating=device()),
        "Pending",
        (ASKS, "The controller is putting it right."),
        (LASTS,),
        NOW,
    ),
    Row(
        "unseen",
        replace(case(told(TRAIN, "NoCapacity", "no card can")), unseen="You may not look."),
        "Pending",
        (ASKS, "No card can.", "You may not look."),
        (EVENTS,),
    ),
    Row(
        "unseen-and-unheard",
        replace(case(TRAIN), unseen="You may not look."),
        "Pending",
        (ASKS, "You may not look.", MUTE),
        (EVENTS, RUNS),
        NOW,
    ),
    Row(
        "a-plugin-that-only-the-controller-has",
        case(told(TRAIN, "NoCapacity", "no card can"), placer=None),
        "Pending",
        (
            ASKS,
            "No card can.",
            "This cannot be checked from here: class gold wants provisioner example.com/share, "
            "which is not installed; installed: example.com/share.",
        ),
        (EVENTS,),
    ),
]
