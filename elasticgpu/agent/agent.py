"""The agent process: who starts when, so that no claim meets a half-awake node.

Ledger → cards → CDI files of what is in use → sockets → registration; publishing the cards and
telling the API server what was released go on beside it, for as long as the API server takes.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from elasticgpu.api.core import Pod
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.cluster.client import Client
from elasticgpu.cluster.events import Recorder
from elasticgpu.cluster.informer import Informer
from elasticgpu.errors import Refused
from elasticgpu.provisioner import discover

from . import devices, dra, fleet, local
from .adopt import Adopter
from .cdi import Folder
from .host import Machine
from .inventory import InMigMode, Inventory, Simulated, Source
from .ledger import Ledger
from .node import Node
from .prepare import Preparer
from .resize import Resizer
from .settle import Settler, restore
from .simulated import SimulatedNvml

log = logging.getLogger(__name__)

FLUSH = 2.0
"""Seconds for what is still to be said when the agent stops."""


@dataclass(frozen=True)
class AgentConfig:
    """What an agent is told: its node, its directories, and made-up cards if any.

    `kubelet_dir` is the kubelet's root directory, `cdi_dir` one the container runtime reads,
    `state_dir` outlives the process and the boot, `run_dir` only the process. `simulate` is a fleet
    file; `machine` is what plugins touch, if that is not to be this one.
    """

    node_name: str
    kubelet_dir: Path
    cdi_dir: Path
    state_dir: Path
    simulate: Path | None = None
    run_dir: Path = Path("/run/elasticgpu")
    machine: Machine | None = None


async def run(client: Client, config: AgentConfig, *, ready: asyncio.Event | None = None) -> None:
    """Be this node's agent until cancelled. `ready` is set once the kubelet can call.

    Raises Refused, with the way out, for what no waiting mends.
    """
    source = cards_of(config)
    with held(config.state_dir):
        config.cdi_dir.mkdir(parents=True, exist_ok=True)
        agent = Agent(client, config, source, await machine_of(config, source))
        await agent.inventory.look()
        await restore(agent.node)
        async with agent.working(), dra.serving(config.kubelet_dir, agent.preparer):
            log.info("node %s: %d cards", config.node_name, len(agent.inventory.cards))
            if ready is not None:
                ready.set()
            await asyncio.Event().wait()


class Agent:
    """The parts of one agent, wired."""

    def __init__(
        self, client: Client, config: AgentConfig, source: Source, machine: Machine
    ) -> None:
        ledger = Ledger.load(config.state_dir / "ledger.json")
        name = config.node_name
        self.published = Informer(client, GPU, field_selector=f"spec.nodeName={name}")
        found = InMigMode(source, machine.nvml)
        self.inventory = Inventory(client, name, found, self.published, ledger.modes)
        self.node = Node(
            name=name,
            api=client,
            ledger=ledger,
            folder=Folder(config.cdi_dir),
            provisioners=discover(),
            cards=lambda: self.inventory.cards,
            machine=machine,
        )
        self.placed = Informer(client, ElasticGPU, field_selector=f"spec.nodeName={name}")
        self.resizer = Resizer(self.node, self.placed.values)
        self.placed.subscribe(lambda _: self.resizer.wake())
        self.settler = Settler(self.node)
        self.recorder = Recorder(client, controller="elasticgpu-agent", instance=name)
        self.preparer = Preparer(self.node, self.settler, self.refused)
        self.adopter = Adopter(self.node, self.preparer, self.report)
        ledger.changed = self.inventory.wake

    def refused(self, pod: Pod, reason: str) -> None:
        """Say on the pod why its device is not prepared."""
        self.recorder.event(pod, "Warning", "PrepareRefused", reason, "Prepare")

    def report(self, device: ElasticGPU, said: str) -> None:
        """Say on the device what a person has to look at."""
        self.recorder.event(device, "Warning", "Stranded", said, "Prepare")

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Do what goes on beside the kubelet's calls."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self.published.run(), name="gpus"),
                group.create_task(self.placed.run(), name="devices"),
                group.create_task(self.resizer.run(), name="resizer"),
                group.create_task(self._publish(), name="inventory"),
                group.create_task(self.adopter.run(), name="adopter"),
                group.create_task(self.settler.run(), name="settler"),
                group.create_task(self.recorder.run(), name="events"),
            ]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
                await self.recorder.flush(FLUSH)

    async def _publish(self) -> None:
        await self.published.synced()
        self.published.subscribe(lambda _: self.inventory.wake())
        await self.inventory.run()


def cards_of(config: AgentConfig) -> Source:
    """Where the cards come from. Raises Refused for a fleet file that cannot be used."""
    if config.simulate is None:
        raise Refused("no real cards yet: name a fleet file of made-up ones")
    found = fleet.load(config.simulate)
    if not found.cards(config.node_name):
        names = ", ".join(found.nodes) or "none"
        log.warning("fleet file %s has no node %s: %s", config.simulate, config.node_name, names)
    return Simulated(found, config.node_name)


async def machine_of(config: AgentConfig, source: Source) -> Machine:
    """What plugins touch: what the configuration says, or this machine with these cards."""
    made_up = await source.cards()
    return config.machine or simulated_machine(config.state_dir, config.run_dir, made_up)


def simulated_machine(state_dir: Path, run_dir: Path, cards: Iterable[GPU] = ()) -> Machine:
    """This machine with its files and programs, but made-up cards."""
    return Machine(
        nvml=SimulatedNvml(cards),
        files=local.LocalFiles(),
        run=local.run,
        nodes=lambda card: devices.nodes(card, devices.MADE_UP),
        capabilities=devices.made_up_capabilities,
        state_dir=state_dir / "plugins",
        run_dir=run_dir,
    )


@contextmanager
def held(state_dir: Path) -> Iterator[None]:
    """Hold the state directory, so that no second agent writes it. Raises Refused if one does."""
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (state_dir / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Refused(
                f"another agent works with {state_dir}: stop it, or give this one a --state-dir"
            ) from error
        yield
