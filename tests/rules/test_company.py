"""Claims that share one decision: when they are placed, together, and what they say if not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Node, Pod
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpuclass import Topology
from elasticgpu.api.names import BOUND_BY_CONTROLLER
from elasticgpu.api.vocabulary import Demand
from elasticgpu.errors import Refused
from elasticgpu.rules import company
from elasticgpu.rules.company import CompanyDecision, Forget, GiveUp, Later
from elasticgpu.rules.consumer import Consumer
from elasticgpu.rules.decisions import Bind, ClaimView, Create, Lost, Provision, Settled, Wait
from elasticgpu.rules.fleet import NodeView
from elasticgpu.rules.ledger import Slice
from elasticgpu.rules.seeking import CompanyView, Part, Place, StartAnew

from .build import GI, Share, card, claim, device, free, gpu_class, part, pod, ref, seen

WAITS = gpu_class(egpu_binding_mode="WaitForFirstConsumer")
AT_ONCE = gpu_class()
CHOSEN = {BOUND_BY_CONTROLLER: "yes"}


def node(name: str = "node-a", *, cpu: str = "8", **labels: str) -> Node:
    meta = {"name": name, "labels": labels}
    return Node.model_validate(
        {"metadata": meta, "status": {"allocatable": {"cpu": cpu, "pods": "110"}}}
    )


def cards(**cores: int) -> list[NodeView]:
    """Nodes with one card each, of which so much is free."""
    names = {key: f"node-{key}" for key in cores}
    return [
        NodeView(names[key], (free(card(f"card-{key}", names[key]), core),))
        for key, core in cores.items()
    ]


FLEET = cards(a=100, b=100)
NODES = {"node-a": node("node-a"), "node-b": node("node-b")}


def member(
    of: ElasticGPUClaim, *devices: ElasticGPU, waits: bool = True, **more: object
) -> ClaimView:
    facts: dict[str, Any] = {
        "gpu_class": WAITS if waits else AT_ONCE,
        "placer": Share(),
        "nodes": FLEET,
        "company": True,
        **more,
    }
    return seen(of, *devices, **facts)


def with_pods(
    members: Sequence[ClaimView],
    *pods: Pod,
    nodes: Mapping[str, Node] = NODES,
    taken: Mapping[str, int] | None = None,
    **more: Any,
) -> CompanyView:
    return CompanyView(
        tuple(members),
        consumers=tuple(Consumer.of(one) for one in pods),
        node=nodes.get,
        taken=lambda name, uid: taken or {},
        **more,
    )


def new(on: str, view: ClaimView, core: int = 10) -> Part:
    """The claim gets a new slice of the node's card."""
    cut = Slice((part(f"card-{on[-1]}", core, 10 * GI),))
    assert view.gpu_class is not None
    return Part(view, Provision(view.gpu_class, Demand(core=core, memory=10 * GI), on, cut))


def old(view: ClaimView, found: ElasticGPU) -> Part:
    return Part(view, Bind(found))


def locked(of: ElasticGPUClaim, on: str = "node-a", **more: Any) -> ElasticGPU:
    """A device of which only the lock is written."""
    name = f"egpu-{of.uid}"
    return device(name, of=ref(of), phase="Available", node=on, annotations=CHOSEN, **more)


def bound(of: ElasticGPUClaim, on: str = "node-a") -> ClaimView:
    """A member that has its device, all four writes done."""
    has = device(f"egpu-{of.name}", of=ref(of), phase="Bound", node=on)
    done = claim(of.name, named=has.name, completed=True).with_status(phase="Bound")
    return member(done, has)


TRAIN, EVAL = claim("train"), claim("eval", core=20)
POD = pod(claims=["train"])
ONE, TWO = member(TRAIN), member(EVAL)
SMALL_A = device("egpu-small", node="node-a")
FITS_B = device("egpu-fits", core=20, node="node-b")
GATED = POD.but(spec=POD.spec.but(scheduling_gates=[{"name": "later"}]))
ON_B = POD.but(spec=POD.spec.but(node_name="node-b"))
WANTS_B = POD.but(spec=POD.spec.but(node_selector={"site": "b"}))
TAGGED = {"node-a": node("node-a"), "node-b": node("node-b", site="b")}
BUSY = {"node-a": node("node-a", cpu="1"), "node-b": node("node-b", cpu="2")}


