"""Claims that name nothing, and devices that are there."""

from __future__ import annotations

from elasticgpu.api.claim import LabelSelector
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.rules.decisions import Bind
from tests.rules.build import Share, claim, device, gpu_class, seen

from .worlds import (
    LARGE,
    MINE,
    MY_NAME,
    NO_CLASS,
    NO_CLASS_WAITS,
    SMALL,
    STRANGER,
    TRAIN,
    Row,
    rows,
)


def labelled(name: str, **labels: str) -> ElasticGPU:
    return device(name, labels=labels)


def sized(name: str, memory: str) -> ElasticGPU:
    return device(name, core=10, memory=memory, parts=[])


STATIC = rows(
    Row("01-one-fit", seen(TRAIN, SMALL), Bind(SMALL)),
    Row(
        "02-only-smaller-ones",
        seen(TRAIN, device(core=5), device(memory="5Gi"), **NO_CLASS),
        NO_CLASS_WAITS,
    ),
    Row(
        "03-phase-without-the-bind",
        seen(TRAIN.with_status(phase="Bound"), **NO_CLASS),
        NO_CLASS_WAITS,
    ),
    Row("04-the-smaller-of-two", seen(TRAIN, LARGE, SMALL), Bind(SMALL)),
    Row(
        "05-reserved-before-smaller",
        seen(TRAIN, SMALL, device(core=20, of=MY_NAME)),
        Bind(device(core=20, of=MY_NAME)),
    ),
    Row(
        "05-reserved-in-another-class",
        seen(TRAIN, SMALL, device(class_name="silver", of=MY_NAME)),
        Bind(device(class_name="silver", of=MY_NAME)),
    ),
    Row(
        "06-reserved-for-an-earlier-claim",
        seen(TRAIN, SMALL, device("egpu-0", of=STRANGER)),
        Bind(SMALL),
    ),
    Row(
        "07-first-write-done",
        seen(TRAIN, SMALL, device(core=90, of=MINE)),
        Bind(device(core=90, of=MINE)),
    ),
    Row(
        "08-second-write-done",
        seen(TRAIN, SMALL, device(core=90, of=MINE, phase="Bound")),
        Bind(device(core=90, of=MINE, phase="Bound")),
    ),
    Row(
        "10-labels-match",
        seen(
            claim(selector=LabelSelector(match_labels={"a": "b"})),
            labelled("egpu-0", a="c"),
            labelled("egpu-1", a="b"),
        ),
        Bind(labelled("egpu-1", a="b")),
    ),
    Row(
        "10-labels-differ",
        seen(
            claim(selector=LabelSelector(match_labels={"a": "b"})), labelled("egpu-0"), **NO_CLASS
        ),
        NO_CLASS_WAITS,
    ),
    Row(
        "11-no-phase-but-available",
        seen(
            TRAIN,
            device("egpu-0", phase=""),
            device("egpu-1", phase="Pending"),
            device("egpu-2", phase="Failed"),
            device("egpu-3", phase="Released"),
            device("egpu-4", phase="Bound"),
            **NO_CLASS,
        ),
        NO_CLASS_WAITS,
    ),
    Row("12-deleting", seen(TRAIN, device("egpu-0", terminating=True), LARGE), Bind(LARGE)),
    Row(
        "12-deleting-and-reserved",
        seen(TRAIN, device("egpu-0", terminating=True, of=MY_NAME), LARGE),
        Bind(LARGE),
    ),
    Row(
        "13-gold-before-a-smaller-classless",
        seen(TRAIN, LARGE, device(class_name="")),
        Bind(LARGE),
    ),
    Row(
        "13-classless-before-a-smaller-gold",
        seen(TRAIN, SMALL, device(core=50, class_name=""), class_name=None),
        Bind(device(core=50, class_name="")),
    ),
    Row(
        "14-class-empty",
        seen(TRAIN, device(class_name=""), class_name=""),
        Bind(device(class_name="")),
    ),
    Row(
        "15-reserved-too-small",
        seen(TRAIN, SMALL, device("egpu-0", core=5, of=MY_NAME)),
        Bind(SMALL),
    ),
    Row(
        "16-beyond-64-bits",
        seen(claim(memory="10E"), sized("a", "20E"), sized("b", "16E"), sized("c", "9E")),
        Bind(sized("b", "16E")),
    ),
    Row(
        "16-beyond-the-precision-of-floats",
        seen(
            claim(memory="10E"),
            sized("a", "20000000000000000001"),
            sized("b", "20000000000000000000"),
        ),
        Bind(sized("b", "20000000000000000000")),
    ),
    Row(
        "44-a-fit-before-a-new-one",
        seen(TRAIN, LARGE, gpu_class=gpu_class(), placer=Share(), nodes=()),
        Bind(LARGE),
    ),
)
