"""Nodes: undoes what a lost node prepared, and says what a silent one does not undo.

One key is one device. See `rules/undoing.py`. Facts that only matter once they have lasted are
timed here, in memory: a process that starts anew begins to count anew.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Node, Pod
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Key, find_condition, merge_condition
from elasticgpu.api.names import NODE_FINALIZER
from elasticgpu.cluster.clock import timestamp
from elasticgpu.cluster.informer import Change
from elasticgpu.cluster.workqueue import WorkQueue
from elasticgpu.errors import Retry
from elasticgpu.rules import undoing
from elasticgpu.rules.nodes import lost, ready
from elasticgpu.rules.transaction import READY
from elasticgpu.rules.undoing import Keep, OnNodeView, Say, Tell, Undo, touched

from .lasting import Lasting
from .views import lost_for_certain
from .world import World

UNREADY = 30.0
"""Seconds for which a node must be not ready until its claims say so: a flapping one is no news."""

OVERDUE = 150.0
"""Seconds a node has to undo a device after its pods are gone; the kubelet looks every minute."""

AGAIN = 30.0
"""Seconds between two looks at the pods that a lost node still has."""


@dataclass
class Nodes:
    """The loop over devices and the nodes they are on."""

    world: World
    queue: WorkQueue[Key] = field(default_factory=lambda: WorkQueue("nodes"))
    lasting: Lasting = field(default_factory=Lasting)

    def subscribe(self) -> None:
        """Hear of nodes, of their devices, and of the end of the pods these were prepared for."""
        self.world.nodes.subscribe(self._node_changed)
        self.world.devices.subscribe(self._device_changed)
        self.world.pods.subscribe(self._pod_changed)

    def _node_changed(self, change: Change[Node]) -> None:
        name = (change.new or change.old or Node()).name
        if _state(name, change.old) != _state(name, change.new):
            for device in self.world.devices.by_index("node", name):
                self.queue.add(device.key)

    def _device_changed(self, change: Change[ElasticGPU]) -> None:
        if change.new is not None and self._is_odd(change.new):
            self.queue.add(change.new.key)
        elif change.new is None and change.old is not None:
            self.lasting.seconds(change.old.uid, holds=False)

    def _pod_changed(self, change: Change[Pod]) -> None:
        pod = change.new or change.old
        if pod is not None and (change.new is None or pod.finished):
            for device in self.world.devices.by_index("prepared for", pod.uid):
                self.queue.add(device.key)

    def _is_odd(self, device: ElasticGPU) -> bool:
        """Whether there can be something to do: of most devices, while they are bound, there is
        not."""
        name = device.spec.node_name
        return bool(name) and (
            touched(device)
            or find_condition(device.status.conditions, READY) is not None
            or _state(name, self.world.nodes.get(("", name))) != STEADY
        )

    async def reconcile(self, key: Key) -> None:
        """Bring one device one step further."""
        device = self.world.devices.get(key)
        if device is None:
            return
        match undoing.decide(await self._view(device)):
            case Keep():
                pass
            case Undo():
                await self._undo(device)
            case Say(condition):
                merged = merge_condition(device.status.conditions, condition, now=timestamp())
                await self.world.replace(device.with_status(conditions=merged), "status")
            case Tell(claim, condition):
                merged = merge_condition(claim.status.conditions, condition, now=timestamp())
                await self.world.replace(claim.with_status(conditions=merged), "status")

    async def _view(self, device: ElasticGPU) -> OnNodeView:
        name = device.spec.node_name
        node = self.world.nodes.get(("", name))
        is_ready, is_lost = _state(name, node)
        unready = self._lasts(device, ("unready", name), UNREADY, not is_ready)
        overdue = self._lasts(device, device.uid, OVERDUE, self._left_over(device) and not is_lost)
        return OnNodeView(
            device=device,
            node=node,
            claim=self._claim(device),
            unready=unready,
            overdue=overdue and not await self._pods_there(device),
        )

    def _lasts(self, device: ElasticGPU, fact: Hashable, limit: float, holds: bool) -> bool:
        """Whether a fact has held for that long; if it may yet, the device is looked at then."""
        lasted = self.lasting.seconds(fact, holds)
        if holds and lasted < limit:
            self.queue.add_after(device.key, limit - lasted)
        return holds and lasted >= limit

    def _left_over(self, device: ElasticGPU) -> bool:
        """Whether the node has it ready for nobody that is known to be there."""
        found = (self.world.pods.by_index("uid", uid) for uid in device.status.prepared_for)
        return touched(device) and all(pod.finished for pods in found for pod in pods)

    async def _pods_there(self, device: ElasticGPU) -> set[str]:
        """Those of its pods that are there after all; nobody's labels decide that."""
        there = await self._living(device.spec.node_name)
        return there.intersection(device.status.prepared_for)

    async def _living(self, node: str) -> set[str]:
        """Uids of the pods on a node that have not ended, asked live."""
        pods = self.world.client.list(Pod, field_selector=f"spec.nodeName={node}")
        return {pod.uid async for pod in pods if not pod.finished}

    def _claim(self, device: ElasticGPU) -> ElasticGPUClaim | None:
        """The claim that is bound to it."""
        ref = device.spec.claim_ref
        claim = self.world.claims.get(ref.key) if ref else None
        bound = claim is not None and claim.status.phase == "Bound"
        return claim if claim and bound and claim.uid == device.claim_uid else None

    async def _undo(self, device: ElasticGPU) -> None:
        """Do what the agent can do no more. An agent that lives after all has its own ledger."""
        name = device.spec.node_name
        if await lost_for_certain(self.world, name) is None:
            raise Retry(f"node {name} is there after all", after=0.2)
        living, rows = await self._living(name), device.status.prepared_for
        left = [uid for uid in rows if uid in living]
        if len(left) < len(rows):
            device = await self.world.replace(device.with_status(prepared_for=left), "status")
        if left:
            self.queue.add_after(device.key, AGAIN)
        elif NODE_FINALIZER in device.metadata.finalizers:
            await self.world.replace(device.without_finalizers(NODE_FINALIZER))


STEADY = (True, False)


def _state(name: str, node: Node | None) -> tuple[bool, bool]:
    """What of a node matters here: whether it is ready, and whether it is lost."""
    return (node is not None and ready(node), lost(name, node) is not None)
