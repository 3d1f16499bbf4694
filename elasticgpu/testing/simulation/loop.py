"""How each part of the simulation lives: it hears of objects, and reconciles them one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from elasticgpu.api.meta import Key
from elasticgpu.cluster.informer import Change, Informer
from elasticgpu.cluster.workqueue import WorkQueue
from elasticgpu.errors import Conflict, NotFound, Retry

Reconcile = Callable[[Key], Awaitable[None]]


async def run(
    informers: list[Informer[Any]], queue: WorkQueue[Key], reconcile: Reconcile, workers: int = 4
) -> None:
    """Keep the caches filled and the queue worked off, until cancelled."""
    async with asyncio.TaskGroup() as group:
        for informer in informers:
            group.create_task(informer.run())
        for informer in informers:
            await informer.synced()
        group.create_task(queue.run(reconcile, workers=workers))


def by_key(queue: WorkQueue[Key]) -> Callable[[Change[Any]], None]:
    """A handler that has every object looked at that changed."""

    def changed(change: Change[Any]) -> None:
        for obj in (change.new, change.old):
            if obj is not None:
                queue.add(obj.key)

    return changed


@contextmanager
def soon() -> Iterator[None]:
    """What others wrote or deleted meanwhile is looked at again soon."""
    try:
        yield
    except (Conflict, NotFound) as error:
        raise Retry(str(error), after=0.05) from error
