"""The agent as one process: what it needs to start, and what it does without an API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from elasticgpu.agent.agent import AgentConfig, cards_of, held, run
from elasticgpu.agent.ledger import Ledger, Record
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import ObjectReference
from elasticgpu.cluster.access import Access
from elasticgpu.cluster.client import Client
from elasticgpu.errors import Refused
from elasticgpu.provisioner import ContainerEdits
from tests.agent.kubelet import FakeKubelet
from tests.agent.world import Use, World

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def config() -> Iterator[AgentConfig]:
    """An agent with one card, in directories of its own."""
    with TemporaryDirectory(prefix="agent-") as name:
        root = Path(name)
        (root / "fleet.yaml").write_text("nodes: {node-a: [T4]}")
        yield AgentConfig(
            node_name="node-a",
            kubelet_dir=root / "kubelet",
            cdi_dir=root / "cdi",
            state_dir=root / "state",
            simulate=root / "fleet.yaml",
        )


@asynccontextmanager
async def running(config: AgentConfig) -> AsyncIterator[None]:
    """An agent that is ready, in a cluster whose API server is away; cancelled at the end."""
    ready = asyncio.Event()
    async with Client(Access(NOWHERE)) as client:
        agent = asyncio.create_task(run(client, config, ready=ready))
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait((agent, waiting), return_when=asyncio.FIRST_COMPLETED)
        try:
            assert ready.is_set(), agent.exception()
            yield
        finally:
            waiting.cancel()
            agent.cancel()
            with pytest.raises(asyncio.CancelledError):
                await agent


async def in_use(config: AgentConfig, use: Use) -> None:
    """Leave a ledger that says this use is ready."""
    config.state_dir.mkdir()
    ledger = Ledger.load(config.state_dir / "ledger.json")
    device = {
        "metadata": {"name": "egpu-one", "uid": "uid-of-egpu-one"},
        "spec": {"source": {"driver": "elasticgpu.io/qgpu"}},
    }
    refs = [
        ObjectReference(namespace=o.namespace, name=o.name, uid=o.uid)
        for o in (use.resource_claim, use.pod, use.claim)
    ]
    await ledger.put(
        Record(
            resource_claim=refs[0],
            pod=refs[1],
            claim=refs[2],
            device=ElasticGPU.model_validate(device),
            tag="0",
            request="egpu",
            state="ready",
            boot_id=ledger.boot_id,
            edits=ContainerEdits(env=["A=1"]),
        )
    )


async def test_api_server_away(config: AgentConfig, world: World) -> None:
    """Without an API server the node goes on: CDI files are back, both calls are answered."""
    use = world.use("pod", world.claim("want", world.device()))
    await in_use(config, use)
    file = config.cdi_dir / f"elasticgpu.io-claim_{use.uid}.json"
    kubelet = FakeKubelet(config.kubelet_dir)
    async with running(config), kubelet.registered():
        assert file.exists()
        answers = await kubelet.prepare(use)
        assert answers[use.uid].devices[0].device_name == "egpu-one"
        answers = await kubelet.unprepare(use)
        assert answers[use.uid].error == ""
        assert not file.exists()
    assert not list(config.kubelet_dir.rglob("*.sock"))
    (record,) = Ledger.load(config.state_dir / "ledger.json").all()
    assert record.state == "released"


async def test_starts_again(config: AgentConfig) -> None:
    """Stopped and started, it is there again: nothing of the first run is in the way."""
    for _ in range(2):
        async with running(config), FakeKubelet(config.kubelet_dir).registered() as kubelet:
            assert kubelet.info.name == "elasticgpu.io"


async def test_second_agent(config: AgentConfig) -> None:
    """A second agent on the same state directory is refused, and the first one goes on."""
    async with running(config), Client(Access(NOWHERE)) as client:
        with pytest.raises(Refused, match="another agent works with"):
            await run(client, config)
        async with FakeKubelet(config.kubelet_dir).registered():
            pass


async def test_corrupt_ledger(config: AgentConfig) -> None:
    """A ledger that cannot be understood stops the start before the kubelet can call."""
    config.state_dir.mkdir()
    (config.state_dir / "ledger.json").write_text("{")
    async with Client(Access(NOWHERE)) as client:
        with pytest.raises(Refused, match="cannot be understood"):
            await run(client, config)
    assert not list(config.kubelet_dir.rglob("*.sock"))


def test_lock_ends_with_its_holder(tmp_path: Path) -> None:
    """The state directory is free again when its holder is gone, however it went."""
    with pytest.raises(KeyError), held(tmp_path):
        raise KeyError
    with held(tmp_path):
        pass


def test_no_source(config: AgentConfig, caplog: pytest.LogCaptureFixture) -> None:
    """No fleet file is refused; a fleet that does not name the node is a warning, not an end."""
    with pytest.raises(Refused, match="name a fleet file"):
        cards_of(replace(config, simulate=None))
    cards_of(replace(config, node_name="node-x"))
    assert "has no node node-x: node-a" in caplog.text
