"""Why a claim is as it is: every state has its sentences, its cards and its next steps."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.claim import ClaimUser, ElasticGPUClaim, ProvisioningRequest
from elasticgpu.api.core import Pod
from elasticgpu.api.meta import Condition, merge_condition
from elasticgpu.api.names import BOUND_BY_CONTROLLER, CLAIM_PROTECTION
from elasticgpu.rules import binding, why_claim
from elasticgpu.rules.claim_case import ClaimCase
from elasticgpu.rules.decisions import ClaimView, Wait
from elasticgpu.rules.explaining import AGENTS, CONTROLLER, Explanation, Holder, Look, Step
from elasticgpu.rules.fitting import Candidate
from elasticgpu.rules.fleet import NodeView

from .build import (
    GI,
    LATER,
    NOW,
    Share,
    card,
    claim,
    device,
    free,
    gpu_class,
    pod,
    ref,
    seen,
)

TRAIN = claim().with_metadata(creation_timestamp=NOW)
ASKS = "It asks for 10% core and 10Gi memory of class gold, the default."
MUTE = "The controller has not said anything about it yet."
RUNS = Step("See whether the controller runs", CONTROLLER)
LASTS = Step("This takes a moment. If it lasts, see whether the controller runs", CONTROLLER)
EVENTS = Step("See its events", "kubectl describe elasticgpuclaim train -n team")
ANEW = Step(
    "Delete the claim and create it anew, then the pods that use it",
    "kubectl delete elasticgpuclaim train -n team",
)
TREE = Step("See who holds what", "elasticgpu tree")
HALF = NodeView("node-a", (free(card(), core=5, memory=40 * GI, mode=Share.name),))
GOLD: dict[str, object] = {
    "gpu_class": gpu_class(),
    "placer": Share(),
    "nodes": (HALF,),
    "provisioners": (Share.name,),
    "classes": ("gold",),
}


def told(
    of: ElasticGPUClaim, reason: str, message: str = "as it was", status: str = "False"
) -> ElasticGPUClaim:
    """The claim with what the controller said of it, later than it was made."""
    row = Condition(type="Bound", status="False", reason=reason, message=message).but(status=status)
    return of.with_status(conditions=merge_condition(of.status.conditions, row, now=LATER))


def case(of: ElasticGPUClaim, *devices: object, **more: object) -> ClaimCase:
    view = seen(of, *devices, **{**GOLD, **more})  # type: ignore[arg-type]
    return ClaimCase(view, nodes=tuple(view.nodes.in_order("binpack")))


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


@pytest.mark.parametrize("row", [pytest.param(row, id=row.id) for row in STATES])
def test_states(row: Row) -> None:
    """State, since when, sentences and steps; no cards where they do not matter."""
    assert why_claim.explain(row.case) == Explanation(
        "ElasticGPUClaim team/train", row.state, row.since, row.facts, steps=row.steps
    )


def waits(
    reason: str, view: ClaimView, facts: tuple[str, ...], *steps: Step
) -> tuple[str, ClaimView, tuple[str, ...], tuple[Step, ...]]:
    return reason, view, facts, steps


def waiting(of: ElasticGPUClaim, *devices: object, **more: object) -> ClaimView:
    return case(of, *devices, **more).view


NAMED = claim(named="egpu-a")
SEE = Step("See the device", "elasticgpu get devices egpu-a -o wide")
NO_CLASS = {"class_name": None, "classes": ("silver",)}
RELEASED = device(phase="Released", policy="Retain", of=ref(claim("old")), class_name="")
WAITS = [
    waits(
        "InvalidRequest",
        waiting(claim(requests={"x.io/gpu": 1})),
        ("x.io/gpu is no resource this understands",),
        Step(
            "Correct it in a new claim. What may be asked for",
            "kubectl explain elasticgpuclaim.spec.resources.requests",
        ),
    ),
    waits(
        "NoClass",
        waiting(TRAIN, **NO_CLASS),
        (
            "It asks for 10% core and 10Gi memory.",
            "It names no class and none is the default; known classes: silver.",
        ),
        Step(
            "Name a class, such as",
            "kubectl patch elasticgpuclaim train -n team --type=merge "
            """-p '{"spec":{"elasticGPUClassName":"silver"}}'""",
        ),
        Step(
            "Or an admin makes one the default",
            "kubectl annotate elasticgpuclass silver elasticgpu.io/is-default-class=true",
        ),
    ),
    waits(
        "NoClass",
        waiting(TRAIN, class_name=None, classes=()),
        (
            "It asks for 10% core and 10Gi memory.",
            "It names no class and none is the default; there are no classes: create one.",
        ),
        Step("An admin creates a class"),
    ),
    waits(
        "UnknownClass",
        waiting(claim(elastic_gpu_class_name="gold"), gpu_class=None),
        (
            "It asks for 10% core and 10Gi memory of class gold.",
            "There is no ElasticGPUClass gold; known classes: gold.",
        ),
        Step("Create that class, or make the claim anew", "elasticgpu get classes"),
    ),
    waits(
        "NoProvisioner",
        waiting(TRAIN, placer=None),
        (ASKS, "Class gold wants provisioner example.com/share, which is not installed"),
        Step("Install that provisioner beside the controller, or take another class"),
    ),
    waits(
        "NoDevice",
        waiting(TRAIN, class_name=""),
        ("It asks for 10% core and 10Gi memory.", "No ElasticGPU without a class fits it"),
        Step("An admin makes such a device. Those that are there", "elasticgpu get devices"),
    ),
    waits(
        "NoDevice",
        waiting(TRAIN, class_name="", released=(Candidate(RELEASED),)),
        ("It asks for 10% core and 10Gi memory.", "No ElasticGPU without a class fits it"),
        Step("An admin gives it one that fits", "elasticgpu release egpu-a"),
    ),
    waits(
        "DeviceTaken",
        waiting(NAMED, device(of=ref(claim("other")))),
        (ASKS, "ElasticGPU egpu-a belongs to team/other."),
        SEE,
    ),
    waits(
        "DeviceMismatch",
        waiting(NAMED, device(core=5)),
        (ASKS, "ElasticGPU egpu-a has 5% core, not 10%."),
        SEE,
    ),
    waits(
        "DevicePending",
        waiting(TRAIN, device(phase="Pending", of=ref(TRAIN, uid=""))),
        (ASKS, "ElasticGPU egpu-a is not yet Available: waiting for it."),
        SEE,
    ),
    waits(
        "DeviceMissing",
        waiting(NAMED),
        (ASKS, "ElasticGPU egpu-a does not exist yet: waiting for it."),
        EVENTS,
    ),
]


@pytest.mark.parametrize(
    ("reason", "view", "facts", "steps"),
    [pytest.param(*row, id=f"{n}-{row[0]}") for n, row in enumerate(WAITS)],
)
def test_waits(
    reason: str, view: ClaimView, facts: tuple[str, ...], steps: tuple[Step, ...]
) -> None:
    """What the binder says, and what ends it; as long as the controller is mute, that too."""
    decision = binding.decide(view)
    assert isinstance(decision, Wait)
    assert decision.reason == reason
    heard = replace(view, claim=told(view.claim, reason))
    answer = why_claim.explain(ClaimCase(heard))
    assert answer.steps == steps
    for fact, want in zip(answer.facts, facts, strict=True):
        assert fact.startswith(want)
    mute = why_claim.explain(ClaimCase(view))
    assert (mute.facts, mute.steps) == ((*answer.facts, MUTE), (*steps, RUNS))


TOGETHER = "Where its device goes depends on the pods that use it and the claims beside it too."


@pytest.mark.parametrize(
    ("pods", "said", "facts", "steps"),
    [
        pytest.param(
            (),
            told(TRAIN, "WaitForFirstConsumer", "waiting for its first pod"),
            ("Waiting for its first pod.", TOGETHER, "No pod names it yet."),
            (EVENTS, TREE),
            id="no-pod",
        ),
        pytest.param(
            (pod("old", phase="Succeeded"), pod("web-1"), pod("web-2")),
            told(TRAIN, "NoCapacity", "no node has room"),
            ("No node has room.", TOGETHER, "Pods web-1, web-2 wait for it."),
            (
                Step("See what pod web-1 waits for", "elasticgpu why pod/web-1 -n team"),
                EVENTS,
                TREE,
            ),
            id="two-pods",
        ),
        pytest.param(
            (), TRAIN, (TOGETHER, "No pod names it yet.", MUTE), (EVENTS, TREE, RUNS), id="mute"
        ),
    ],
)
def test_in_company(
    pods: tuple[Pod, ...], said: ElasticGPUClaim, facts: tuple[str, ...], steps: tuple[Step, ...]
) -> None:
    """Others have a say: the controller's words, and the cards as they are for this claim alone."""
    nodes = (NodeView("node-a", (free(card()), free(card("full"), core=0))),)
    answer = why_claim.explain(replace(case(said, company=True, nodes=nodes), pods=pods))
    assert answer.facts == (ASKS, *facts)
    assert answer.steps == steps
    assert [(look.card, look.lacks) for look in answer.looks] == [
        ("card-0", ""),
        ("full", "0% of 100% core free, 10% wanted"),
    ]