def asking(cpu: str) -> Pod:
    box = POD.spec.containers[0]
    box = box.but(resources=box.resources.but(requests={"cpu": cpu}))
    return POD.but(spec=POD.spec.but(containers=[box]))


class Row(NamedTuple):
    """A company, and the decision it leads to."""

    id: str
    view: CompanyView
    want: CompanyDecision


def excluded(of: ElasticGPUClaim, *nodes: str, for_pod: str = "") -> ElasticGPUClaim:
    """The claim after these nodes were tried for it, the last one for the pod of this uid."""
    pods = [for_pod or POD.uid]
    return of.with_status(phase="Pending", excluded_nodes=list(nodes), excluded_for=pods)


NOT_A = member(excluded(TRAIN, "node-a"))
NEITHER = member(excluded(TRAIN, "node-a", "node-b"))
WAITING = Wait(
    "WaitForFirstConsumer", "its device is chosen when the first pod uses it", event="Normal"
)
FIRST = [
    Row("52-waits-for-a-pod", with_pods([ONE]), WAITING),
    Row("52-waits-though-a-fit-exists", with_pods([member(TRAIN, SMALL_A)]), WAITING),
    Row(
        "52-reserved-binds-at-once",
        with_pods([member(TRAIN, device(of=ref(TRAIN, uid="")))]),
        Bind(device(of=ref(TRAIN, uid=""))),
    ),
    Row(
        "52-named-binds-at-once",
        with_pods([member(claim(named="egpu-a"), device())]),
        Bind(device()),
    ),
    Row("53-a-pod-came", with_pods([ONE], POD), Place("node-a", (new("node-a", ONE),))),
    Row(
        "53-the-bind-goes-on",
        with_pods([member(TRAIN, locked(TRAIN))], POD),
        Bind(locked(TRAIN)),
    ),
    Row(
        "53-the-bind-goes-on-without-the-pod",
        with_pods([member(TRAIN, locked(TRAIN))]),
        Bind(locked(TRAIN)),
    ),
    Row(
        "53-create-was-not-answered",
        with_pods([member(TRAIN, creating=locked(TRAIN))], POD),
        Create(locked(TRAIN)),
    ),
    Row(
        "a-fit-before-a-new-one",
        with_pods([member(TRAIN, FITS_B)], POD),
        Place("node-b", (old(member(TRAIN, FITS_B), FITS_B),)),
    ),
    Row(
        "the-smallest-fit",
        with_pods([member(TRAIN, FITS_B, SMALL_A)], POD),
        Place("node-a", (old(member(TRAIN, FITS_B, SMALL_A), SMALL_A),)),
    ),
    Row(
        "a-fit-where-the-pod-may-run",
        with_pods([member(TRAIN, FITS_B, SMALL_A)], WANTS_B, nodes=TAGGED),
        Place("node-b", (old(member(TRAIN, FITS_B, SMALL_A), FITS_B),)),
    ),
    Row(
        "where-the-pod-may-run",
        with_pods([ONE], WANTS_B, nodes=TAGGED),
        Place("node-b", (new("node-b", ONE),)),
    ),
    Row("where-the-pod-is", with_pods([ONE], ON_B), Place("node-b", (new("node-b", ONE),))),
    Row(
        "where-cpu-is-free",
        with_pods([ONE], asking("2"), nodes=BUSY),
        Place("node-b", (new("node-b", ONE),)),
    ),
    Row(
        "nowhere",
        with_pods([ONE], asking("2"), nodes=BUSY, taken={"cpu": 500}),
        Wait(
            "NoCapacity",
            "no node can give 10% core and 10Gi memory; looked at 2: "
            "node-a (pod web-0: 500m cpu free, 2000m wanted); "
            "node-b (pod web-0: 1500m cpu free, 2000m wanted)",
        ),
    ),
    Row(
        "the-pod-is-gated",
        with_pods([ONE], GATED),
        Wait(
            "PodGated",
            "pod web-0 uses it first, and has scheduling gates",
            event="Normal",
        ),
    ),
    Row(
        "in-the-class-topology",
        with_pods(
            [
                member(
                    TRAIN,
                    waits=False,
                    gpu_class=gpu_class(
                        allowed_topologies=[
                            Topology.model_validate(
                                {"matchLabelExpressions": [{"key": "site", "values": ["b"]}]}
                            )
                        ]
                    ),
                )
            ],
            nodes={"node-a": node("node-a"), "node-b": node("node-b", site="c")},
        ),
        Wait(
            "NoCapacity",
            "no node can give 10% core and 10Gi memory; looked at 2: "
            "node-a (its class does not allow that node); "
            "node-b (its class does not allow that node)",
        ),
    ),
    Row(
        "no-class",
        with_pods([member(TRAIN, class_name=None, gpu_class=None, classes=("gold",))]),
        Wait(
            "NoClass",
            "it names no class and none is the default; known classes: gold",
            event="Normal",
        ),
    ),
    Row(
        "no-class-and-a-fit",
        with_pods(
            [member(TRAIN, device(class_name=""), class_name=None, gpu_class=None, waits=False)]
        ),
        Place(
            "node-a",
            (
                old(
                    member(TRAIN, device(class_name=""), class_name=None, gpu_class=None),
                    device(class_name=""),
                ),
            ),
        ),
    ),
    Row(
        "an-excluded-node",
        with_pods([NOT_A], POD),
        Place("node-b", (new("node-b", NOT_A),)),
    ),
    Row(
        "an-excluded-node-without-a-pod",
        with_pods([replace(NOT_A, gpu_class=AT_ONCE)]),
        Place("node-b", (new("node-b", replace(NOT_A, gpu_class=AT_ONCE)),)),
    ),
    Row(
        "all-were-tried",
        with_pods([NEITHER], POD, refusals={"node-b": "no free ports"}),
        StartAnew(
            "every node that would do was tried in vain: node-a; node-b: no free ports",
        ),
    ),
    Row(
        "all-were-tried-and-none-would-do",
        with_pods([NEITHER], asking("9"), refusals={"node-b": "no free ports"}),
        Wait(
            "NoCapacity",
            "no node can give 10% core and 10Gi memory; looked at 2: "
            "node-a (it was tried in vain); node-b (it was tried in vain: no free ports)",
        ),
    ),
    Row("tried-for-a-pod-that-is-gone", with_pods([NEITHER]), Forget()),
    Row(
        "tried-for-an-earlier-pod",
        with_pods([member(excluded(TRAIN, "node-a", for_pod="gone"))], POD),
        Forget(),
    ),
    Row("deleted", with_pods([member(claim(terminating=True))], POD), Settled()),
]

