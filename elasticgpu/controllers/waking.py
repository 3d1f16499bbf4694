"""When a claim is asked again what it needs: on its own changes, on those of devices that point at
it and of what it is used with, and, as long as it waits, on whatever can give it room.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Node, Pod
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import Key
from elasticgpu.cluster.informer import Change
from elasticgpu.cluster.workqueue import WorkQueue
from elasticgpu.rules.entries import entries
from elasticgpu.rules.recycling import waits_for_admin

from .world import World

WAKE_AFTER = 0.05
"""Seconds over which wakes of waiting claims are gathered into one."""

SELDOM = 1.0
"""The same where what happens all the time is mostly to nobody's use: pods leave nodes, devices
come to lie idle."""


@dataclass
class Waking:
    """What puts claims into the binder's queue. `forget` hears of claims that are gone."""

    world: World
    queue: WorkQueue[Key]
    forget: Callable[[Key], None]
    waiting: set[Key] = field(default_factory=set)
    _wake: asyncio.TimerHandle | None = None

    def subscribe(self) -> None:
        """Hear of everything that can change a decision."""
        self.world.claims.subscribe(self._claim_changed)
        self.world.devices.subscribe(self._device_changed)
        self.world.gpus.subscribe(self._gpu_changed)
        self.world.classes.subscribe(self._class_changed)
        self.world.pods.subscribe(self._pod_changed)
        self.world.nodes.subscribe(self._node_changed)
        self.world.tenants.on_left(self._pod_left)
        self.world.on_freed(self.wake)
        self.world.works.on_ended.append(self.queue.add)

    def _claim_changed(self, change: Change[ElasticGPUClaim]) -> None:
        if change.new is not None:
            self.queue.add(change.new.key)
        elif change.old is not None:
            self.waiting.discard(change.old.key)
            self.forget(change.old.key)
            self.queue.add(change.old.key)
        was, now = (one.status.phase if one else "" for one in (change.old, change.new))
        if was != now and (claim := change.new or change.old):
            self._ask_beside(claim)

    def _device_changed(self, change: Change[ElasticGPU]) -> None:
        for device in (change.old, change.new):
            if device is not None and device.spec.claim_ref is not None:
                self.queue.add(device.spec.claim_ref.key)
            if device is not None:
                for claim in self.world.claims.by_index("device", device.name):
                    self.queue.add(claim.key)
        was, now = (device.status.phase if device else "" for device in (change.old, change.new))
        if now == "Available" != was:
            self.wake()
        elif _idle(change.old) != _idle(change.new):
            self.wake(SELDOM)  # it serves nobody yet; who waits can say what would change that

    def _gpu_changed(self, change: Change[GPU]) -> None:
        old, new = change.old, change.new
        if old is None or new is None or _serving(old) != _serving(new):
            self.wake()

    def _class_changed(self, change: Change[ElasticGPUClass]) -> None:
        self.wake()

    def _pod_changed(self, change: Change[Pod]) -> None:
        if _stage(change.old) != _stage(change.new):
            for pod in (change.old, change.new):
                for entry in entries(pod) if pod else ():
                    self.queue.add(entry.key)

    def _ask_beside(self, claim: ElasticGPUClaim) -> None:
        """Claims that are used together with one that got its device, or lost it."""
        for pod in self.world.pods.by_index("claim", claim.key):
            for entry in entries(pod):
                self.queue.add(entry.key)
        for other in self.world.claims.by_index("colocated", claim.key):
            self.queue.add(other.key)

    def _node_changed(self, change: Change[Node]) -> None:
        if _suiting(change.old) != _suiting(change.new):
            self.wake()

    def _pod_left(self) -> None:
        self.wake(SELDOM)

    def wake(self, after: float | None = None) -> None:
        """Ask again for every claim that waits; many wakes at once become one, the soonest."""
        loop = asyncio.get_running_loop()
        at = loop.time() + (WAKE_AFTER if after is None else after)
        if not self.waiting or (self._wake and self._wake.when() <= at):
            return
        if self._wake is not None:
            self._wake.cancel()
        self._wake = loop.call_at(at, self._ask_again)

    def _ask_again(self) -> None:
        self._wake = None
        for key in sorted(self.waiting):
            self.queue.add(key)


def _stage(pod: Pod | None) -> tuple[object, ...] | None:
    """What of a pod decides about the claims it names."""
    if pod is None:
        return None
    return (pod.uid, pod.terminating, pod.finished, pod.spec.node_name, pod.spec.scheduling_gates)


def _idle(device: ElasticGPU | None) -> bool:
    """Whether it counts among what an admin could give back to those who wait."""
    return device is not None and waits_for_admin(device)


def _suiting(node: Node | None) -> tuple[object, ...] | None:
    """What of a node decides which pods it suits."""
    if node is None:
        return None
    return (node.metadata.labels, node.spec, node.status.allocatable)


def _serving(gpu: GPU) -> tuple[object, ...]:
    """What of a card decides whether it can serve."""
    status = gpu.status
    found = (status.memory, status.health, status.model, status.architecture, status.uuid)
    return (gpu.spec, *found, status.tflops, gpu.metadata.labels, gpu.terminating)
