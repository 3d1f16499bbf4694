"""A node: its cards, what is on its disk, what runs on it, its agent and its kubelet. The machine
below them loses its power or its network, and comes back."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elasticgpu.agent import ledger as ledger_module
from elasticgpu.agent.agent import Agent, AgentConfig, machine_of
from elasticgpu.agent.settle import restore
from elasticgpu.api.core import ResourceClaim
from elasticgpu.api.gpu import GPU
from elasticgpu.cluster.events import Recorder
from elasticgpu.errors import ElasticGPUError, Retry
from elasticgpu.testing.apiserver import DirectClient
from elasticgpu.testing.apiserver.users import User
from elasticgpu.testing.simulation.cluster import account
from elasticgpu.testing.simulation.kubelet import Kubelet

from .process import Process

if TYPE_CHECKING:
    from .town import Town

SYSTEM = ("system:authenticated",)
AGAIN = 60.0
"""Seconds until a kubelet asks again after a refusal."""


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
        machine = await machine_of(self.config, self.cards)
        agent = Agent(client, self.config, self.cards, machine)
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