PAIR = pod(claims=["train", "eval"])
STOLEN = member(
    claim("eval", named="egpu-a").with_metadata(annotations=CHOSEN), device(of=ref(claim("other")))
)
FAR = device("egpu-far", node="")
LOST = member(claim("eval", named="egpu-x", completed=True).with_status(phase="Lost"))
TOGETHER = [
    Row(
        "both",
        with_pods([ONE, TWO], PAIR),
        Place("node-a", (new("node-a", ONE), new("node-a", TWO, 20))),
    ),
    Row(
        "both-at-once",
        with_pods([member(TRAIN, waits=False), member(EVAL, waits=False)]),
        Place(
            "node-a",
            (
                new("node-a", member(TRAIN, waits=False)),
                new("node-a", member(EVAL, waits=False), 20),
            ),
        ),
    ),
    Row(
        "one-of-them-waits-for-a-pod",
        with_pods([member(TRAIN, waits=False), TWO]),
        WAITING,
    ),
    Row(
        "no-node-holds-both",
        with_pods([member(TRAIN, nodes=cards(a=25, b=15)), TWO], PAIR),
        Wait(
            "NoCapacity",
            "no node can give eval, train together; looked at 2: "
            "node-b (eval: card-b: 15% of 100% core free, 20% wanted); "
            "node-a (train: card-a: 5% of 100% core free, 10% wanted)",
        ),
    ),
    Row(
        "one-is-there",
        with_pods([ONE, bound(EVAL, "node-b")], PAIR),
        Place("node-b", (new("node-b", ONE),)),
    ),
    Row(
        "one-is-there-and-has-no-room",
        with_pods([member(TRAIN, nodes=cards(a=100, b=5)), bound(EVAL, "node-b")], PAIR),
        Wait(
            "NoCapacity",
            "no node can give 10% core and 10Gi memory; looked at 2: "
            "node-b (card-b: 5% of 100% core free, 10% wanted); node-a (eval is on node-b)",
        ),
    ),
    Row(
        "a-remote-one-is-there",
        with_pods([ONE, bound(EVAL, "")], PAIR),
        Place("node-a", (new("node-a", ONE),)),
    ),
    Row(
        "two-are-there-and-apart",
        with_pods([ONE, bound(EVAL, "node-b"), bound(claim("test"), "node-a")], PAIR),
        Wait(
            "Apart",
            "its company is on different nodes (test on node-a, eval on node-b): "
            "nothing can join all",
        ),
    ),
    Row(
        "one-was-locked-before-a-crash",
        with_pods([ONE, member(EVAL, locked(EVAL, "node-b"))], PAIR),
        Place("node-b", (new("node-b", ONE),)),
    ),
    Row(
        "the-locked-one-waits-for-the-other",
        with_pods([member(EVAL, locked(EVAL, "node-b")), ONE], PAIR),
        Place("node-b", (new("node-b", ONE),)),
    ),
    Row(
        "both-are-locked",
        with_pods([member(TRAIN, locked(TRAIN)), member(EVAL, locked(EVAL))], PAIR),
        Bind(locked(TRAIN)),
    ),
    Row(
        "the-other-is-bound-already",
        with_pods([member(TRAIN, locked(TRAIN)), bound(EVAL)], PAIR),
        Bind(locked(TRAIN)),
    ),
    Row(
        "the-locked-one-cannot-be-joined",
        with_pods([member(TRAIN, nodes=cards(a=100, b=5)), member(EVAL, locked(EVAL, "node-b"))]),
        GiveUp((locked(EVAL, "node-b"),), "its device is chosen when the first pod uses it"),
    ),
    Row(
        "no-room-beside-the-locked-one",
        with_pods(
            [member(TRAIN, nodes=cards(a=100, b=5)), member(EVAL, locked(EVAL, "node-b"))], PAIR
        ),
        GiveUp(
            (locked(EVAL, "node-b"),),
            "no node can give 10% core and 10Gi memory; looked at 2: "
            "node-b (card-b: 5% of 100% core free, 10% wanted); node-a (eval is on node-b)",
        ),
    ),
    Row(
        "the-other-is-being-created",
        with_pods([ONE, member(EVAL, creating=locked(EVAL))], PAIR),
        Later(),
    ),
    Row(
        "the-other-is-being-made",
        with_pods([member(TRAIN, locked(TRAIN)), member(EVAL, in_progress=True)], PAIR),
        Later(),
    ),
    Row(
        "the-other-is-reserved-for-it",
        with_pods([ONE, member(EVAL, device(core=20, node="node-b", of=ref(EVAL, uid="")))], PAIR),
        Place("node-b", (new("node-b", ONE),)),
    ),
    Row(
        "the-other-is-missing",
        with_pods([ONE], PAIR, absent=("ElasticGPUClaim eval does not exist",)),
        Wait(
            "CompanyMissing",
            "it waits for its company: ElasticGPUClaim eval does not exist",
            event="Normal",
        ),
    ),
    Row(
        "the-other-went-missing",
        with_pods([member(TRAIN, locked(TRAIN))], PAIR, absent=("ElasticGPUClaim eval is gone",)),
        GiveUp((locked(TRAIN),), "it waits for its company: ElasticGPUClaim eval is gone"),
    ),
    Row(
        "the-other-asks-for-nonsense",
        with_pods([ONE, member(claim("eval", core=0))], PAIR),
        Wait(
            "CompanyWaits",
            "it goes with eval, which waits: elasticgpu.io/gpu-core is 0: ask for more than "
            "nothing",
        ),
    ),
    Row(
        "the-other-is-lost",
        with_pods([ONE, LOST], PAIR),
        Wait("CompanyWaits", "it goes with eval, which waits: ElasticGPU egpu-x is gone"),
    ),
    Row(
        "the-others-device-is-being-taken",
        with_pods([ONE, STOLEN], PAIR),
        Wait(
            "CompanyWaits",
            "it goes with eval, which waits: ElasticGPU egpu-a belongs to team/other",
        ),
    ),
    Row(
        "a-remote-one-for-one-of-them",
        with_pods([member(TRAIN, FAR, nodes=cards(a=5)), member(EVAL, nodes=cards(a=5))], PAIR),
        Wait(
            "NoCapacity",
            "no node can give eval, train together; looked at 2: "
            "node-a (eval: card-a: 5% of 100% core free, 20% wanted); "
            "without a node (eval: no free device fits, and it has no cards)",
        ),
    ),
    Row(
        "the-other-is-being-deleted",
        with_pods([ONE, member(claim("eval", terminating=True))], PAIR),
        Wait("CompanyWaits", "it goes with eval, which waits: it is being deleted"),
    ),
    Row(
        "the-other-has-no-class",
        with_pods([ONE, member(EVAL, class_name="x", gpu_class=None, classes=("gold",))], PAIR),
        Wait(
            "CompanyWaits",
            "it goes with eval, which waits: there is no ElasticGPUClass x; known classes: gold",
        ),
    ),
    Row(
        "a-node-excluded-for-the-other",
        with_pods([ONE, member(excluded(EVAL, "node-a"))], PAIR),
        Place(
            "node-b",
            (new("node-b", ONE), new("node-b", member(excluded(EVAL, "node-a")), 20)),
        ),
    ),
    Row(
        "lost-itself", with_pods([LOST, ONE], PAIR), Lost("DeviceLost", "ElasticGPU egpu-x is gone")
    ),
]


