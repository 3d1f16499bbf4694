"""Claims that are placed together, or not at all."""

from __future__ import annotations

from elasticgpu.rules.company import GiveUp, Later
from elasticgpu.rules.decisions import Bind, Lost, Wait
from elasticgpu.rules.seeking import Place
from tests.rules.build import claim, device, pod, ref

from .first import WAITING
from .members import (
    CHOSEN,
    EVAL,
    ONE,
    TRAIN,
    TWO,
    Row,
    bound,
    cards,
    excluded,
    locked,
    member,
    new,
    with_pods,
)

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
