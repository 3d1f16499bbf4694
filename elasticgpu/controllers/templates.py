"""Templates: a ResourceClaimTemplate exists as long as some pod names it, claim or no claim.

One key is one template. kube-controller-manager makes one ResourceClaim a pod from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from elasticgpu.api.core import Pod, ResourceClaimTemplate
from elasticgpu.api.meta import Key
from elasticgpu.cluster.informer import Change
from elasticgpu.cluster.workqueue import WorkQueue
from elasticgpu.errors import AlreadyExists, NamespaceTerminating, NotFound, Retry
from elasticgpu.rules.entries import entries, has_our_name, is_ours, template

from .world import World

LOOK_AGAIN = 5.0
"""Seconds after which a template that is not ours is looked at again: no watch shows it."""


@dataclass
class Templates:
    """The loop over ResourceClaimTemplates. `ask` has a pod looked at again."""

    world: World
    ask: Callable[[Key], None]
    queue: WorkQueue[Key] = field(default_factory=lambda: WorkQueue("templates"))

    def subscribe(self) -> None:
        """Hear of pods that name a template, and of templates."""
        self.world.pods.subscribe(self._pod_changed)
        self.world.templates.subscribe(self._template_changed)

    def _pod_changed(self, change: Change[Pod]) -> None:
        for pod in (change.old, change.new):
            for entry in entries(pod) if pod else ():
                self.queue.add(entry.template_key)

    def _template_changed(self, change: Change[ResourceClaimTemplate]) -> None:
        found = change.new or change.old
        if found is not None and has_our_name(found.name):
            self.queue.add(found.key)

    async def reconcile(self, key: Key) -> None:
        """Make the template if a pod needs it; delete ours if none does."""
        found = self.world.templates.get(key)
        users = self.world.pods.by_index("template", key)
        needed = any(not pod.finished for pod in users)
        if found is None and needed:
            found = await self._make(key)
        elif found is not None and not users and is_ours(found) and not found.terminating:
            await self.world.client.delete(found)
            self.world.templates.deleted(found)
            return
        foreign = needed and found is not None and not is_ours(found)
        self._judge(key, foreign, users)
        if foreign:
            raise Retry(f"ResourceClaimTemplate {key[1]} is not ours", after=LOOK_AGAIN)

    async def _make(self, key: Key) -> ResourceClaimTemplate | None:
        """The template, made now unless one is there that the cache does not show."""
        try:
            if key in self.world.foreign:
                return await self.world.client.get(ResourceClaimTemplate, key)
        except NotFound:
            pass
        try:
            made = await self.world.client.create(template(key))
        except NamespaceTerminating:
            return None
        except AlreadyExists:
            return await self.world.client.get(ResourceClaimTemplate, key)
        self.world.templates.observed(made)
        return made

    def _judge(self, key: Key, foreign: bool, users: list[Pod]) -> None:
        if foreign == (key in self.world.foreign):
            return
        (self.world.foreign.add if foreign else self.world.foreign.discard)(key)
        for pod in users:
            self.ask(pod.key)
