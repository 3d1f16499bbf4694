"""Claims alone: they wait for their first pod, and go where that may run."""

from __future__ import annotations

from dataclasses import replace

from elasticgpu.api.gpuclass import Topology
from elasticgpu.rules.company import Forget
from elasticgpu.rules.decisions import Bind, Create, Settled, Wait
from elasticgpu.rules.seeking import Place, StartAnew
from tests.rules.build import claim, device, gpu_class, ref

from .members import (
    AT_ONCE,
    FITS_B,
    NEITHER,
    ONE,
    POD,
    SMALL_A,
    TRAIN,
    Row,
    asking,
    excluded,
    locked,
    member,
    new,
    node,
    old,
    with_pods,
)

GATED = POD.but(spec=POD.spec.but(scheduling_gates=[{"name": "later"}]))
ON_B = POD.but(spec=POD.spec.but(node_name="node-b"))
WANTS_B = POD.but(spec=POD.spec.but(node_selector={"site": "b"}))
TAGGED = {"node-a": node("node-a"), "node-b": node("node-b", site="b")}
BUSY = {"node-a": node("node-a", cpu="1"), "node-b": node("node-b", cpu="2")}
NOT_A = member(excluded(TRAIN, "node-a"))
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
