"""Provisioners for tests: a backend that keeps what it made, and says what it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from elasticgpu.provisioner import (
    CardSlice,
    ContainerEdits,
    Demand,
    ElasticGPU,
    Host,
    NodeView,
    Provisioner,
    Request,
    Slice,
)


class Plain(Provisioner):
    """Core and memory of the first card that has both; nothing outside the cluster."""

    name = "example.com/plain"

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        for card in node.cards:
            if want.core <= card.core_free and want.memory <= card.memory_free:
                part = CardSlice(gpu=card.name, core=want.core, memory=want.memory)
                return Slice((part,), {"cut": card.name})
        return None

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        raise AssertionError("there is no node")


Step = Callable[["Backend", Any], Any]
"""What a call does instead of succeeding: raise, answer, or wait."""


@dataclass(frozen=True)
class Asset:
    """What the backend made for a name."""

    node: str
    parts: tuple[str, ...]


class Backend(Plain):
    """Makes an asset for each request, outside the cluster. `script` is what the next calls do."""

    name = "example.com/backend"
    timeout = 30.0  # longer than any pause of a busy machine

    def __init__(self) -> None:
        self.assets: dict[str, Asset] = {}
        self.requests: list[Request] = []
        self.releases: list[ElasticGPU] = []
        self.script: list[Step] = []
        self.release_script: list[Step] = []

    async def provision(self, request: Request) -> ElasticGPU:
        self.requests.append(request)
        if self.script:
            answer = self.script.pop(0)(self, request)
            made: ElasticGPU = await answer if asyncio.iscoroutine(answer) else answer
            return made
        return self.make(request)

    def make(self, request: Request) -> ElasticGPU:
        """The asset of this name, made now or before."""
        parts = tuple(part.gpu for part in request.place.devices)
        made = self.assets.setdefault(request.name, Asset(request.node, parts))
        assert made == Asset(request.node, parts), "a second request asks for another place"
        return request.device(handle=f"asset-of-{request.name}")

    async def release(self, device: ElasticGPU) -> None:
        self.releases.append(device)
        if self.release_script:
            answer = self.release_script.pop(0)(self, device)
            if asyncio.iscoroutine(answer):
                await answer
            return
        self.assets.pop(device.spec.source.handle.removeprefix("asset-of-"), None)


def raises(error: BaseException, *, made: bool = False) -> Step:
    """A call that fails; with `made` after it has made its asset."""

    def step(backend: Backend, request: Any) -> Any:
        if made:
            backend.make(request)
        raise error

    return step


def answers(change: Callable[[ElasticGPU], object]) -> Step:
    """A call that makes its asset and answers something else."""
    return lambda backend, request: change(backend.make(request))