def test_nobody_makes_one_for_the_company() -> None:
    """What is wrong with the class is said first."""
    answer = why_claim.explain(case(TRAIN, company=True, **NO_CLASS))
    assert answer.facts[1] == "It names no class and none is the default; known classes: silver."
    elsewhere = told(TRAIN, "WaitForFirstConsumer", "waiting for its first pod")
    answer = why_claim.explain(case(elsewhere, company=True, placer=None))
    assert answer.facts[1] == "Waiting for its first pod."


HELD = {"card-0": (Holder("egpu-x", "Bound", 95, 40 * GI, "team/other", ("web-0",)),)}


def full(**more: object) -> ClaimCase:
    base = case(told(TRAIN, "NoCapacity"), **more)
    return replace(base, holders=HELD)


def test_without_room() -> None:
    """Every card with what it lacks and who holds it, and how much less would be served."""
    assert why_claim.explain(full()) == Explanation(
        "ElasticGPUClaim team/train",
        "Pending",
        LATER,
        (ASKS, "No card can give that; 1 was looked at."),
        (
            Look(
                "node-a",
                "card-0",
                5,
                40 * GI,
                "5% of 100% core free, 10% wanted",
                HELD["card-0"],
            ),
        ),
        (
            Step("Ask for less, in a new claim: card-0 has 5% core and 40Gi memory free"),
            TREE,
        ),
    )


