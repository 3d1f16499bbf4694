"""The controller process: all loops over one world, by the one that holds the lease."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from elasticgpu.cluster.client import Client
from elasticgpu.cluster.events import Recorder
from elasticgpu.cluster.lease import Elector
from elasticgpu.provisioner import Provisioner, discover

from .binder import Binder
from .classes import Classes
from .holders import Holders
from .inventory import Inventory
from .nodes import Nodes
from .pods import Pods
from .protection import Protection
from .provisioning import Provisioning
from .reclaimer import Reclaimer
from .sweep import sweep
from .templates import Templates
from .world import World

log = logging.getLogger(__name__)
LEASE = "elasticgpu-controller"


@dataclass(frozen=True)
class ControllerConfig:
    """How one controller process runs. `namespace` is where its lease lives."""

    identity: str
    namespace: str = "elasticgpu-system"
    leader_elect: bool = True
    workers: int = 16


async def run(
    client: Client, config: ControllerConfig, *, ready: asyncio.Event | None = None
) -> None:
    """Run until cancelled, or until the lease is lost.

    `ready` is set while it stands by, and while it leads with filled caches.
    """
    ready = ready or asyncio.Event()
    plugins = discover()
    log.info("provisioners: %s", ", ".join(sorted(plugins)) or "none")

    async def lead() -> None:
        ready.clear()
        await control(client, config, plugins, ready)

    if not config.leader_elect:
        return await lead()
    elector = Elector(client, namespace=config.namespace, name=LEASE, identity=config.identity)
    ready.set()
    await elector.run(lead)


async def control(
    client: Client,
    config: ControllerConfig,
    plugins: Mapping[str, Provisioner],
    ready: asyncio.Event,
) -> None:
    """All loops, until cancelled."""
    world = World(client, plugins)
    recorder = Recorder(client, controller=LEASE, instance=config.identity)
    pods = Pods(world, recorder)
    provisioning = Provisioning(world, recorder)
    provisioning.subscribe()
    binder = Binder(world, recorder)
    loops = (
        binder,
        Reclaimer(world, recorder),
        Protection(world, recorder),
        Classes(world, recorder),
        Holders(world),
        Nodes(world),
        pods,
        Templates(world, ask=pods.queue.add),
        Inventory(world, busy=lambda: len(binder.queue) > 0),
    )
    for loop in loops:
        loop.subscribe()
    try:
        async with world.watching(), asyncio.TaskGroup() as group:
            ready.set()
            log.info("leading: caches are filled, %d loops start", len(loops) + 1)
            group.create_task(recorder.run())
            group.create_task(sweep(client))
            group.create_task(provisioning.queue.run(provisioning.reconcile, config.workers))
            for loop in loops:
                group.create_task(loop.queue.run(loop.reconcile, workers=config.workers))
    finally:
        for runner in world.runners.values():
            runner.close()
        await recorder.flush(timeout=2)
