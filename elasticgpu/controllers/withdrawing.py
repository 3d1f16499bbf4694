"""Withdrawing: allocations go, then the devices behind them; see `rules/withdrawing.py`.

Whoever hands a device to another pod meanwhile goes first, and what is being withdrawn is handed
to nobody: each says here what it is about to write.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from elasticgpu.api.core import ResourceClaim
from elasticgpu.api.meta import labels_match
from elasticgpu.cluster.clock import timestamp
from elasticgpu.errors import Retry
from elasticgpu.rules.allocation import unallocated
from elasticgpu.rules.reclaiming import in_phase
from elasticgpu.rules.transaction import WITHDRAWN
from elasticgpu.rules.withdrawing import Stake, Withdraw

from .world import SELECTED, World

SOON = 0.1
"""Seconds after which a device is looked at again that somebody else is writing about."""


async def withdraw(world: World, order: Withdraw) -> None:
    """Carry it out. Raises Conflict if the scheduler, or anybody else, was there first; Retry if
    somebody got or gets the claim meanwhile."""
    pod = order.pod
    if order.words:
        world.tenants.refused.setdefault(pod.uid, {})[order.node] = order.words
    with withdrawing(world, {stake.device.name for stake in order.stakes}):
        for resource_claim in order.resource_claims:
            await write(world, unallocated(resource_claim))
        world.tenants.occupancy.give_up(pod.uid)
        said = order.words or "another of its claims was withdrawn from there"
        for stake in order.stakes:
            _check(world, stake)
            message = f"pod {pod.namespace}/{pod.name} was not scheduled to {order.node}: {said}"
            new = in_phase(
                stake.device, "Released", now=timestamp(), reason=WITHDRAWN, message=message
            )
            await world.replace(new, "status")


def _check(world: World, stake: Stake) -> None:
    """Raise Retry unless the claim is held by those for whom it was decided."""
    claim = world.claims.get(stake.claim.key)
    same = claim is not None and claim.status.users == stake.claim.status.users
    if not same or stake.claim.key in world.granting:
        raise Retry(f"claim {stake.claim.name} is being handed to another pod", after=SOON)


@contextmanager
def withdrawing(world: World, devices: set[str]) -> Iterator[None]:
    """Nobody is handed these devices meanwhile. Raises Retry if somebody just is."""
    if devices & world.handing.keys():
        raise Retry("a device to be withdrawn is being handed to a pod", after=SOON)
    world.withdrawing |= devices
    try:
        yield
    finally:
        world.withdrawing -= devices


@contextmanager
def handing(world: World, device: str) -> Iterator[None]:
    """The device is not withdrawn meanwhile. Raises Retry if it just is."""
    if device in world.withdrawing:
        raise Retry(f"ElasticGPU {device} is being withdrawn", after=SOON)
    world.handing[device] += 1
    try:
        yield
    finally:
        world.handing[device] -= 1
        if not world.handing[device]:
            del world.handing[device]


async def write(world: World, resource_claim: ResourceClaim) -> None:
    """Write a ResourceClaim's status by compare-and-swap."""
    written = await world.client.replace(resource_claim, "status")
    if labels_match(SELECTED, written.metadata.labels):
        # Without the label no event would ever correct it in the cache.
        world.resource_claims.observed(written)
