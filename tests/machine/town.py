"""A cluster of three nodes: what is real in it, and what is simulated, in one thread and in the
loop's own time. Controller and agents are processes that can die; the machines below can, too."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from elasticgpu.agent import fleet
from elasticgpu.agent import ledger as ledger_module
from elasticgpu.agent.agent import Agent, AgentConfig
from elasticgpu.agent.settle import restore
from elasticgpu.api.core import ResourceClaim
from elasticgpu.api.gpu import GPU
from elasticgpu.cluster.events import Recorder
from elasticgpu.controllers import controller
from elasticgpu.controllers.controller import ControllerConfig
from elasticgpu.errors import ElasticGPUError, Retry
from elasticgpu.testing.apiserver import ApiServer, DirectClient
from elasticgpu.testing.apiserver.requests import Answer, Request
from elasticgpu.testing.apiserver.users import User
from elasticgpu.testing.simulation.claims import Claims
from elasticgpu.testing.simulation.cluster import account
from elasticgpu.testing.simulation.installing import NAMESPACE, install
from elasticgpu.testing.simulation.kubelet import Kubelet
from elasticgpu.testing.simulation.scheduler import Scheduler

from .loop import VirtualLoop
from .process import Process

Object = dict[str, Any]
FLEET = "nodes: {node-0: [A10, A10], node-1: [A10], node-2: [A10, A10]}\n"
SYSTEM = ("system:authenticated",)
OURS = "/apis/elasticgpu.io/v1alpha1"
PODS, NODES = "/pods", "/nodes"
DEVICES, CLAIMS = "elasticgpu.io/elasticgpus", "elasticgpu.io/elasticgpuclaims"
AGAIN = 60.0
"""Seconds until a kubelet asks again after a refusal."""
CAPACITY = {"cpu": "32", "memory": "256Gi", "pods": "110"}


@dataclass
class Cards:
    """The cards a node's driver shows: some may be pulled out, some be ill."""

    all: list[GPU]
    out: set[str] = field(default_factory=set)
    ill: set[str] = field(default_factory=set)

    async def cards(self) -> list[GPU]:
        found = [card for card in self.all if card.name not in self.out]
        return [
            card.but(status=card.status.but(health="Unhealthy", health_message="Xid 79"))
            if card.name in self.ill
            else card
            for card in found
        ]


@dataclass(frozen=True)
class Use:
    """A container that runs with a device, as the machine itself knows."""

    pod: str
    device: str
    claim: str
    file: Path


class Machine:
    """A node: what is on its disk, what runs on it, its agent and its kubelet."""

    def __init__(self, town: Town, name: str, cards: list[GPU]) -> None:
        self.name, self.town = name, town
        self.cards = Cards(cards)
        self.boots = 0
        self.uses: dict[str, Use] = {}
        """By uid of the ResourceClaim."""
        home = town.folder / name
        self.boot_id = home / "boot_id"
        self.config = AgentConfig(
            name, home / "kubelet", home / "cdi", home / "state", run_dir=home / "run"
        )
        agent_user = account("elasticgpu-agent", name)
        node = User(f"system:node:{name}", ("system:nodes", *SYSTEM))
        self._preparer: tuple[Any, Any] = (None, None)
        """With the life of the agent whose it is."""
        self.agent = Process(f"agent-{name}", town.server, agent_user, self._run_agent)
        self.kubelet = Process(f"kubelet-{name}", town.server, node, self._run_kubelet)
        for path in (self.config.cdi_dir, self.config.state_dir):
            path.mkdir(parents=True)

    async def _run_agent(self, client: DirectClient) -> None:
        ledger_module.BOOT_ID = self.boot_id
        agent = Agent(client, self.config, self.cards)
        await agent.inventory.look()
        await restore(agent.node)
        async with agent.working():
            self._preparer = (client, agent.preparer)
            await asyncio.Event().wait()

    async def _run_kubelet(self, client: DirectClient) -> None:
        recorder = Recorder(client, controller="kubelet", instance=self.name)
        kubelet = Kubelet(client, self.name, self.config.cdi_dir, recorder)
        async with asyncio.TaskGroup() as group:
            group.create_task(recorder.run())
            group.create_task(kubelet.run(self))  # type: ignore[arg-type] # no socket between

    async def prepare(self, claims: Iterable[ResourceClaim]) -> dict[str, list[str]]:
        """As the driver behind the socket."""
        found: dict[str, list[str]] = {}
        uses: dict[str, Use] = {}
        for claim in claims:
            (device,) = await self._ask("prepare", claim.key, claim.uid)
            kind, _, name = device.cdi_id.partition("=")
            file = self.config.cdi_dir / f"{kind.replace('/', '-')}_{name}.json"
            found[claim.uid] = [device.cdi_id]
            owner = self.town.owner(device.device)
            uses[claim.uid] = Use(claim.pod_uid or "", device.device, owner, file)
        self.uses |= uses  # only now a container starts
        return found

    async def unprepare(self, claims: Iterable[ResourceClaim]) -> None:
        """As the driver behind the socket; containers have ended before."""
        for claim in claims:
            self.uses.pop(claim.uid, None)
            await self._ask("unprepare", claim.uid)

    async def _ask(self, what: str, *args: Any) -> Any:
        life, preparer = self._preparer
        if life is None or life is not self.agent.line:
            raise Retry("the agent does not answer", after=1.0)
        try:
            return await self.agent.call(getattr(preparer, what)(*args))
        except ElasticGPUError as error:
            raise Retry(str(error), after=AGAIN) from error

    def boot(self) -> None:
        """The machine starts: nothing runs, and /run is empty."""
        self.boots += 1
        self.boot_id.write_text(f"{self.name}-{self.boots}")
        shutil.rmtree(self.config.cdi_dir)
        self.config.cdi_dir.mkdir()
        for process in (self.agent, self.kubelet):
            process.off = False
            process.start()

    def off(self) -> None:
        """The machine loses its power."""
        for process in (self.agent, self.kubelet):
            process.off = True
            process.kill()
        self.uses.clear()

    def cut(self, cut: bool) -> None:
        """The machine's network; what runs on it runs on."""
        self.agent.cut = self.kubelet.cut = cut

    @property
    def running(self) -> bool:
        """Whether it has power."""
        return self.kubelet.alive


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
