"""Claims that no device serves: one is made, or they are told why not."""

from __future__ import annotations

from elasticgpu.api.claim import GPUSelector
from elasticgpu.api.gpuclass import Placement
from elasticgpu.rules.decisions import Bind, Create, Provision, Wait
from elasticgpu.rules.fitting import Candidate
from elasticgpu.rules.fleet import NodeView
from elasticgpu.rules.ledger import Slice
from tests.rules.build import GI, card, claim, device, free, gpu_class, part, seen

from .worlds import (
    GOLD,
    HALF,
    HERE,
    MINE,
    NO_CLASS,
    NO_CLASS_WAITS,
    RELEASED,
    SMALL,
    TRAIN,
    WANT,
    Row,
    rows,
)

DYNAMIC = rows(
    Row("42-a-new-one", seen(TRAIN, **GOLD), Provision(gpu_class(), WANT, "node-a", HERE)),
    Row(
        "42-a-new-one-beside-unfit-ones",
        seen(TRAIN, device(core=5), device("egpu-b", phase="Released"), **GOLD),
        Provision(gpu_class(), WANT, "node-a", HERE),
    ),
    Row(
        "43-no-such-class",
        seen(TRAIN, classes=("silver",)),
        Wait("UnknownClass", "there is no ElasticGPUClass gold; known classes: silver"),
    ),
    Row(
        "43-no-class-at-all",
        seen(TRAIN),
        Wait(
            "UnknownClass",
            "there is no ElasticGPUClass gold; there are no classes: create one",
        ),
    ),
    Row(
        "43-eight-classes-are-enough",
        seen(TRAIN, classes=tuple("abcdefghij")),
        Wait(
            "UnknownClass",
            "there is no ElasticGPUClass gold; known classes: a, b, c, d, e, f, g, h and 2 more",
        ),
    ),
    Row(
        "43-provisioner-not-installed",
        seen(TRAIN, **{**GOLD, "placer": None, "provisioners": ("x.io/mps", "x.io/whole")}),
        Wait(
            "NoProvisioner",
            "class gold wants provisioner example.com/share, which is not installed; "
            "installed: x.io/mps, x.io/whole",
        ),
    ),
    Row(
        "43-no-provisioner-installed",
        seen(TRAIN, **{**GOLD, "placer": None, "provisioners": ()}),
        Wait(
            "NoProvisioner",
            "class gold wants provisioner example.com/share, which is not installed; "
            "installed: none",
        ),
    ),
    Row(
        "43-parameters-that-are-refused",
        seen(TRAIN, **{**GOLD, "placer": None, "misfit": "parameters of x.io/mps: replicas: no"}),
        Wait(
            "BadParameters",
            "class gold cannot serve: parameters of x.io/mps: replicas: no; "
            "classes are fixed: make another one",
        ),
    ),
    Row(
        "43-no-room",
        seen(claim(core=60), **GOLD),
        Wait(
            "NoCapacity",
            "no card can give 60% core and 10Gi memory; looked at 1: "
            "card-0 (50% of 100% core free, 60% wanted)",
        ),
    ),
    Row(
        "43-no-room-but-released-devices",
        seen(claim(core=60), released=(Candidate(RELEASED, (card(),)),), **GOLD),
        Wait(
            "NoCapacity",
            "no card can give 60% core and 10Gi memory; "
            "1 Released device holds 50% core and 10Gi memory; "
            "`elasticgpu release --delete egpu-a` makes room; "
            "looked at 1: card-0 (50% of 100% core free, 60% wanted)",
        ),
    ),
    Row(
        "43-no-cards",
        seen(TRAIN, **{**GOLD, "nodes": ()}),
        Wait(
            "NoCapacity",
            "no card can give 10% core and 10Gi memory: the cluster has no GPU objects",
        ),
    ),
    Row(
        "48-class-empty",
        seen(TRAIN, **{**GOLD, "class_name": "", "gpu_class": None}),
        Wait(
            "NoDevice",
            "no ElasticGPU without a class fits it; none is made for class ''",
            event="Normal",
        ),
    ),
    Row(
        "48-class-empty-and-a-released-device",
        seen(
            TRAIN,
            class_name="",
            released=(Candidate(RELEASED.but(spec=RELEASED.spec.but(elastic_gpu_class_name=""))),),
        ),
        Wait(
            "NoDevice",
            "no ElasticGPU without a class fits it; none is made for class ''; "
            "1 Released device holds 50% core and 10Gi memory; "
            "`elasticgpu release egpu-a` gives it one",
            event="Normal",
        ),
    ),
    Row("48-no-class", seen(TRAIN, **{**GOLD, **NO_CLASS}), NO_CLASS_WAITS),
    Row(
        "48-no-class-anywhere",
        seen(TRAIN, class_name=None),
        Wait(
            "NoClass",
            "it names no class and none is the default; there are no classes: create one",
            event="Normal",
        ),
    ),
    Row(
        "51-a-default-appeared",
        seen(TRAIN, **{**GOLD, "class_name": "gold"}),
        Provision(gpu_class(), WANT, "node-a", HERE),
    ),
    Row(
        "create-was-not-answered",
        seen(TRAIN, SMALL, creating=device("egpu-uid", of=MINE), **GOLD),
        Create(device("egpu-uid", of=MINE)),
    ),
    Row(
        "create-came-true",
        seen(TRAIN, SMALL, device("egpu-uid", of=MINE), creating=device("egpu-uid", of=MINE)),
        Bind(device("egpu-uid", of=MINE)),
    ),
    Row(
        "the-card-selector-narrows",
        seen(claim(gpu_selector=GPUSelector(node_name="node-b")), **GOLD),
        Wait(
            "NoCapacity",
            "no card can give 10% core and 10Gi memory; looked at 1: "
            "card-0 (node is node-a, not node-b)",
        ),
    ),
    Row(
        "the-class-orders",
        seen(
            TRAIN,
            **{
                **GOLD,
                "gpu_class": gpu_class(placement=Placement(node="spread")),
                "nodes": (HALF, NodeView("node-b", (free(card("card-1", "node-b")),))),
            },
        ),
        Provision(
            gpu_class(placement=Placement(node="spread")),
            WANT,
            "node-b",
            Slice((part("card-1", 10, 10 * GI),)),
        ),
    ),
)
