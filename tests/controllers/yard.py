"""Pods on the stage: made, given ResourceClaims, and scheduled or not, as Kubernetes would."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from elasticgpu.api.claim import (
    ClaimSpec,
    ClaimTemplateSpec,
    ElasticGPUClaim,
    ElasticGPUClaimTemplate,
    ResourceRequests,
)
from elasticgpu.api.core import (
    ConsumerReference,
    Node,
    Pod,
    PodCondition,
    PodResourceClaimStatus,
    ResourceClaim,
)
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpuclass import ClassSpec, ElasticGPUClass
from elasticgpu.api.meta import ObjectMeta, OwnerReference
from elasticgpu.api.names import PODS_LABEL
from elasticgpu.api.vocabulary import CORE, MEMORY
from elasticgpu.errors import NotFound
from elasticgpu.rules.allocation import allocated_device
from elasticgpu.rules.entries import SPEC, entries

from .stage import TEAM, Stage

WAITS = "waits"
LABELS = {PODS_LABEL: "true"}


@dataclass
class Yard:
    """What people, kube-controller-manager and the scheduler do. `takes` are the nodes on which
    the scheduler would have each pod, by its name; others it refuses in these `words`."""

    stage: Stage
    takes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    words: str = "no free ports"

    def __post_init__(self) -> None:
        for name in ("node-a", "node-b"):
            node = self.stage.server.see(Node, name)
            assert node is not None
            room: dict[str, int | str] = {"pods": 10, "cpu": "4"}
            self.stage.server.put(node.but(status=node.status.but(allocatable=room)), "status")
        spec = ClassSpec(
            provisioner=self.stage.plain.name, egpu_binding_mode="WaitForFirstConsumer"
        )
        self.stage.server.add(ElasticGPUClass(metadata=ObjectMeta(name=WAITS), spec=spec))

    def claim(
        self, name: str = "train", core: int = 10, of: str = WAITS, **more: Any
    ) -> ElasticGPUClaim:
        """A new claim."""
        meta = ObjectMeta(namespace=TEAM, name=name)
        return self.stage.server.add(ElasticGPUClaim(metadata=meta, spec=_spec(core, of, **more)))

    def template(self, name: str, core: int = 10, of: str = WAITS) -> None:
        """A new claim template."""
        meta = ObjectMeta(namespace=TEAM, name=name)
        spec = ClaimTemplateSpec(spec=_spec(core, of))
        self.stage.server.add(ElasticGPUClaimTemplate(metadata=meta, spec=spec))

    def pod(
        self,
        name: str = "web",
        claims: Sequence[str] = ("train",),
        templates: Sequence[str] = (),
        cpu: str = "1",
    ) -> Pod:
        """A new pod, with a ResourceClaim for each of its entries."""
        names = [f"egpuc-{c}" for c in claims] + [f"egpuct-{t}" for t in templates]
        rows = [
            {"name": f"egpu-{n}", "resourceClaimTemplateName": template}
            for n, template in enumerate(names)
        ]
        box = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
        made = self.stage.server.add(
            Pod.model_validate(
                {
                    "metadata": {"name": name, "namespace": TEAM, "labels": LABELS},
                    "spec": {"containers": [box], "resourceClaims": rows},
                    "status": {"phase": "Pending"},
                }
            )
        )
        statuses = []
        for entry in entries(made):
            owner = OwnerReference(
                api_version="v1", kind="Pod", name=name, uid=made.uid, controller=True
            )
            meta = ObjectMeta(
                namespace=TEAM,
                name=f"{name}-{entry.name}",
                labels=LABELS,
                owner_references=[owner],
            )
            self.stage.server.add(ResourceClaim(metadata=meta, spec=SPEC["spec"]))
            statuses.append(PodResourceClaimStatus(name=entry.name, resource_claim_name=meta.name))
        self.stage.server.put(
            made.but(status=made.status.but(resource_claim_statuses=statuses)), "status"
        )
        return made

    def end(self, name: str = "web") -> None:
        """The pod is gone, and its ResourceClaims with it."""
        for made in self._made(name):
            self.stage.server.delete(ResourceClaim, made.name, TEAM)
        self.stage.server.delete(Pod, name, TEAM)

    # What is to be seen.

    def node_of(self, claim: str = "train") -> str:
        """The node of the claim's device, once it is Bound; else empty."""
        found = self.stage.claim(claim)
        if found is None or found.status.phase != "Bound":
            return ""
        device = self.stage.server.see(ElasticGPU, found.spec.elastic_gpu_name)
        return device.spec.node_name if device else ""

    def allocated(self, pod: str = "web") -> list[str]:
        """Names of the devices its ResourceClaims are allocated; empty ones for none."""
        return [allocated_device(made) for made in self._made(pod)]

    def scheduled(self, pod: str = "web") -> str:
        """The pod's node."""
        found = self.stage.server.see(Pod, pod, TEAM)
        return found.spec.node_name if found else ""

    def _made(self, pod: str) -> list[ResourceClaim]:
        found = self.stage.server.all(ResourceClaim)
        owned = [rc for rc in found if rc.metadata.owner_references[0].name == pod]
        return sorted(owned, key=lambda rc: rc.name)

    # The scheduler.

    async def schedule(self) -> None:
        """Look at every pod again and again, until cancelled."""
        while True:
            for pod in self.stage.server.all(Pod):
                if not pod.spec.node_name and not pod.terminating:
                    with suppress(NotFound):
                        self._look(pod)
            await asyncio.sleep(0.002)

    def _look(self, pod: Pod) -> None:
        made = self._made(pod.name)
        devices = [self.stage.server.see(ElasticGPU, allocated_device(rc)) for rc in made]
        nodes = {device.spec.node_name for device in devices if device}
        node = nodes.pop() if all(devices) and len(nodes) == 1 else ""
        if node and node in self.takes.get(pod.name, ("node-a", "node-b")):
            self._run(pod, made, node)
        else:
            self._refuse(pod)

    def _run(self, pod: Pod, made: Sequence[ResourceClaim], node: str) -> None:
        entry = ConsumerReference(resource="pods", name=pod.name, uid=pod.uid)
        for rc in made:
            status = rc.status.but(reserved_for=[*rc.status.reserved_for, entry])
            self.stage.server.put(rc.but(status=status), "status")
        self.stage.server.put(pod.but(spec=pod.spec.but(node_name=node)))

    def _refuse(self, pod: Pod) -> None:
        said = PodCondition(
            type="PodScheduled",
            status="False",
            reason="Unschedulable",
            message=self.words,
            last_transition_time="2026-01-01T00:00:00Z",
        )
        if pod.status.conditions != [said]:
            self.stage.server.put(pod.but(status=pod.status.but(conditions=[said])), "status")


def _spec(core: int, of: str, **more: Any) -> ClaimSpec:
    requests = ResourceRequests(requests={CORE: core, MEMORY: "1Gi"})
    return ClaimSpec(elastic_gpu_class_name=of, resources=requests, **more)
