"""What a waiting claim waits for, and what ends it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.vocabulary import Demand
from elasticgpu.errors import Refused
from elasticgpu.rules import binding, why_claim
from elasticgpu.rules.claim_case import ClaimCase
from elasticgpu.rules.decisions import ClaimView, Wait
from elasticgpu.rules.explaining import Step
from elasticgpu.rules.fitting import Candidate
from elasticgpu.rules.fleet import NodeView
from elasticgpu.rules.ledger import Slice
from tests.rules.build import Share, claim, device, ref

from .cases import ASKS, MUTE, NO_CLASS, RUNS, TRAIN, case, told


def waits(
    reason: str, view: ClaimView, facts: tuple[str, ...], *steps: Step
) -> tuple[str, ClaimView, tuple[str, ...], tuple[Step, ...]]:
    return reason, view, facts, steps


def waiting(of: ElasticGPUClaim, *devices: object, **more: object) -> ClaimView:
    return case(of, *devices, **more).view


class Picky(Share):
    """A provisioner that serves nobody."""

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        raise Refused("only on Sundays")


NAMED = claim(named="egpu-a")
SEE = Step("See the device", "elasticgpu get devices egpu-a -o wide")
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
        "BadParameters",
        waiting(TRAIN, placer=None, misfit="parameters of x.io/mps: replicas: no"),
        (ASKS, "Class gold cannot serve: parameters of x.io/mps: replicas: no; classes are fixed"),
        Step("An admin makes a class with other parameters; then make the claim anew"),
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
        "Refused",
        waiting(TRAIN, placer=Picky()),
        (ASKS, "Only on Sundays."),
        Step(
            "Ask for what its class gives, or for a class of another provisioner, in a new claim",
            "elasticgpu get classes",
        ),
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
        Step(
            "An admin makes that device; or make a claim that names another, or none",
            "elasticgpu get devices",
        ),
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
