"""Checking: a provisioner's answer against what it was asked for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from elasticgpu.api.elasticgpu import ElasticGPU, ElasticGPUSpec
from elasticgpu.api.meta import OwnerReference
from elasticgpu.api.names import PROVISIONED_BY
from elasticgpu.errors import Refused
from elasticgpu.rules.checking import check, remains

from .build import claim, device, part, ref

ASKED = device("egpu-1", of=ref(claim()), phase="", annotations={PROVISIONED_BY: "p"})
Change = Callable[[ElasticGPU], object]


def spec(**changes: object) -> Callable[[ElasticGPU], ElasticGPU]:
    return lambda d: d.but(spec=d.spec.but(**changes))


def source(**changes: object) -> Callable[[ElasticGPU], ElasticGPU]:
    return lambda d: d.but(spec=d.spec.but(source=d.spec.source.but(**changes)))


def meta(**changes: object) -> Callable[[ElasticGPU], ElasticGPU]:
    return lambda d: d.with_metadata(**changes)


OWNER = OwnerReference(api_version="v1", kind="Pod", name="p", uid="u")
WRONG: list[tuple[str, Change, str]] = [
    ("nothing", lambda _: None, "a NoneType, not an ElasticGPU"),
    ("name", meta(name="egpu-2"), "name is (egpu-2), not (egpu-1)"),
    ("long-name", meta(name="e" * 900), "name is (eee"),
    ("namespace", meta(namespace="team"), "namespace is (team)"),
    ("claim", spec(claim_ref=ref(claim("other"))), "claimRef is ("),
    ("no-claim", spec(claim_ref=None), "claimRef is (None)"),
    ("class", spec(elastic_gpu_class_name="silver"), "class is (silver), not (gold)"),
    ("policy", spec(reclaim_policy="Retain"), "reclaimPolicy is (Retain), not (Delete)"),
    ("node", spec(node_name="node-b"), "nodeName is (node-b), not (node-a)"),
    ("driver", source(driver="q"), "source.driver is (q)"),
    ("other-cards", source(devices=[part("card-1", 10, "10Gi")]), "source.devices is ("),
    ("undersized", source(devices=[part("card-0", 5, "10Gi")]), "source.devices is ("),
    ("capacity", spec(capacity={}), "capacity is ({})"),
    ("finalizers", meta(finalizers=["x"]), "finalizers is (['x']), not ([])"),
    ("owners", meta(owner_references=[OWNER]), "ownerReferences is ("),
    ("status", lambda d: d.with_status(phase="Available"), "status is ("),
    ("handle", source(handle="h" * 300), "source.handle: String should have at most 256"),
    ("attributes", source(attributes={"a": 1}), "attributes.a: Input should be a valid string"),
    ("spec-is-text", lambda d: d.but(spec="x"), "not a valid ElasticGPU: "),
    ("spec-is-a-class", lambda d: d.but(spec=ElasticGPUSpec), "not a valid ElasticGPU: "),
]


@pytest.mark.parametrize(
    ("change", "said"), [pytest.param(change, said, id=name) for name, change, said in WRONG]
)
def test_refused(change: Change, said: str) -> None:
    """What is wrong is said in words, shortly, and with what was asked for."""
    with pytest.raises(Refused) as refused:
        check(change(ASKED), ASKED)
    assert said in refused.value.reason
    assert len(refused.value.reason) < 500


def test_what_may_be_added() -> None:
    """Handle, attributes, labels, annotations; ours among the annotations are not replaced."""
    answer = source(handle="h", attributes={"a": "b"})(ASKED).with_metadata(
        labels={"l": "1"}, annotations={"n": "2", PROVISIONED_BY: "q"}
    )
    stored = check(answer, ASKED)
    assert stored.spec.source == answer.spec.source
    assert stored.metadata.labels == {"l": "1"}
    assert stored.metadata.annotations == {"n": "2", PROVISIONED_BY: "p"}
    assert check(ASKED, ASKED) == ASKED


REMAINS: list[tuple[str, Change, str]] = [
    ("its-own-handle", source(handle="h", driver=ASKED.spec.source.driver), "h"),
    ("of-a-wrong-name", lambda d: source(handle="h")(meta(name="egpu-2")(d)), "h"),
    ("of-another-driver", source(handle="h", driver="q"), ASKED.spec.source.handle),
    ("unreadable", lambda d: d.but(spec="x"), ASKED.spec.source.handle),
    ("none", lambda _: None, ASKED.spec.source.handle),
]


@pytest.mark.parametrize(
    ("change", "handle"),
    [pytest.param(change, handle, id=name) for name, change, handle in REMAINS],
)
def test_remains(change: Change, handle: str) -> None:
    """What is released has the answer's handle if there is one to trust, and is else as asked."""
    left = remains(change(ASKED), ASKED)
    assert left.spec.source.handle == handle
    assert left == source(handle=handle)(ASKED)
