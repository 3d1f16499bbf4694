"""Tenants: what all pods of the cluster take of their nodes, counted while somebody needs to know.

Only placement for a waiting pod does, so all pods are watched from the first class on that waits
for pods, and not before. Of each only what it takes is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from elasticgpu.api.core import Pod
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.cluster.client import Client
from elasticgpu.cluster.informer import Change, Informer
from elasticgpu.errors import Retry
from elasticgpu.rules.classes import waits_for_pod
from elasticgpu.rules.occupancy import Occupancy, Tenant, tenant

PLACED = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
"""Pods that take something of a node."""


class Tenants:
    """The pods on nodes, and those expected there."""

    def __init__(self, client: Client) -> None:
        self.occupancy = Occupancy()
        self.refused: dict[str, dict[str, str]] = {}
        """What the scheduler said of nodes that were tried for a pod, by its uid and by node."""
        self.informer = Informer(client, Tenant, field_selector=PLACED, read=tenant)
        self.informer.subscribe(self._tenant_changed)
        self._wanted = asyncio.Event()
        self._left: list[Callable[[], None]] = []

    @property
    def wanted(self) -> bool:
        """Whether they are counted, or about to be."""
        return self._wanted.is_set()

    async def run(self) -> None:
        """Count them, from the moment that somebody needs it, until cancelled."""
        await self._wanted.wait()
        await self.informer.run()

    def counted(self) -> Occupancy:
        """What is taken of every node. Raises Retry while the first list loads."""
        self._wanted.set()
        if not self.informer.has_synced:
            raise Retry("the pods of all nodes are not counted yet", after=0.2)
        return self.occupancy

    def on_left(self, handler: Callable[[], None]) -> None:
        """Call `handler` whenever a pod gives back what it took of its node."""
        self._left.append(handler)

    def class_changed(self, change: Change[ElasticGPUClass]) -> None:
        """Begin to count with the first class that waits for pods."""
        if change.new is not None and waits_for_pod(change.new):
            self._wanted.set()

    def pod_changed(self, change: Change[Pod]) -> None:
        """A pod that uses claims: forget what was expected of it once it will not run."""
        pod = change.new or change.old
        if pod is not None and (change.new is None or pod.finished):
            self.occupancy.give_up(pod.uid)
            self.refused.pop(pod.uid, None)

    def _tenant_changed(self, change: Change[Tenant]) -> None:
        old, new = change.old, change.new
        if new is not None and new.node:
            self.occupancy.arrive(new.uid, new.node, new.takes)
        elif old is not None:
            self.occupancy.leave(old.uid)
        if old is not None and (new is None or new.takes != old.takes):
            for handler in self._left:
                handler()
