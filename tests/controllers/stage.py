"""Where provisioning plays: an API server in memory, a backend, and controllers that may crash."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from elasticgpu.api.claim import ClaimSpec, ElasticGPUClaim, ResourceRequests
from elasticgpu.api.core import Event, Node, NodeCondition, NodeStatus
from elasticgpu.api.elasticgpu import ElasticGPU, ReclaimPolicy
from elasticgpu.api.gpu import GPU, GPUSpec, GPUStatus
from elasticgpu.api.gpuclass import ClassSpec, ElasticGPUClass
from elasticgpu.api.meta import ObjectMeta, find_condition
from elasticgpu.api.vocabulary import CORE, MEMORY
from elasticgpu.controllers.controller import ControllerConfig, control
from elasticgpu.provisioner import Provisioner
from elasticgpu.rules.marks import has_marks

from .plugins import Backend, Plain
from .server import MemoryClient, Server

T = TypeVar("T")
TEAM = "team"


@dataclass
class Stage:
    """The server and the plugins outlive the controllers, which are started and killed."""

    server: Server = field(default_factory=Server)
    backend: Backend = field(default_factory=Backend)
    plain: Plain = field(default_factory=Plain)
    client: MemoryClient | None = None
    _task: asyncio.Task[None] | None = None
    _ended: list[asyncio.Task[None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for node in ("node-a", "node-b"):
            self.add_card(node)
        for plugin in (self.backend, self.plain):
            self.add_class(plugin)

    def add_card(self, node: str) -> None:
        """A node with a card."""
        ready = NodeStatus(conditions=[NodeCondition(type="Ready", status="True")])
        self.server.add(Node(metadata=ObjectMeta(name=node), status=ready))
        status = GPUStatus(memory="800Gi", health="Healthy")
        meta = ObjectMeta(name=f"card-{node[-1]}")
        self.server.add(GPU(metadata=meta, spec=GPUSpec(node_name=node), status=status))

    def add_class(
        self, plugin: Provisioner, name: str = "", policy: ReclaimPolicy = "Delete"
    ) -> None:
        """A class of this provisioner; it has the last word of the provisioner's name."""
        spec = ClassSpec(provisioner=plugin.name, reclaim_policy=policy)
        meta = ObjectMeta(name=name or plugin.name.rpartition("/")[2])
        self.server.add(ElasticGPUClass(metadata=meta, spec=spec))

    async def start(self, *more: Provisioner, without: str = "") -> None:
        """Start the controllers; wait until they lead, and all classes say what they are."""
        plugins = {p.name: p for p in (self.backend, self.plain, *more) if p.name != without}
        self.client, ready = MemoryClient(self.server), asyncio.Event()
        work = control(self.client, ControllerConfig(identity="test", workers=4), plugins, ready)
        self._task = asyncio.create_task(work)
        await asyncio.wait_for(ready.wait(), 30)
        classes = partial(self.server.all, ElasticGPUClass)
        await self.until(lambda: all(one.status.conditions for one in classes()))

    async def kill(self) -> None:
        """End them at once: nothing of them reaches the server any more."""
        assert self.client is not None
        assert self._task is not None
        self.client.dead = True
        await _cancelled(self._task)

    async def end(self) -> None:
        """End what runs."""
        if self._task is not None and not self._task.done():
            await _cancelled(self._task)

    async def until(self, holds: Callable[[], T]) -> T:
        """Wait until something is so."""
        async with asyncio.timeout(30):
            while not (found := holds()):
                await asyncio.sleep(0.002)
        return found

    async def still(self, holds: Callable[[], object], seconds: float = 0.15) -> None:
        """Assert that something stays so for a moment."""
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            assert holds()
            await asyncio.sleep(0.005)

    # What people see and do.

    def ask(self, name: str = "train", of: str = "backend", core: int = 10) -> ElasticGPUClaim:
        """A new claim."""
        requests = ResourceRequests(requests={CORE: core, MEMORY: "10Gi"})
        spec = ClaimSpec(elastic_gpu_class_name=of, resources=requests)
        meta = ObjectMeta(namespace=TEAM, name=name)
        return self.server.add(ElasticGPUClaim(metadata=meta, spec=spec))

    def claim(self, name: str = "train") -> ElasticGPUClaim | None:
        """The claim as it is."""
        return self.server.see(ElasticGPUClaim, name, TEAM)

    def delete(self, name: str = "train") -> None:
        """Delete the claim."""
        self.server.delete(ElasticGPUClaim, name, TEAM)

    def bound(self, name: str = "train") -> bool:
        """Whether the claim is Bound."""
        claim = self.claim(name)
        return claim is not None and claim.status.phase == "Bound"

    def says(self, reason: str, name: str = "train") -> str:
        """What the claim's condition of that reason says; empty if it has another."""
        claim = self.claim(name)
        found = find_condition(claim.status.conditions, "Bound") if claim else None
        return found.message or reason if found and found.reason == reason else ""

    def settled(self, name: str = "train") -> bool:
        """Whether nothing on the claim says that a provisioner is at work for it."""
        claim = self.claim(name)
        return claim is None or not has_marks(claim)

    def devices(self) -> list[ElasticGPU]:
        """All devices."""
        return self.server.all(ElasticGPU)

    async def told(self, *warnings: str) -> None:
        """Wait until these Warnings, and nothing else, were said in events; they come later."""
        wanted = {("Warning", reason) for reason in warnings}
        await self.until(lambda: wanted <= set(self.events()))
        assert set(self.events()) == wanted

    def events(self) -> list[tuple[str, str]]:
        """Type and reason of all events."""
        wires = [event.wire() for event in self.server.all(Event)]
        return [(wire["type"], wire["reason"]) for wire in wires]


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait((task,))
