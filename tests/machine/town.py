"""A cluster of three nodes: what is real in it, and what is simulated, in one thread and in the
loop's own time. Controller and agents are processes that can die; the machines below can, too."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from elasticgpu.agent import fleet
from elasticgpu.controllers import controller
from elasticgpu.controllers.controller import ControllerConfig
from elasticgpu.testing.apiserver import ApiServer, DirectClient
from elasticgpu.testing.apiserver.requests import Answer, Request
from elasticgpu.testing.apiserver.users import User
from elasticgpu.testing.simulation.claims import Claims
from elasticgpu.testing.simulation.cluster import CAPACITY, account
from elasticgpu.testing.simulation.installing import NAMESPACE, install
from elasticgpu.testing.simulation.scheduler import Scheduler

from .loop import VirtualLoop
from .node import SYSTEM, Machine
from .process import Process

Object = dict[str, Any]
FLEET = "nodes: {node-0: [A10, A10], node-1: [A10], node-2: [A10, A10]}\n"
OURS = "/apis/elasticgpu.io/v1alpha1"
PODS, NODES = "/pods", "/nodes"
DEVICES, CLAIMS = "elasticgpu.io/elasticgpus", "elasticgpu.io/elasticgpuclaims"


class Town:
    """The cluster, and an admin's way to it."""

    def __init__(self, loop: VirtualLoop, folder: Path, random: Random) -> None:
        self.loop, self.folder = loop, folder
        (folder / "fleet.yaml").write_text(FLEET)
        self.server = ApiServer(clock=loop.now, random=random)
        self.admin = DirectClient(self.server)
        install(self.server)
        controller_user = account("elasticgpu-controller")
        self.controller = Process("controller", self.server, controller_user, self._control)
        kubernetes = User("system:kube-controller-manager", SYSTEM)
        scheduler = User("system:kube-scheduler", SYSTEM)
        self._lives = 0
        self.others = [
            Process("claims", self.server, kubernetes, lambda c: Claims(c).run()),
            Process("scheduler", self.server, scheduler, lambda c: Scheduler(c).run()),
        ]
        found = fleet.load(folder / "fleet.yaml")
        self.nodes = {name: Machine(self, name, found.cards(name)) for name in found.nodes}

    async def _control(self, client: DirectClient) -> None:
        self._lives += 1
        config = ControllerConfig(f"life-{self._lives}", NAMESPACE, leader_elect=False)
        await controller.run(client, config)

    async def begin(self) -> None:
        """Everything starts."""
        for name, machine in self.nodes.items():
            await self.make_node(name)
            machine.boot()
        for process in (*self.others, self.controller):
            process.start()
        await asyncio.sleep(5)

    async def make_node(self, name: str) -> None:
        """A kubelet registers its node."""
        body = {
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "apiVersion": "v1",
            "kind": "Node",
        }
        await self.admin.raw("POST", "/api/v1/nodes", body=body)
        await self.ready(name, True)

    async def ready(self, name: str, ready: bool) -> None:
        """The node is heard of, or not."""
        fact = {"type": "Ready", "status": "True" if ready else "Unknown", "reason": "Simulated"}
        stamp = self.loop.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        fact |= {"lastHeartbeatTime": stamp, "lastTransitionTime": stamp, "message": ""}
        status = {"capacity": CAPACITY, "allocatable": CAPACITY, "conditions": [fact]}
        await self.patch(f"/api/v1/nodes/{name}/status", {"status": status})

    # -- an admin's words ------------------------------------------------------------------------

    async def patch(self, path: str, body: Object) -> Object:
        """A merge patch."""
        kind = "application/merge-patch+json"
        found: Object = await self.admin.raw("PATCH", path, body=body, content_type=kind)
        return found

    def read(self, path: str) -> list[Object]:
        """All objects of a collection, as the auditor wants them."""
        answer = self.server.answer(Request("GET", path))
        assert isinstance(answer, Answer), path
        items: list[Object] = json.loads(answer.body)["items"]
        return items

    def see(self, path: str) -> Object:
        """An object; nothing of it where there is none."""
        answer = self.server.answer(Request("GET", path))
        assert isinstance(answer, Answer), path
        return json.loads(answer.body) if answer.status == 200 else {}

    def all(self, table: str) -> list[Object]:
        """What is stored of a kind; not to be changed."""
        assert table in {kind.table for kind in self.server.kinds}, table
        return [entry.body for entry in self.server.store.table(table).entries.values()]

    def owner(self, device: str) -> str:
        """Uid of the claim that a device has."""
        entry = self.server.store.get(DEVICES, ("", device))
        return entry.body["spec"].get("claimRef", {}).get("uid", "") if entry else ""

    def iterdir(self) -> Iterator[Path]:
        """The CDI files of all nodes, as the auditor wants them."""
        for machine in self.nodes.values():
            yield from machine.config.cdi_dir.iterdir()

    def processes(self) -> list[Process]:
        """Everything that must not end by itself."""
        agents = [p for m in self.nodes.values() for p in (m.agent, m.kubelet)]
        return [self.controller, *self.others, *agents]
