"""Claims that were bound once, or say so."""

from __future__ import annotations

from elasticgpu.api.claim import LabelSelector
from elasticgpu.rules.decisions import Bind, Lost, Settled, Wait
from tests.rules.build import claim, device, seen

from .worlds import BOUND, MINE, MISSING, MY_NAME, OTHER, PENDING, STRANGER, TRAIN, Row, rows

LEAVING = claim(named="egpu-a", completed=True, terminating=True).with_status(phase="Bound")
"""It is being deleted, and a pod keeps it."""

COMPLETED = rows(
    Row("24-device-gone", seen(BOUND), Lost("DeviceLost", "ElasticGPU egpu-a is gone")),
    Row(
        "24-pointer-emptied",
        seen(claim(completed=True).with_status(phase="Bound"), device(of=MINE)),
        Lost("DeviceLost", "ElasticGPU (none named) is gone"),
    ),
    Row(
        "forged-completed-and-not-admitted",
        seen(claim(named="egpu-a", completed=True), device(phase="")),
        PENDING,
    ),
    Row(
        "forged-completed-and-another-class",
        seen(claim(named="egpu-a", completed=True), device(class_name="silver")),
        Wait("DeviceMismatch", "ElasticGPU egpu-a is of class 'silver', not 'gold'"),
    ),
    Row(
        "forged-completed-and-no-device",
        seen(claim(named="egpu-a", completed=True)),
        MISSING,
    ),
    Row(
        "an-admins-with-uid-not-admitted",
        seen(TRAIN, device(phase="Pending", of=MINE)),
        PENDING,
    ),
    Row(
        "half-bound-and-being-deleted",
        seen(TRAIN, device(of=MINE, terminating=True)),
        Wait("DeviceTerminating", "ElasticGPU egpu-a is being deleted: waiting for its end"),
    ),
    Row(
        "half-bound-and-failed",
        seen(TRAIN, device(of=MINE, phase="Failed")),
        Wait("DeviceFailed", "ElasticGPU egpu-a is Failed: no reason"),
    ),
    Row("25-claimref-gone-and-not-admitted", seen(BOUND, device(phase="Pending")), PENDING),
    Row(
        "25-claimref-gone-and-being-deleted",
        seen(BOUND, device(phase="Bound", terminating=True)),
        Bind(device(phase="Bound", terminating=True)),
    ),
    Row(
        "28-back-and-being-deleted",
        seen(BOUND, device(terminating=True)),
        Lost("DeviceLost", "ElasticGPU egpu-a is being deleted"),
    ),
    Row(
        "28-lost-and-back-and-being-deleted",
        seen(BOUND.with_status(phase="Lost"), device(phase="Bound", terminating=True)),
        Lost("DeviceLost", "ElasticGPU egpu-a is being deleted"),
    ),
    Row(
        "25-claimref-gone-and-selector-differs",
        seen(
            BOUND.but(spec=BOUND.spec.but(selector=LabelSelector(match_labels={"a": "b"}))),
            device(),
        ),
        Bind(device()),
    ),
    Row(
        "25-claimref-gone-and-nothing-else",
        seen(BOUND, device(phase="Bound")),
        Bind(device(phase="Bound")),
    ),
    Row("25-phase-gone", seen(BOUND, device(of=MINE)), Bind(device(of=MINE))),
    Row(
        "26-another-uid",
        seen(BOUND, device(of=STRANGER, phase="Bound")),
        Lost("Misbound", "ElasticGPU egpu-a belongs to team/train"),
    ),
    Row(
        "26-another-claim",
        seen(BOUND, device(of=OTHER, phase="Bound")),
        Lost("Misbound", "ElasticGPU egpu-a belongs to team/other"),
    ),
    Row(
        "26-misbound-says-more-than-failed",
        seen(BOUND, device(of=OTHER, phase="Failed")),
        Lost("Misbound", "ElasticGPU egpu-a belongs to team/other"),
    ),
    Row(
        "26-no-uid",
        seen(BOUND, device(of=MY_NAME, phase="Bound")),
        Lost("Misbound", "ElasticGPU egpu-a belongs to team/train"),
    ),
    Row("27-bound", seen(BOUND, device(of=MINE, phase="Bound")), Settled()),
    Row(
        "28-lost-and-back",
        seen(BOUND.with_status(phase="Lost"), device()),
        Bind(device()),
    ),
    Row(
        "28-lost-and-back-with-uid",
        seen(BOUND.with_status(phase="Lost"), device(of=MINE, phase="Bound")),
        Bind(device(of=MINE, phase="Bound")),
    ),
    Row(
        "09-third-write-done",
        seen(BOUND.with_status(phase="Pending"), device(of=MINE, phase="Bound")),
        Bind(device(of=MINE, phase="Bound")),
    ),
    Row("leaving-and-bound", seen(LEAVING, device(of=MINE, phase="Bound")), Settled()),
    Row(
        "leaving-24-device-gone",
        seen(LEAVING),
        Lost("DeviceLost", "ElasticGPU egpu-a is gone"),
    ),
    Row(
        "leaving-25-claimref-gone",
        seen(LEAVING, device(phase="Bound")),
        Bind(device(phase="Bound")),
    ),
    Row(
        "leaving-26-another-uid",
        seen(LEAVING, device(of=OTHER, phase="Bound")),
        Lost("Misbound", "ElasticGPU egpu-a belongs to team/other"),
    ),
    Row(
        "leaving-and-given-up",
        seen(LEAVING, device(of=MINE, phase="Released").with_status(reason="Withdrawn")),
        Settled(),
    ),
    Row(
        "leaving-28-lost-and-back",
        seen(LEAVING.with_status(phase="Lost"), device()),
        Settled(),
    ),
    Row(
        "failed-on-its-node",
        seen(BOUND, device(of=MINE, phase="Failed").with_status(message="its card is full")),
        Lost("DeviceFailed", "ElasticGPU egpu-a: its card is full"),
    ),
)
