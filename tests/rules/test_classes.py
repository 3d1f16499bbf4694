"""Which class a claim has: its own, or the newest default. Numbers as in PersistentVolume tests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.names import DEFAULT_CLASS_ANNOTATION
from elasticgpu.rules.classes import in_effect, waits_for_pod

from .build import LATER, NOW, claim, gpu_class


def default(name: str, created: str = NOW, *, says: str = "true") -> ElasticGPUClass:
    marks = {DEFAULT_CLASS_ANNOTATION: says}
    return gpu_class(name).with_metadata(annotations=marks, creation_timestamp=created)


OLD, NEW = default("old"), default("new", LATER)
GOING = default("going", LATER).with_metadata(deletion_timestamp=LATER)
ROWS: list[tuple[str, str | None, list[ElasticGPUClass], str | None]] = [
    ("51-none", None, [gpu_class()], None),
    ("51-one", None, [gpu_class(), OLD], "old"),
    ("51-the-newest", None, [NEW, OLD], "new"),
    ("51-equally-new", None, [default("b"), default("a")], "a"),
    ("51-named", "gold", [OLD], "gold"),
    ("51-named-and-missing", "silver", [OLD], "silver"),
    ("51-wants-none", "", [OLD], ""),
    ("being-deleted", None, [OLD, GOING], "old"),
    ("marked-otherwise", None, [default("x", says="yes")], None),
]


@pytest.mark.parametrize(
    ("named", "classes", "want"), [pytest.param(n, c, w, id=i) for i, n, c, w in ROWS]
)
def test_in_effect(named: str | None, classes: list[ElasticGPUClass], want: str | None) -> None:
    """What the claim says goes before any default, the empty name included."""
    assert in_effect(claim(elastic_gpu_class_name=named), classes) == want


def test_under_its_other_name() -> None:
    """The class is named by either field."""
    assert in_effect(claim(storage_class_name="gold"), [OLD]) == "gold"


@given(st.permutations([OLD, NEW, default("a", LATER), gpu_class("gold")]))
def test_in_any_order(classes: list[ElasticGPUClass]) -> None:
    """The newest, then the first by name, however they were listed."""
    assert in_effect(claim(), classes) == "a"


def test_waits_for_pod() -> None:
    """Only a class that exists, and says so."""
    waits = gpu_class(egpu_binding_mode="WaitForFirstConsumer")
    assert [waits_for_pod(one) for one in (None, gpu_class(), waits)] == [False, False, True]
