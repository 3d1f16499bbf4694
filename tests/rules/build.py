"""Small objects for tables: each builder names what a row is about, the rest has a value."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from elasticgpu.api.claim import ClaimSpec, ElasticGPUClaim, ResourceRequests
from elasticgpu.api.core import (
    Container,
    ContainerClaim,
    ContainerResources,
    Pod,
    PodResourceClaim,
    PodSpec,
    PodStatus,
)
from elasticgpu.api.elasticgpu import (
    CardSlice,
    DevicePhase,
    DeviceSource,
    ElasticGPU,
    ElasticGPUSpec,
    ElasticGPUStatus,
    ReclaimPolicy,
)
from elasticgpu.api.gpu import GPU, GPUSpec, GPUStatus
from elasticgpu.api.gpuclass import ClassSpec, ElasticGPUClass
from elasticgpu.api.meta import ObjectMeta, ObjectReference
from elasticgpu.api.names import BIND_COMPLETED
from elasticgpu.api.vocabulary import CORE, MEMORY, Demand
from elasticgpu.rules.decisions import ClaimView
from elasticgpu.rules.fitting import Candidate, leftover
from elasticgpu.rules.fleet import CardView, NodeView, Ranking
from elasticgpu.rules.ledger import Slice

GI = 1 << 30
NOW = "2026-01-01T00:00:00Z"
LATER = "2026-01-02T00:00:00Z"
DRIVER = "example.com/share"


class Share:
    """A provisioner that gives core and memory of the first card with room, best first."""

    name = DRIVER
    mig = False

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        for card in node.cards:
            if want.core <= card.core_free and want.memory <= card.memory_free:
                return Slice((part(card.name, want.core, want.memory),))
        return None


def part(gpu: str = "card-0", core: int = 0, memory: int | str = 0) -> CardSlice:
    return CardSlice(gpu=gpu, core=core, memory=memory)


def card(
    name: str = "card-0", node: str = "node-a", *, memory: int | str = "80Gi", **status: object
) -> GPU:
    found = GPUStatus(memory=memory, health="Healthy").but(**status)
    return GPU(metadata=ObjectMeta(name=name), spec=GPUSpec(node_name=node), status=found)


def free(gpu: GPU, core: int = 100, memory: int | None = None, mode: str = "") -> CardView:
    return CardView(gpu, core, gpu.memory if memory is None else memory, mode)


def claim(
    name: str = "train",
    *,
    core: int = 10,
    memory: int | str = "10Gi",
    requests: dict[str, int | str] | None = None,
    named: str = "",
    completed: bool = False,
    terminating: bool = False,
    **spec: object,
) -> ElasticGPUClaim:
    asked = {CORE: core, MEMORY: memory} if requests is None else requests
    return ElasticGPUClaim(
        metadata=ObjectMeta(
            namespace="team",
            name=name,
            uid=f"uid-{name}",
            annotations={BIND_COMPLETED: "yes"} if completed else {},
            deletion_timestamp=NOW if terminating else None,
        ),
        spec=ClaimSpec(resources=ResourceRequests(requests=asked), elastic_gpu_name=named).but(
            **spec
        ),
    )


def ref(of: ElasticGPUClaim, *, uid: str | None = None) -> ObjectReference:
    """A claimRef with the claim's uid; with uid "" it is a reservation."""
    return ObjectReference(namespace=of.namespace, name=of.name, uid=of.uid if uid is None else uid)


def device(
    name: str = "egpu-a",
    *,
    core: int = 10,
    memory: int | str = "10Gi",
    phase: DevicePhase = "Available",
    reason: str = "",
    of: ObjectReference | None = None,
    class_name: str = "gold",
    policy: ReclaimPolicy = "Delete",
    parts: Sequence[CardSlice] | None = None,
    driver: str = DRIVER,
    node: str = "node-a",
    terminating: bool = False,
    **metadata: object,
) -> ElasticGPU:
    cut = [part("card-0", min(core, 100), memory)] if parts is None else list(parts)
    return ElasticGPU(
        metadata=ObjectMeta(name=name, deletion_timestamp=NOW if terminating else None).but(
            **metadata
        ),
        spec=ElasticGPUSpec(
            capacity={CORE: core, MEMORY: memory},
            elastic_gpu_class_name=class_name,
            reclaim_policy=policy,
            claim_ref=of,
            node_name=node,
            source=DeviceSource(driver=driver, devices=cut),
        ),
        status=ElasticGPUStatus(phase=phase, reason=reason),
    )


def gpu_class(name: str = "gold", **spec: object) -> ElasticGPUClass:
    return ElasticGPUClass(
        metadata=ObjectMeta(name=name), spec=ClassSpec(provisioner=DRIVER).but(**spec)
    )


def gold(*nodes: NodeView) -> dict[str, object]:
    """What `seen` wants of a cluster with class gold, its provisioner, and cards on these nodes."""
    return {
        "gpu_class": gpu_class(),
        "placer": Share(),
        "nodes": nodes,
        "provisioners": (Share.name,),
        "classes": ("gold",),
    }


def seen(of: ElasticGPUClaim, *devices: ElasticGPU, **more: object) -> ClaimView:
    """The claim's view of these devices, as an index of the cluster would sort them.

    Unlike the cluster's, `available` has every device without a claimRef: the rule has to judge.
    """
    by_name = {d.name: d for d in devices}
    reserved = [
        d
        for d in devices
        if d.spec.claim_ref and d.spec.claim_ref.key == of.key and d.claim_uid in ("", of.uid)
    ]
    facts: dict[str, Any] = {
        "class_name": "gold",
        "named": by_name.get(of.spec.elastic_gpu_name),
        "reserved": tuple(reserved),
        "available": tuple(Candidate(d, (card(),)) for d in devices if not d.spec.claim_ref),
        "released": (),
        "nodes": (),
    }
    facts |= more
    facts["available"] = partial(_best_first, facts["available"])
    facts["released"] = partial(tuple, facts["released"])
    facts["nodes"] = Ranking(facts["nodes"])
    return ClaimView(of, **facts)


def _best_first(candidates: Sequence[Candidate], want: Demand) -> list[Candidate]:
    """All of them, whether they fit or not: the rule has to judge. Unreadable ones come first."""

    def fit(candidate: Candidate) -> tuple[float, int, int, str]:
        try:
            return leftover(want, candidate.device)
        except ValueError:
            return (-1.0, 0, 0, candidate.device.name)

    return sorted(candidates, key=fit)


def pod(
    name: str = "web-0",
    *,
    claims: Sequence[str] = ("train",),
    templates: Sequence[str] = (),
    node: str = "",
    phase: str = "Running",
    created: str = NOW,
    terminating: bool = False,
    **metadata: object,
) -> Pod:
    """A pod whose container `main` uses each of its entries: claims first, then templates."""
    names = [f"egpuc-{c}" for c in claims] + [f"egpuct-{t}" for t in templates]
    rows = [
        PodResourceClaim(name=f"egpu-{n}", resource_claim_template_name=template)
        for n, template in enumerate(names)
    ]
    uses = ContainerResources(claims=[ContainerClaim(name=row.name) for row in rows])
    return Pod(
        metadata=ObjectMeta(
            namespace="team",
            name=name,
            uid=f"uid-{name}",
            creation_timestamp=created,
            deletion_timestamp=NOW if terminating else None,
        ).but(**metadata),
        spec=PodSpec(
            node_name=node,
            containers=[Container(name="main", resources=uses)],
            resource_claims=rows,
        ),
        status=PodStatus().but(phase=phase),
    )
