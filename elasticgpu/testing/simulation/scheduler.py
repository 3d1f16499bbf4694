"""Simulates as much of kube-scheduler as this project meets: a pod goes to the node that the
allocations of its ResourceClaims name, one without any to the emptiest node that suits it.

It allocates nothing by itself: the DeviceClass of this project matches no device.
"""

from __future__ import annotations

import asyncio
from typing import Any

from elasticgpu.api.core import ConsumerReference, Node, Pod, ResourceClaim
from elasticgpu.api.meta import Key
from elasticgpu.cluster.client import Client
from elasticgpu.cluster.clock import timestamp
from elasticgpu.cluster.events import Recorder
from elasticgpu.cluster.informer import Change, Informer
from elasticgpu.cluster.workqueue import WorkQueue

from . import loop
from .choosing import choose

NAME = "default-scheduler"


class Scheduler:
    """The loop; one key is one pod."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._queue: WorkQueue[Key] = WorkQueue("simulated scheduler")
        self._recorder = Recorder(client, controller=NAME, instance="simulated")
        self._pods = Informer(client, Pod)
        self._nodes = Informer(client, Node)
        self._claims = Informer(client, ResourceClaim)

    async def run(self) -> None:
        """Schedule, until cancelled."""
        self._pods.subscribe(self._pod_changed)
        self._nodes.subscribe(lambda _: self._all_waiting())
        self._claims.subscribe(self._claim_changed)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._recorder.run())
            informers: list[Informer[Any]] = [self._pods, self._nodes, self._claims]
            group.create_task(loop.run(informers, self._queue, self._reconcile, workers=1))

    def _pod_changed(self, change: Change[Pod]) -> None:
        if change.new is not None and _waits(change.new):
            self._queue.add(change.new.key)
        if change.new is None or change.new.finished:
            self._all_waiting()

    def _claim_changed(self, change: Change[ResourceClaim]) -> None:
        claim = change.new
        for pod in claim.pods if claim else ():
            self._queue.add(pod)

    def _all_waiting(self) -> None:
        for pod in filter(_waits, self._pods.values()):
            self._queue.add(pod.key)

    async def _reconcile(self, key: Key) -> None:
        pod = self._pods.get(key)
        if pod is None or not _waits(pod):
            return
        with loop.soon():
            claims = self._claims_of(pod)
            if claims is None:
                return
            why, node = choose(pod, claims, self._nodes.values(), self._pods.values())
            if node is None:
                return await self._refuse(pod, why)
            for claim in claims:
                await self._reserve(pod, claim)
            await self._bind(pod, node)

    def _claims_of(self, pod: Pod) -> list[ResourceClaim] | None:
        """The pod's ResourceClaims; None while one is still to be made."""
        named = {s.name: s.resource_claim_name or "" for s in pod.status.resource_claim_statuses}
        found = [
            self._claims.get((pod.namespace, one.resource_claim_name or named.get(one.name, "")))
            for one in pod.spec.resource_claims
        ]
        claims = [claim for claim in found if claim is not None]
        return claims if len(claims) == len(found) else None

    async def _reserve(self, pod: Pod, claim: ResourceClaim) -> None:
        entry = ConsumerReference(resource="pods", name=pod.name, uid=pod.uid)
        if all(one.uid != pod.uid for one in claim.status.reserved_for):
            reserved = [*claim.status.reserved_for, entry]
            status = claim.status.but(reserved_for=reserved)
            await self._claims.write(claim.but(status=status), "status")

    async def _bind(self, pod: Pod, node: Node) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": node.name}
        meta = {"name": pod.name, "uid": pod.uid}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target}
        path = pod.resource.path(pod.namespace, pod.name, "binding")
        await self._client.raw("POST", path, body=body)
        # The next pod's turn comes before the watch tells of this one.
        self._pods.observed(await self._client.get(Pod, pod.key))
        text = f"Successfully assigned {pod.namespace}/{pod.name} to {node.name}"
        self._recorder.event(pod, "Normal", "Scheduled", text, "Binding")

    async def _refuse(self, pod: Pod, why: str) -> None:
        message = f"0/{len(self._nodes.values())} nodes are available: {why}."
        fact: dict[str, Any] = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastTransitionTime": timestamp(),
        }
        old = next((c for c in pod.status.conditions if c.type == "PodScheduled"), None)
        if old is not None and old.message == message:
            return
        if old is not None and old.status == "False":
            fact["lastTransitionTime"] = old.last_transition_time
        others = [c.wire() for c in pod.status.conditions if c.type != "PodScheduled"]
        body = {"status": {"conditions": [*others, fact]}}
        self._pods.observed(await self._client.patch(Pod, pod.key, body, subresource="status"))
        self._recorder.event(pod, "Warning", "FailedScheduling", message, "Scheduling")


def _waits(pod: Pod) -> bool:
    """Whether the pod is this scheduler's to place."""
    mine = pod.spec.scheduler_name in ("", NAME) and not pod.spec.scheduling_gates
    return mine and not (pod.spec.node_name or pod.terminating or pod.finished)
