"""A pod, what its entries lead to, and the objects that stand behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from elasticgpu.api.claim import (
    ClaimSpec,
    ClaimTemplateSpec,
    ClaimUser,
    ElasticGPUClaim,
    ElasticGPUClaimTemplate,
    ResourceRequests,
)
from elasticgpu.api.core import ConsumerReference, Pod, ResourceClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import ObjectMeta, OwnerReference
from elasticgpu.api.vocabulary import CORE
from elasticgpu.rules import binding
from elasticgpu.rules.allocation import Allocate, allocated
from elasticgpu.rules.decisions import Wait
from elasticgpu.rules.entries import SPEC, entries
from elasticgpu.rules.handing import PodView
from elasticgpu.rules.waiting import EntryView
from tests.rules.build import NOW, claim, device, pod, ref

OURS = ConsumerReference(
    api_group="elasticgpu.io", resource="elasticgpuclaims", name="train", uid="uid-train"
)
PODS = ConsumerReference(resource="pods", name="web-0", uid="uid-web-0")


def bound(name: str = "train", *holders: str, **spec: object) -> ElasticGPUClaim:
    rows = [ClaimUser(pod_uid=f"uid-{holder}", pod_name=holder) for holder in holders]
    found = claim(name, named=f"egpu-{name}", completed=True, **spec)  # type: ignore[arg-type]
    return found.with_status(phase="Bound", users=rows)


def of(owner: ElasticGPUClaim, node: str = "node-a") -> ElasticGPU:
    return device(f"egpu-{owner.name}", of=ref(owner), phase="Bound", node=node)


def made(name: str = "rc-0", *reserved: ConsumerReference, done: bool = False) -> ResourceClaim:
    blank = ResourceClaim(metadata=ObjectMeta(namespace="team", name=name), spec=SPEC["spec"])
    if done:
        whose = bound("train", "web-0")
        blank = allocated(Allocate(blank, whose, of(whose), reserve=False), now=NOW)
    return blank.but(status=blank.status.but(reserved_for=list(reserved)))


def looked(whose: Pod, *views: EntryView, left: Sequence[ResourceClaim] = ()) -> PodView:
    """The view of a pod whose entries have this behind them, in its order."""
    rows = [replace(v, entry=entry) for entry, v in zip(entries(whose), views, strict=True)]
    rcs = [v.resource_claim for v in views if v.resource_claim]
    return PodView(whose, tuple(rows), tuple(left or rcs))


def behind(
    found: ElasticGPUClaim | None = None,
    resource_claim: ResourceClaim | None = None,
    *,
    on: str = "node-a",
    template: ElasticGPUClaimTemplate | None = None,
    foreign: bool = False,
    vanished: str = "",
) -> EntryView:
    """What an entry leads to; the entry itself is filled in by `looked`."""
    (entry,) = entries(pod())
    at = of(found, on) if found and found.spec.elastic_gpu_name else None
    return EntryView(entry, found, template, at, resource_claim, foreign, vanished)


TEMPLATE = ElasticGPUClaimTemplate(
    metadata=ObjectMeta(namespace="team", name="big"),
    spec=ClaimTemplateSpec(
        metadata=ObjectMeta(labels={"a": "b"}, annotations={"c": "d"}),
        spec=ClaimSpec(resources=ResourceRequests(requests={CORE: 10})),
    ),
)
OWNER = OwnerReference(api_version="v1", kind="Pod", name="web-0", uid="uid-web-0", controller=True)
FOR_POD = pod(claims=(), templates=["big"])
MINE = bound("web-0-egpu-0", "web-0").with_metadata(owner_references=[OWNER])
ANOTHERS = MINE.with_metadata(owner_references=[OWNER.but(uid="uid-of-an-earlier-web-0")])
HELD = bound("train", "web-0")
RC = made()
FULL = binding.unserved(claim(), Wait("NoCapacity", "no card can give it"), "gold", now=NOW)
NOT_ITS_OWN = (
    "ElasticGPUClaim web-0-egpu-0 was not made for this pod, though it has that name: "
    "delete it, and it is made anew"
)
