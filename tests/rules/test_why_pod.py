"""Why a pod is as it is: whose turn it is, and what each of its claims says."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.claim import ClaimUser, ElasticGPUClaim
from elasticgpu.api.core import Allocation, Pod, ResourceClaim, ResourceClaimStatus
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Condition, ObjectMeta
from elasticgpu.api.names import CLAIM_ANNOTATION
from elasticgpu.rules import why_pod
from elasticgpu.rules.entries import SPEC, entries
from elasticgpu.rules.explaining import Explanation, Step, sentence
from elasticgpu.rules.handing import MISSED
from elasticgpu.rules.waiting import EntryView
from elasticgpu.rules.why_pod import PodCase

from .build import NOW, claim, device, pod, ref

WEB = pod(phase="Pending")
BOUND = claim(named="egpu-a", completed=True).with_status(phase="Bound")
MINE = BOUND.with_status(users=[ClaimUser(pod_uid="uid-web-0", pod_name="web-0")])
OTHERS = BOUND.with_status(users=[ClaimUser(pod_uid="uid-x", pod_name="x")])
DEVICE = device(phase="Bound", of=ref(BOUND))
WAITS = claim().with_status(
    phase="Pending",
    conditions=[Condition(type="Bound", status="False", reason="NoCapacity", message="no card")],
)
PENDING = Explanation("ElasticGPUClaim team/train", "Pending", NOW, ("No card.",))
READY = Explanation("ElasticGPUClaim team/train", "Bound", NOW, ("It has ElasticGPU egpu-a.",))
SEE = Step("See its events", "kubectl describe pod web-0 -n team")
ANEW = Step(
    "Delete it, and create it anew unless something does that by itself",
    "kubectl delete pod web-0 -n team",
)
USES = "Container main uses ElasticGPUClaim train, which has ElasticGPU egpu-a on node node-a."


def made(allocated: bool = True) -> ResourceClaim:
    status = ResourceClaimStatus(allocation=Allocation() if allocated else None)
    return ResourceClaim(metadata=ObjectMeta(name="rc"), spec=SPEC["spec"], status=status)


def view(
    of: Pod,
    found: ElasticGPUClaim | None,
    on: ElasticGPU | None = DEVICE,
    *,
    number: int = 0,
    **more: object,
) -> EntryView:
    facts: dict[str, object] = {"resource_claim": made(), **more}
    return EntryView(entries(of)[number], found, device=on, **facts)  # type: ignore[arg-type] # a row says which facts


class Row(NamedTuple):
    """A case, and its answer: state, facts, steps, and what it explains in turn."""

    id: str
    case: PodCase
    state: str
    facts: tuple[str, ...]
    steps: tuple[Step, ...] = ()
    about: tuple[Explanation, ...] = ()
    since: str = NOW


def one(of: Pod, *views: EntryView, **more: object) -> PodCase:
    return PodCase(of, views, **more)  # type: ignore[arg-type] # a row says which facts


DONE = pod(phase="Succeeded")
GOES = pod(terminating=True)
PLACED = pod(phase="Pending", node="node-a")
TWO = pod(phase="Pending", claims=("train", "test"))
FROM_TEMPLATE = pod(phase="Pending", claims=(), templates=("t",))
TRAIN_AND_TEST = (view(TWO, MINE), view(TWO, None, None, number=1))
UNUSED = WEB.but(spec=WEB.spec.but(containers=[]))
BOTH_USE = WEB.but(
    spec=WEB.spec.but(containers=[*WEB.spec.containers, WEB.spec.containers[0].but(name="side")])
)

ROWS = [
    Row("ended", one(DONE, view(DONE, BOUND)), "Succeeded", ("It has ended, and holds no claim.",)),
    Row(
        "ended-and-holds",
        one(DONE, view(DONE, MINE)),
        "Succeeded",
        ("It has ended, and gives train back.",),
    ),
    Row("deleted", one(GOES, view(GOES, None)), "Terminating", ("It is being deleted.",)),
    Row(
        "deleted-and-holds",
        one(GOES, view(GOES, MINE)),
        "Terminating",
        ("It is being deleted; then it gives train back.",),
    ),
    Row(
        "missed",
        one(pod(claims=(), phase="Pending", annotations={f"{CLAIM_ANNOTATION}main": "train"})),
        "Pending",
        (sentence(MISSED),),
        (ANEW,),
    ),
    Row(
        "none-of-ours",
        one(pod(claims=(), phase="")),
        "Pending",
        ("It names no ElasticGPUClaim: nothing of elasticgpu keeps it waiting.",),
        (SEE,),
    ),
    Row(
        "its-claim-waits",
        one(WEB, view(WEB, WAITS, None), claims={WAITS.key: PENDING}, told=("It is cold.",)),
        "Pending",
        ("It waits for ElasticGPUClaim train, which is Pending.", "It is cold."),
        (),
        (PENDING,),
    ),
    Row(
        "its-claim-waits-unexplained",
        one(WEB, view(WEB, WAITS, None)),
        "Pending",
        ("ElasticGPUClaim train is Pending: no card.",),
    ),
    Row(
        "its-claim-is-another-pod's",
        one(WEB, view(WEB, OTHERS), claims={BOUND.key: READY}),
        "Pending",
        (
            "ElasticGPUClaim train is held by pod x: this pod gets it when that one has ended. "
            "A claim with spec.shared true serves several pods at once.",
        ),
        (Step("See who holds train", "kubectl get pod x -n team"),),
    ),
    Row(
        "no-such-claim",
        one(TWO, *TRAIN_AND_TEST),
        "Pending",
        ("There is no ElasticGPUClaim test in team: create it.",),
        (Step("See which claims there are", "elasticgpu get claims -n team"),),
    ),
    Row(
        "no-such-template",
        one(FROM_TEMPLATE, view(FROM_TEMPLATE, None, None)),
        "Pending",
        ("There is no ElasticGPUClaimTemplate t in team.",),
        (Step("See which templates there are", "elasticgpu get templates -n team"),),
    ),
    Row(
        "resource-claim-deleted",
        one(WEB, view(WEB, MINE, resource_claim=None, vanished="rc")),
        "Pending",
        ("Its ResourceClaim rc was deleted: delete this pod and create it anew.",),
        (ANEW,),
    ),
    Row(
        "different-nodes",
        one(
            TWO,
            view(TWO, MINE),
            view(
                TWO,
                MINE.with_metadata(name="test", uid="uid-test"),
                device("egpu-b", phase="Bound", of=ref(claim("test")), node="node-b"),
                number=1,
            ),
        ),
        "Pending",
        (
            "Its claims lie on different nodes (train on node-a, test on node-b): no node can "
            "run it.",
        ),
    ),
    Row(
        "unseen",
        one(WEB, view(WEB, MINE, None), unseen="You may not look."),
        "Pending",
        ("It uses ElasticGPUClaim train.", "You may not look."),
        (SEE,),
    ),
    Row(
        "being-handed-over",
        one(WEB, view(WEB, BOUND), claims={BOUND.key: READY}),
        "Pending",
        (USES, "Its claims are being handed to it: the controller's turn."),
        (SEE,),
    ),
    Row(
        "being-allocated",
        one(WEB, view(WEB, MINE, resource_claim=made(allocated=False))),
        "Pending",
        (USES, "Its ResourceClaims are being allocated: the controller's turn."),
        (SEE,),
    ),
    Row(
        "being-scheduled",
        one(BOTH_USE, view(BOTH_USE, MINE)),
        "Pending",
        (
            USES.replace("Container main uses", "Containers main, side use"),
            "Its claims are its own: the scheduler's turn.",
        ),
        (SEE,),
    ),
    Row(
        "being-prepared",
        one(PLACED, view(PLACED, MINE)),
        "Pending",
        (USES, "Node node-a makes its devices ready: the agent's turn."),
        (SEE,),
    ),
    Row(
        "prepared",
        one(PLACED, view(PLACED, MINE, DEVICE.with_status(prepared_for=["uid-web-0"]))),
        "Pending",
        (USES, "Node node-a has its devices ready."),
        (SEE,),
    ),
    Row(
        "running-remotely",
        one(pod(node="node-a"), view(UNUSED, MINE, device(phase="Bound", of=ref(BOUND), node=""))),
        "Running",
        ("No container uses ElasticGPUClaim train, which has ElasticGPU egpu-a.",),
    ),
]


@pytest.mark.parametrize("row", [pytest.param(row, id=row.id) for row in ROWS])
def test_states(row: Row) -> None:
    """State, sentences, steps, and the answers about the claims it waits for."""
    assert why_pod.explain(row.case) == Explanation(
        "Pod team/web-0", row.state, row.since, row.facts, steps=row.steps, about=row.about
    )


CLAIMS = st.sampled_from((None, BOUND, MINE, OTHERS, WAITS, claim(terminating=True)))
DEVICES = st.sampled_from((None, DEVICE, device(terminating=True, of=ref(BOUND))))
PODS = st.builds(
    pod,
    phase=st.sampled_from(("", "Pending", "Running", "Succeeded")),
    node=st.sampled_from(("", "node-a", "node-b")),
    terminating=st.booleans(),
)


@given(PODS, CLAIMS, DEVICES, st.booleans(), st.sampled_from(("", "rc")))
def test_there_is_always_an_answer(
    of: Pod, found: ElasticGPUClaim | None, on: ElasticGPU | None, rc: bool, gone: str
) -> None:
    """Whatever is behind a pod, at least one whole sentence says why."""
    entry = view(of, found, on, resource_claim=made() if rc else None, vanished=gone)
    answer = why_pod.explain(one(of, entry))
    assert answer.facts
    assert all(fact.endswith(".") for fact in answer.facts)
