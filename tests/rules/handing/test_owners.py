"""Claims that are made for one pod, and those that only have such a name."""

from __future__ import annotations

import pytest

from elasticgpu.api.meta import OwnerReference
from elasticgpu.api.names import BIND_COMPLETED
from elasticgpu.rules import handing
from elasticgpu.rules.allocation import Allocate
from elasticgpu.rules.entries import entries
from elasticgpu.rules.handing import Say

from .views import FOR_POD, MINE, NOT_ITS_OWN, OWNER, RC, TEMPLATE, behind, looked, of

FORGED: list[tuple[str, list[OwnerReference]]] = [
    ("nobodys", []),
    ("a-jobs", [OWNER.but(kind="Job", name="web", uid="uid-job")]),
]


@pytest.mark.parametrize("owners", [pytest.param(owners, id=name) for name, owners in FORGED])
def test_a_claim_that_only_has_the_name_is_refused(owners: list[OwnerReference]) -> None:
    """A claim called like the one made for this pod, which the pod does not own, is not used."""
    odd = MINE.with_metadata(owner_references=owners)
    assert handing.decide(looked(FOR_POD, behind(odd, RC))) == (Say(NOT_ITS_OWN),)


def test_a_second_owner_does_not_take_the_claim_away() -> None:
    """Whoever else was written into the owners, and wherever: the pod's claim stays its own."""
    other = OWNER.but(kind="App", name="app", uid="uid-app", controller=False)
    both = MINE.with_metadata(owner_references=[other, OWNER])
    assert handing.decide(looked(FOR_POD, behind(both, RC))) == (
        Allocate(RC, both, of(both), reserve=True),
    )


def test_claim_of_a_template() -> None:
    """It carries the template's labels, annotations and spec, and the pod owns it."""
    (entry,) = entries(FOR_POD)
    new = handing.claim_of(FOR_POD, entry, TEMPLATE)
    assert new.key == ("team", "web-0-egpu-0")
    assert (new.metadata.labels, new.metadata.annotations) == ({"a": "b"}, {"c": "d"})
    assert new.spec == TEMPLATE.spec.spec
    assert new.metadata.owner_references == [OWNER]
    assert BIND_COMPLETED not in new.metadata.annotations