def test_without_any_card() -> None:
    """Then nothing is to be seen in the tree: the agents are at fault."""
    answer = why_claim.explain(full(nodes=()))
    assert answer.facts == (
        ASKS,
        "No card can give 10% core and 10Gi memory: the cluster has no GPU objects.",
    )
    assert answer.steps == (Step("No node publishes a card. See whether the agents run", AGENTS),)


@pytest.mark.parametrize(
    ("core", "step"),
    [
        (95, Step("An admin makes room for it", "elasticgpu release --delete egpu-a")),
        (5, None),
    ],
)
def test_released_devices_in_the_way(core: int, step: Step | None) -> None:
    """They are counted, and the command is given if it helps."""
    old = ref(claim("old"))
    idle = device(core=core, phase="Released", policy="Retain", of=old, class_name="silver")
    wants = told(claim(core=60), "NoCapacity")
    answer = why_claim.explain(case(wants, released=(Candidate(idle),)))
    assert f"1 Released device holds {core}% core and 10Gi memory of cards it may use." in (
        answer.facts
    )
    assert (answer.steps[0] == step) is (step is not None)


def test_a_released_device_that_fits() -> None:
    """It needs no room made."""
    idle = device(core=95, phase="Released", policy="Retain", of=ref(claim("old")))
    answer = why_claim.explain(full(released=(Candidate(idle),)))
    assert answer.steps[0] == Step("An admin gives it one that fits", "elasticgpu release egpu-a")


def test_a_card_that_is_closed() -> None:
    """An admin's word is all it takes."""
    closed = card("card-9").but(spec=card().spec.but(unschedulable=True))
    answer = why_claim.explain(full(nodes=(NodeView("node-a", (free(closed),)),)))
    assert answer.steps == (
        Step(
            "An admin lets new devices onto card-9",
            """kubectl patch gpu card-9 --type=merge -p '{"spec":{"unschedulable":false}}'""",
        ),
        TREE,
    )
    shut = replace(free(card("card-9")), closed="node node-a is cordoned")
    answer = why_claim.explain(full(nodes=(NodeView("node-a", (shut,)),)))
    assert answer.steps[0] == Step(
        "An admin sees to node node-a, which is cordoned", "kubectl describe node node-a"
    )
    small = closed.but(status=closed.status.but(memory="1Gi"))
    answer = why_claim.explain(full(nodes=(NodeView("node-a", (free(small),)),)))
    assert answer.steps == (TREE,)


def test_order_of_cards() -> None:
    """What may serve at all first, of that the freest, then by name."""
    views = (
        free(card("broken", health="Unhealthy")),
        free(card("b"), core=1),
        free(card("a"), core=1),
        free(card("none"), core=0),
        free(card("most"), core=9),
    )
    answer = why_claim.explain(full(nodes=(NodeView("node-a", views),)))
    assert [look.card for look in answer.looks] == ["most", "a", "b", "none", "broken"]


PHASES = st.sampled_from(("", "Pending", "Bound", "Lost"))


@given(
    PHASES,
    st.booleans(),
    st.booleans(),
    st.sampled_from(("", "egpu-a")),
    st.sampled_from((None, "", "gold")),
    st.integers(0, 300),
    st.lists(st.sampled_from(("Available", "Bound", "Released", "Failed", "Pending")), max_size=2),
)
def test_there_is_always_an_answer(
    phase: str,
    terminating: bool,
    completed: bool,
    named: str,
    class_name: str | None,
    core: int,
    devices: list[str],
) -> None:
    """Whatever a claim looks like, at least one whole sentence says why."""
    odd = claim(core=core, named=named, completed=completed, terminating=terminating)
    made = [device(f"egpu-{'ab'[n]}", phase=p) for n, p in enumerate(devices)]  # type: ignore[arg-type]
    answer = why_claim.explain(case(odd.with_status(phase=phase), *made, class_name=class_name))
    assert answer.facts
    assert all(fact.endswith(".") and fact.strip() == fact for fact in answer.facts)


def test_in_company_the_controller_alone_knows() -> None:
    """Where the pod or other claims have a say, what the controller said is repeated."""
    waits = told(TRAIN, "WaitForFirstConsumer", "its device is chosen when the first pod uses it")
    view = seen(waits, **{**GOLD, "company": True})
    facts = why_claim.explain(ClaimCase(view)).facts
    assert facts[1] == "Its device is chosen when the first pod uses it."
