"""What the demo sees of the cluster, as it happens: over a watch, like anybody else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Event, Pod
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.api.meta import KubeObject
from elasticgpu.cli.columns import phase
from elasticgpu.cluster.client import Client
from elasticgpu.cluster.informer import Change

from .expecting import Expected
from .screen import Screen, short
from .seen import Seen

_PASSING = ("FailedScheduling", "Scheduled", "Started")
"""Events that say what phases say too, or are over in a moment."""

_LONGEST = 120
"""Characters of an event's text that are shown."""


class Follower:
    """Tells what changes, and waits for what is to come."""

    def __init__(self, client: Client, screen: Screen) -> None:
        self.seen = Seen(client)
        self._screen = screen
        self._changed = asyncio.Event()
        self._told: dict[str, str] = {}
        for informer in self.seen.informers:
            informer.subscribe(self._change)

    async def run(self) -> None:
        """Watch, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for informer in self.seen.informers:
                group.create_task(informer.run())

    async def missing(self, expected: Iterable[Expected], seconds: float) -> list[str]:
        """Wait until all of it has come; what has not after so many seconds."""
        left = [one for one in expected if not one.holds(self.seen)]
        try:
            async with asyncio.timeout(seconds):
                while left:
                    self._changed.clear()
                    await self._changed.wait()
                    left = [one for one in left if not one.holds(self.seen)]
        except TimeoutError:
            pass
        return [one.what for one in left]

    def _change(self, change: Change[Any]) -> None:
        self._changed.set()
        obj = change.new or change.old
        if isinstance(obj, Event):
            self._event(obj)
        elif obj is not None and not isinstance(obj, GPU):
            self._tell(obj, "deleted" if change.new is None else _state(obj))
        if self._screen.live:
            self._screen.status(self._progress())

    def _tell(self, obj: KubeObject, state: str) -> None:
        """Say a state once, while it lasts."""
        if state and self._told.get(obj.uid) != state:
            self._told[obj.uid] = state
            self._screen.news(_WORDS[type(obj)], short(obj.name), state)

    def _event(self, event: Event) -> None:
        said = event.model_extra or {}
        reason, uid = said.get("reason", ""), event.uid
        if reason not in _PASSING and uid not in self._told:
            self._told[uid] = reason
            about = said.get("regarding", {})
            name = f"{about.get('kind', '').lower()}/{about.get('name', '')}"
            self._screen.news("event", name, f"{reason}: {_cut(said.get('note', ''))}")

    def _progress(self) -> str:
        claims, pods = self.seen.claims.values(), self.seen.pods.values()
        bound = sum(claim.status.phase == "Bound" for claim in claims)
        running = sum(pod.status.phase == "Running" for pod in pods)
        forest = self.seen.forest()
        return (
            f"{len(forest.cards)} cards, {forest.held} of {forest.size} held · "
            f"{bound} of {len(claims)} claims bound · {running} of {len(pods)} pods running"
        )


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


_WORDS = {ElasticGPU: "device", ElasticGPUClaim: "claim", Pod: "pod"}


def _state(obj: KubeObject) -> str:
    """What a person wants to know of it, in a few words."""
    if obj.terminating:
        return "Terminating"
    if isinstance(obj, ElasticGPU):
        parts = obj.spec.source.devices
        where = f" on {parts[0].gpu}" if parts else ""
        return f"{phase(obj)}{where}"
    if isinstance(obj, ElasticGPUClaim):
        to = f" to {short(obj.spec.elastic_gpu_name)}" if obj.status.phase == "Bound" else ""
        return f"{phase(obj)}{to}"
    assert isinstance(obj, Pod)  # nothing else is watched
    where = f" on {obj.spec.node_name}" if obj.spec.node_name else ""
    return f"{obj.status.phase}{where}"
