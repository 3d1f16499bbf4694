"""A plugin that hangs, blocks or is slow harms its own claims only; and it is asked in turn."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from elasticgpu.controllers import asking
from elasticgpu.provisioner import ElasticGPU, Request

from .plugins import Backend
from .stage import Stage


class Other(Backend):
    """A second backend."""

    name = "example.com/other"


@pytest.fixture
def block() -> Iterator[threading.Event]:
    """What a blocking call waits for; set at the end, so that its thread can go."""
    event = threading.Event()
    yield event
    event.set()


async def both_go_on(stage: Stage, other: Other) -> None:
    """Claims of another plugin and of one that builds the object alone are bound."""
    for number in range(8):
        stage.ask(f"plain{number}", of="plain", core=5)
        stage.ask(f"other{number}", of="other", core=5)
    names = [f"{kind}{number}" for kind in ("plain", "other") for number in range(8)]
    await stage.until(lambda: all(stage.bound(name) for name in names))
    assert len(other.assets) == 8


async def begin(stage: Stage) -> Other:
    """A node more, or the cards of one backend would leave none to the others; both backends."""
    other = Other()
    stage.add_class(other)
    stage.add_card("node-c")
    await stage.start(other)
    return other


async def test_awaiting_for_ever(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is cancelled after its time, said, and asked again; others do not notice."""
    monkeypatch.setattr(Backend, "timeout", 0.2)
    cancelled: list[str] = []

    async def hangs(backend: Backend, request: Any) -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(request.name)
            raise

    stage.backend.script = [hangs] * 40
    other = await begin(stage)
    for number in range(20):  # more than all workers, and than the plugin's turns
        stage.ask(f"hung{number}", core=5)
    await both_go_on(stage, other)
    await stage.until(lambda: "did not answer in time" in stage.says("ProvisioningFailed", "hung0"))
    assert cancelled
    stage.backend.script.clear()
    await stage.until(lambda: all(stage.bound(f"hung{number}") for number in range(20)))


async def test_blocking_its_loop(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, block: threading.Event
) -> None:
    """Nothing can cancel that; it is said, others go on, and the answer counts when it comes."""
    monkeypatch.setattr(Backend, "timeout", 0.2)
    monkeypatch.setattr(asking, "GRACE", 0.1)

    def blocks(backend: Backend, request: Request) -> ElasticGPU:
        block.wait()
        return backend.make(request)

    stage.backend.script = [blocks]
    other = await begin(stage)
    for number in range(20):
        stage.ask(f"hung{number}", core=5)
    await both_go_on(stage, other)
    await stage.until(lambda: "does not even time out" in stage.says("ProvisioningFailed", "hung0"))
    block.set()
    await stage.until(lambda: all(stage.bound(f"hung{number}") for number in range(20)))
    assert len(stage.backend.assets) == 20


async def test_blocking_in_release(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, block: threading.Event
) -> None:
    """Twenty devices whose release blocks: others are bound, and reclaimed."""
    monkeypatch.setattr(Backend, "timeout", 0.2)
    monkeypatch.setattr(asking, "GRACE", 0.1)
    other = await begin(stage)
    for number in range(20):
        stage.ask(f"hung{number}", core=5)
    await stage.until(lambda: all(stage.bound(f"hung{number}") for number in range(20)))
    stage.backend.release_script = [lambda backend, device: block.wait()] * 20
    for number in range(20):
        stage.delete(f"hung{number}")
    await both_go_on(stage, other)
    for number in range(8):
        stage.delete(f"other{number}")
    await stage.until(lambda: not other.assets)
    block.set()
    stage.backend.release_script.clear()
    await stage.until(lambda: len(stage.devices()) == 8)


async def test_at_most_so_many_at_once(stage: Stage) -> None:
    """Calls of one plugin wait for each other beyond its `concurrency`."""
    now, most = 0, 0

    async def counts(backend: Backend, request: Any) -> Any:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return backend.make(request)

    stage.backend.script = [counts] * 20
    await stage.start()
    for number in range(20):
        stage.ask(f"c{number}", core=5)
    await stage.until(lambda: all(stage.bound(f"c{number}") for number in range(20)))
    assert most == Backend.concurrency == 8


HANGS = """
import asyncio, sys, time
from elasticgpu.controllers.plugins import Plugin
from tests.controllers.plugins import Backend

async def waits(): await asyncio.Event().wait()
async def blocks(): time.sleep(3600)
async def asks(): await asyncio.to_thread(time.sleep, 3600)
async def clings():
    while True:
        try: await asyncio.sleep(3600)
        except asyncio.CancelledError: pass

async def main():
    plugin = Plugin(Backend())
    plugin.start({"waits": waits, "blocks": blocks, "asks": asks, "clings": clings}[sys.argv[1]])
    await asyncio.sleep(0.2)
    plugin.close()

asyncio.run(main())
print("ended")
"""


@pytest.mark.parametrize("how", ["waits", "blocks", "asks", "clings"])
def test_the_end_of_the_process_waits_for_nobody(how: str) -> None:
    """Whatever a plugin is doing, the process ends."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(HANGS), how],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("ended\n", 0), done.stderr
