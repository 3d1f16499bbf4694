"""The demo from its first line to its exit code."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Pod
from elasticgpu.cli import explaining
from elasticgpu.cli.printing import memory, width
from elasticgpu.cli.session import Session
from elasticgpu.cli.surveying import Survey
from elasticgpu.cluster.client import Client
from elasticgpu.cluster.clock import timestamp
from elasticgpu.rules import why_claim
from elasticgpu.testing.apiserver import ApiServer, serving, standing
from elasticgpu.testing.simulation import Cluster, simulated

from . import drawing
from .expecting import within_cards
from .following import Follower
from .screen import Screen
from .script import STEPS
from .steps import HERE, Steps

UNSERVED = "too-large"
OPENED = ("qgpu-pod", "inference")
"""Pods whose containers are looked into."""
CLOSING = "To try things with kubectl: make demo ARGS=--keep, or elasticgpu demo --keep"


async def run(*, keep: bool) -> bool:
    """Show everything; whether all came as the script says."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None  # a coroutine is run by one
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    screen = Screen()
    screen.line("Everything below is in this process: API server, controller and agents are real;")
    screen.line("simulated are the nodes, their cards, kubelets and scheduler. No container runs.")
    with tempfile.TemporaryDirectory(prefix="elasticgpu-") as folder:
        async with _cluster(Path(folder)) as (cluster, client, kubeconfig):
            demo = Demo(screen, cluster, client)
            missing = await demo.all()
            if keep and not missing:
                screen.title("Staying up; Ctrl-C ends it. In another terminal:")
                screen.line(f"export KUBECONFIG={kubeconfig}")
                if not shutil.which("elasticgpu"):
                    screen.line(f'export PATH="{Path(sys.executable).parent}:$PATH"')
                screen.line("kubectl get elasticgpuclaims --watch")
                await asyncio.Event().wait()
            elif not missing:
                screen.line(CLOSING)
    return not missing


@asynccontextmanager
async def _cluster(folder: Path) -> AsyncIterator[tuple[Cluster, Client, Path]]:
    """The simulated cluster, a client that comes over HTTP, and a kubeconfig for others."""
    server, kubeconfig = ApiServer(), folder / "kubeconfig"
    async with serving(server) as url, simulated(server, HERE / "fleet.yaml", folder) as cluster:
        kubeconfig.write_text(standing.kubeconfig(url), encoding="utf-8")
        async with await Client.connect(kubeconfig=str(kubeconfig)) as client:
            yield cluster, client, kubeconfig


class Demo:
    """The steps of the script, done on a cluster and told on a screen."""

    def __init__(self, screen: Screen, cluster: Cluster, client: Client) -> None:
        self._screen = screen
        self._cluster = cluster
        self._client = client
        self._follower = Follower(client, screen)

    async def all(self) -> list[str]:
        """Do everything; what did not come as the script says."""
        await self._cluster.published()
        following = asyncio.create_task(self._follower.run())
        try:
            for informer in self._follower.seen.informers:
                await informer.synced()
            self._fleet()
            missing = await self._steps()
        finally:
            following.cancel()
            self._screen.status("")
        self._tree()
        if not missing:
            await self._why()
        self._end(missing)
        return missing

    async def _steps(self) -> list[str]:
        """Do the steps, up to the first of which something is missing; what that is."""
        steps = Steps(self._screen, self._client, self._follower)
        for step in STEPS:
            if missing := await steps.do(step):
                return missing
        return self._checked()

    def _fleet(self) -> None:
        forest = self._follower.seen.forest()
        self._screen.title(f"{len(forest.nodes)} nodes with {len(forest.cards)} cards")
        for node in forest.nodes:
            models = ", ".join(f"{card.model} {memory(card.size.memory)}" for card in node.cards)
            self._screen.line(f"  {node.name}: {models}")

    def _checked(self) -> list[str]:
        """What is wrong with the whole: oversold cards, containers without their device."""
        seen = self._follower.seen
        found = [f"card {name} not oversold" for name in within_cards(seen)]
        for pod in seen.pods.values():
            if pod.status.phase == "Running" and not self._environment(pod):
                found.append(f"device in the container of pod {pod.name}")
        return found

    def _environment(self, pod: Pod) -> list[str]:
        """What the container of a pod was given."""
        containers = self._cluster.environment(pod.uid)
        return [line for lines in containers.values() for line in lines]

    def _tree(self) -> None:
        seen = self._follower.seen
        for pod in filter(None, map(seen.pod, OPENED)):
            self._screen.title(f"What the containers of pod {pod.name} were given")
            for line in self._environment(pod):
                self._screen.line(f"  {line}")
        self._screen.title("Who holds what of which card")
        for line in drawing.lines(seen.forest(), width()):
            self._screen.line(line)

    async def _why(self) -> None:
        self._screen.title(f"$ elasticgpu why claim/{UNSERVED}")
        session = Session(self._client, "the demo", "default", timestamp())
        claim = await session.one(ElasticGPUClaim, ("default", UNSERVED))
        answer = why_claim.explain(await Survey(session).claim(claim))
        for line in explaining.lines(answer, session.now, width()):
            self._screen.line(line)

    def _end(self, missing: list[str]) -> None:
        if missing:
            self._screen.title(f"{len(missing)} things did not come as the script says")
            for one in missing:
                self._screen.line(f"  {one}")
            return
        self._screen.title(f"All of it came as the script says, in {self._screen.seconds:.1f} s")
