"""Classes: whether each can serve, in its conditions, for the admin who made it.

One key is one class. Which provisioners are installed does not change while the process lives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial, reduce

from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import Key, merge_condition
from elasticgpu.cluster.clock import timestamp
from elasticgpu.cluster.events import Recorder
from elasticgpu.cluster.informer import Change
from elasticgpu.cluster.workqueue import WorkQueue
from elasticgpu.rules.accepting import Say, judge

from .views import class_view
from .world import World


@dataclass
class Classes:
    """The loop over ElasticGPUClasses."""

    world: World
    recorder: Recorder
    queue: WorkQueue[Key] = field(default_factory=lambda: WorkQueue("classes"))

    def subscribe(self) -> None:
        """Hear of classes."""
        self.world.classes.subscribe(self._class_changed)

    def _class_changed(self, change: Change[ElasticGPUClass]) -> None:
        if change.new is not None:
            self.queue.add(change.new.key)

    async def reconcile(self, key: Key) -> None:
        """Say of one class what is not said yet."""
        gpu_class = self.world.classes.get(key)
        if gpu_class is None or gpu_class.terminating:
            return
        match judge(class_view(self.world, gpu_class)):
            case Say(conditions, warning):
                if warning:
                    self.recorder.event(gpu_class, "Warning", "BadParameters", warning)
                merge = partial(merge_condition, now=timestamp())
                merged = reduce(merge, conditions, list(gpu_class.status.conditions))
                status = gpu_class.status.but(conditions=merged)
                await self.world.classes.write(gpu_class.but(status=status), "status")
            case None:
                pass