@pytest.mark.parametrize(
    ("view", "want"), [pytest.param(row.view, row.want, id=row.id) for row in [*FIRST, *TOGETHER]]
)
def test_decision(view: CompanyView, want: CompanyDecision) -> None:
    """Each company leads to exactly this decision about its first claim."""
    assert _plain(company.decide(view)) == _plain(want)


def _plain(decision: CompanyDecision) -> object:
    """Views hold functions, which compare by identity: the claim says which part it is."""
    if isinstance(decision, Place):
        return (decision.node, [(one.view.claim.name, one.what) for one in decision.parts])
    return decision


def test_a_refusal_is_the_claims_own_word() -> None:
    """What a provisioner refuses while it places is said in its own words, and releases locks."""

    class Picky(Share):
        def place(self, want: Demand, node: NodeView) -> Slice | None:
            raise Refused("only on Sundays")

    picky = member(TRAIN, placer=Picky())
    assert company.decide(with_pods([picky], POD)) == Wait("Refused", "only on Sundays")
    view = with_pods([picky, member(EVAL, locked(EVAL))], PAIR)
    assert company.decide(view) == GiveUp((locked(EVAL),), "only on Sundays")


def test_what_a_person_reserved_is_not_given_up() -> None:
    """A lock that completes a person's reservation is no half of ours: it binds at once."""
    mine = device(of=ref(TRAIN), node="node-b")
    view = with_pods([member(TRAIN, mine), TWO], PAIR)
    assert company.decide(view) == Bind(mine)


