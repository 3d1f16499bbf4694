"""Releasing: a device's provisioner frees what it stands for outside the cluster.

Calls run in the background, at most one a device; the key comes back when its call has ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Key
from elasticgpu.errors import NotFound, Retry
from elasticgpu.provisioner import overrides
from elasticgpu.rules import releasing
from elasticgpu.rules.releasing import Decision, ReleaseView

from .asking import Asking
from .world import World


@dataclass
class Releasing:
    """The calls of `release`, by the uid of the device; `again(key, seconds)` asks for a look."""

    world: World
    again: Callable[[Key, float], None]
    asked: dict[str, Asking] = field(default_factory=dict)

    def look(self, device: ElasticGPU) -> Decision:
        """What is to be done next to free it."""
        plugin = self.world.plugins.get(device.spec.source.driver)
        asking = self._asking(device)
        answer = asking.look()
        return releasing.decide(
            ReleaseView(
                device,
                installed=plugin is not None,
                asks=plugin is not None and overrides(plugin, "release"),
                answer=answer,
                calling=asking.calling,
                due=asking.due,
            )
        )

    async def call(self, device: ElasticGPU) -> None:
        """Begin a call, unless the device has changed since it was decided."""
        try:
            live = await self.world.client.get(ElasticGPU, device.key)
        except NotFound:
            return
        if live.metadata.resource_version != device.metadata.resource_version:
            self.world.devices.observed(live)
            raise Retry(f"ElasticGPU {device.name} was seen too late", after=0.05)
        plugin = self.world.runners[device.spec.source.driver]
        self._asking(device).start(plugin, lambda: plugin.release(device))

    def forget(self, uid: str) -> None:
        """The device is gone, or is not to be released any more."""
        self.asked.pop(uid, None)

    def tells(self, device: ElasticGPU, reason: str) -> bool:
        """Whether what is known is to be written now: at once under a new reason, else in time."""
        return self._asking(device).tells(reason == device.status.reason)

    def _asking(self, device: ElasticGPU) -> Asking:
        if device.uid not in self.asked:
            self.asked[device.uid] = Asking(lambda seconds: self.again(device.key, seconds))
        return self.asked[device.uid]
