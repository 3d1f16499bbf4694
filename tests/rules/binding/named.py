"""Claims that name their device."""

from __future__ import annotations

from elasticgpu.api.claim import GPUSelector, LabelSelector
from elasticgpu.api.names import BOUND_BY_CONTROLLER
from elasticgpu.rules.decisions import Bind, Contradiction, Wait
from tests.rules.build import claim, device, ref, seen

from .worlds import MINE, MISSING, MY_NAME, NAMES_A, OTHER, PENDING, SMALL, STRANGER, Row, rows


def waits(reason: str, said: str) -> Wait:
    return Wait(reason, f"ElasticGPU egpu-a {said}")


NAMED = rows(
    Row(
        "17-absent",
        seen(NAMES_A, SMALL),
        MISSING,
    ),
    Row(
        "18-free-though-a-smaller-fits",
        seen(NAMES_A, SMALL, device(core=50)),
        Bind(device(core=50)),
    ),
    Row("19-each-other-by-name", seen(NAMES_A, device(of=MY_NAME)), Bind(device(of=MY_NAME))),
    Row("19-each-other-by-uid", seen(NAMES_A, device(of=MINE)), Bind(device(of=MINE))),
    Row(
        "20-owned-by-another",
        seen(NAMES_A, device(of=OTHER)),
        waits("DeviceTaken", "belongs to team/other"),
    ),
    Row(
        "20-owned-by-an-earlier-claim",
        seen(NAMES_A, device(of=STRANGER)),
        waits("DeviceTaken", "belongs to team/train"),
    ),
    Row(
        "20-reserved-for-another",
        seen(NAMES_A, device(of=ref(claim("other"), uid=""))),
        waits("DeviceTaken", "is reserved for team/other"),
    ),
    Row(
        "21-owned-by-another-and-marked",
        seen(NAMES_A.with_metadata(annotations={BOUND_BY_CONTROLLER: "yes"}), device(of=OTHER)),
        Contradiction("ElasticGPU egpu-a belongs to team/other"),
    ),
    Row(
        "22-selector-does-not-matter",
        seen(
            claim(
                named="egpu-a",
                selector=LabelSelector(match_labels={"a": "b"}),
                gpu_selector=GPUSelector(model="B200"),
            ),
            device(),
        ),
        Bind(device()),
    ),
    Row(
        "23-too-little-core",
        seen(NAMES_A, device(core=5)),
        waits("DeviceMismatch", "has 5% core, not 10%"),
    ),
    Row(
        "23-other-class",
        seen(NAMES_A, device(class_name="silver")),
        waits("DeviceMismatch", "is of class 'silver', not 'gold'"),
    ),
    Row(
        "23-classless-claim-and-gold-device",
        seen(NAMES_A, device(), class_name=None),
        waits("DeviceMismatch", "is of class 'gold', not ''"),
    ),
    Row(
        "12-deleting",
        seen(NAMES_A, device(terminating=True)),
        waits("DeviceMismatch", "is being deleted"),
    ),
    Row(
        "11-not-available",
        seen(NAMES_A, device(phase="Released")),
        waits("DeviceMismatch", "is Released, not Available"),
    ),
    Row(
        "11-not-admitted-yet",
        seen(NAMES_A, device(phase="")),
        PENDING,
    ),
)