@given(
    st.lists(st.sampled_from(["seeks", "locked", "bound"]), min_size=2, max_size=4),
    st.integers(0, 100),
    st.integers(0, 100),
    st.booleans(),
)
def test_no_bind_goes_on_while_another_seeks(
    standings: list[str], room_a: int, room_b: int, has_pod: bool
) -> None:
    """Whoever is asked first: a lock is gone on from only once all have theirs; while one seeks,
    either all that seek are placed beside the others, or the locks are given up."""
    names = [f"claim-{n}" for n in range(len(standings))]
    fleet = cards(a=room_a, b=room_b)
    members = [
        {
            "seeks": member(claim(name, core=30), nodes=fleet),
            "locked": member(claim(name), locked(claim(name)), nodes=fleet),
            "bound": bound(claim(name)),
        }[standing]
        for name, standing in zip(names, standings, strict=True)
    ]
    pods = [pod(claims=names)] if has_pod else []
    for n, standing in enumerate(standings):
        turned = [*members[n:], *members[:n]]
        found = company.decide(with_pods(turned, *pods))
        if standing == "bound":
            assert found == Settled()
        elif "seeks" not in standings:
            assert found == Bind(locked(claim(names[n])))
        elif isinstance(found, Place):
            placed = {one.view.claim.name for one in found.parts}
            assert has_pod
            assert placed == {m for m, s in zip(names, standings, strict=True) if s == "seeks"}
            assert found.node == "node-a" or set(standings) == {"seeks"}
            assert len(placed) * 30 <= {"node-a": room_a, "node-b": room_b}[found.node]
        elif "locked" in standings:
            assert isinstance(found, GiveUp)
            assert len(found.devices) == standings.count("locked")
        else:
            assert isinstance(found, Wait)
