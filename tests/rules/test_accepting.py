"""What the conditions of a class say, and that nothing is written twice."""

from __future__ import annotations

import pytest

from elasticgpu.api.gpuclass import ClassSpec, ElasticGPUClass
from elasticgpu.api.meta import Condition, ObjectMeta, find_condition
from elasticgpu.rules.accepting import PARAMETERS_ACCEPTED, VERIFIED, ClassView, Say, judge

from .build import NOW

GOLD = ElasticGPUClass(
    metadata=ObjectMeta(name="gold", generation=3), spec=ClassSpec(provisioner="x.io/mps")
)
INSTALLED = ("x.io/mig", "x.io/mps")
BAD = "parameters of x.io/mps: replicas: not a number"
MISSING = "provisioner x.io/mps is not installed; installed: "
NEVER = "provisioner x.io/mps has never been seen to work on hardware"

ROWS: list[tuple[str, ClassView, tuple[str, str, str], tuple[str, str, str], str]] = [
    (
        "taken",
        ClassView(GOLD, INSTALLED, verified=True),
        ("True", "Accepted", ""),
        ("True", "SeenOnHardware", ""),
        "",
    ),
    (
        "taken-and-never-tried",
        ClassView(GOLD, INSTALLED, verified=False),
        ("True", "Accepted", ""),
        ("False", "NeverSeenOnHardware", NEVER),
        "",
    ),
    (
        "refused",
        ClassView(GOLD, INSTALLED, BAD, verified=False),
        ("False", "BadParameters", BAD),
        ("False", "NeverSeenOnHardware", NEVER),
        BAD,
    ),
    (
        "not-installed",
        ClassView(GOLD, ("x.io/mig", "x.io/qgpu")),
        ("Unknown", "NoProvisioner", f"{MISSING}x.io/mig, x.io/qgpu"),
        ("Unknown", "NoProvisioner", ""),
        "",
    ),
    (
        "none-installed",
        ClassView(GOLD, ()),
        ("Unknown", "NoProvisioner", f"{MISSING}none"),
        ("Unknown", "NoProvisioner", ""),
        "",
    ),
]


@pytest.mark.parametrize(
    ("view", "accepted", "verified", "warning"), [pytest.param(*row, id=i) for i, *row in ROWS]
)
def test_conditions(
    view: ClassView, accepted: tuple[str, str, str], verified: tuple[str, str, str], warning: str
) -> None:
    """Both are said of every class, of the generation that was looked at."""
    said = judge(view)
    assert said is not None
    assert said.warning == warning
    assert {one.observed_generation for one in said.conditions} == {3}
    for kind, (status, reason, message) in (
        (PARAMETERS_ACCEPTED, accepted),
        (VERIFIED, verified),
    ):
        found = find_condition(said.conditions, kind)
        assert found is not None
        assert (found.status, found.reason) == (status, reason)
        assert found.message.startswith(message)
        assert bool(found.message) == bool(message)


@pytest.mark.parametrize("view", [pytest.param(row[1], id=row[0]) for row in ROWS])
def test_nothing_is_said_twice(view: ClassView) -> None:
    """What the class says already is not written again, since whenever it says so."""
    assert judge(_told(view)) is None


def test_what_changed_is_said() -> None:
    """A reason, a sentence or a generation that is not today's is written anew."""
    told = _told(ClassView(GOLD, INSTALLED, BAD, verified=False))
    for now in (
        ClassView(told.gpu_class, INSTALLED, "parameters of x.io/mps: replicas: 0", verified=False),
        ClassView(told.gpu_class, INSTALLED, BAD, verified=True),
        ClassView(told.gpu_class.with_metadata(generation=4), INSTALLED, BAD, verified=False),
    ):
        assert isinstance(judge(now), Say)


def _told(view: ClassView) -> ClassView:
    """The same, once it was said, beside what others say of the class."""
    said = judge(view)
    assert said is not None
    conditions = [one.but(last_transition_time=NOW) for one in said.conditions]
    other = Condition(type="Other", status="True")
    status = GOLD.status.but(conditions=[other, *conditions])
    return ClassView(GOLD.but(status=status), view.provisioners, view.misfit, view.verified)
