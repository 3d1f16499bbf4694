"""A whole cluster in one process: API server, controller, and for every node of a fleet file an
agent with its kubelet; simulated are the nodes, their cards, kubelets and scheduler."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elasticgpu.agent import agent, fleet
from elasticgpu.agent.agent import AgentConfig
from elasticgpu.api.core import Node
from elasticgpu.api.gpu import GPU
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.cluster.client import Client
from elasticgpu.cluster.clock import timestamp
from elasticgpu.cluster.events import Recorder
from elasticgpu.controllers import controller
from elasticgpu.controllers.controller import ControllerConfig
from elasticgpu.testing.apiserver import ApiServer, DirectClient, User

from .claims import Claims
from .installing import NAMESPACE, install
from .kubelet import Kubelet
from .machine import machine
from .scheduler import Scheduler
from .socket import registered

CAPACITY = {"cpu": "32", "memory": "256Gi", "pods": "110"}
_SYSTEM = ("system:authenticated",)


@dataclass
class Cluster:
    """The cluster while it runs. `client` is an admin's."""

    server: ApiServer
    client: Client
    folder: Path
    fleet: fleet.Fleet
    kubelets: dict[str, Kubelet] = field(default_factory=dict)

    def environment(self, uid: str) -> dict[str, list[str]]:
        """By container, the variables that the devices of a pod brought it."""
        found = (kubelet.environments.get(uid) for kubelet in self.kubelets.values())
        return next((one for one in found if one is not None), {})

    @property
    def cards(self) -> int:
        """How many cards the nodes have together."""
        return sum(len(self.fleet.cards(node)) for node in self.fleet.nodes)

    async def published(self) -> None:
        """Wait until all cards of all nodes are known to the API server."""
        while True:
            found = [gpu async for gpu in self.client.list(GPU)]
            if sum(bool(gpu.status.uuid) for gpu in found) >= self.cards:
                return
            await asyncio.sleep(0.02)


@asynccontextmanager
async def simulated(server: ApiServer, fleet_file: Path, folder: Path) -> AsyncIterator[Cluster]:
    """A cluster on this server with the nodes of the fleet file, while inside.

    `folder` gets a directory for each node; sockets are made in it, so its path has to be short.
    Raises what any part of it raises.
    """
    install(server)
    cluster = Cluster(server, DirectClient(server), folder, fleet.load(fleet_file))
    for name in cluster.fleet.nodes:
        await _make_node(cluster.client, name)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(part) for part in _parts(cluster, fleet_file)]
        try:
            yield cluster
        finally:
            for task in tasks:
                task.cancel()


def _parts(cluster: Cluster, fleet_file: Path) -> list[Coroutine[Any, Any, None]]:
    server = cluster.server
    kubernetes = _client(server, User("system:kube-controller-manager", _SYSTEM))
    scheduler = _client(server, User("system:kube-scheduler", _SYSTEM))
    ours = _client(server, account("elasticgpu-controller"))
    config = ControllerConfig(identity="simulated", namespace=NAMESPACE, leader_elect=False)
    parts = [
        Claims(kubernetes).run(),
        Scheduler(scheduler).run(),
        controller.run(ours, config),
    ]
    for name in cluster.fleet.nodes:
        parts.append(_run_node(cluster, name, fleet_file))
    return parts


async def _run_node(cluster: Cluster, name: str, fleet_file: Path) -> None:
    """A node's agent and kubelet."""
    home, server = cluster.folder / name, cluster.server
    config = AgentConfig(
        node_name=name,
        kubelet_dir=home / "kubelet",
        cdi_dir=home / "cdi",
        state_dir=home / "state",
        simulate=fleet_file,
        machine=machine(name, cluster.fleet.cards(name)),
    )
    identity = account("elasticgpu-agent", name)
    client = _client(server, User(f"system:node:{name}", ("system:nodes", *_SYSTEM)))
    recorder = Recorder(client, controller="kubelet", instance=name)
    kubelet = cluster.kubelets[name] = Kubelet(client, name, config.cdi_dir, recorder)
    ready = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(agent.run(_client(server, identity), config, ready=ready))
        group.create_task(recorder.run())
        await ready.wait()
        async with registered(config.kubelet_dir) as driver:
            await kubelet.run(driver)


def _client(server: ApiServer, user: User) -> DirectClient:
    """A client that comes as this user."""
    return DirectClient(server, authorization=f"Bearer {server.users.issue(user)}")


def account(name: str, node: str = "") -> User:
    """One of the chart's ServiceAccounts; with a node, as a token that is bound to it makes him."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", *_SYSTEM)
    bound = {"authentication.kubernetes.io/node-name": [node]} if node else {}
    return User(f"system:serviceaccount:{NAMESPACE}:{name}", groups, bound)


async def _make_node(client: Client, name: str) -> None:
    now = timestamp()
    fact = {
        "type": "Ready",
        "status": "True",
        "reason": "Simulated",
        "message": "there is no machine behind this node",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    info = {"kubeletVersion": "simulated"}
    status = {"capacity": CAPACITY, "allocatable": CAPACITY, "conditions": [fact], "nodeInfo": info}
    meta = ObjectMeta(name=name, labels=labels)
    await client.create(Node(metadata=meta))
    await client.patch(Node, ("", name), {"status": status}, subresource="status")
