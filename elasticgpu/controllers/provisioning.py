"""Provisioning: a place becomes an ElasticGPU that already points at its claim.

Room is counted before the create is sent and stays counted until a definite answer, so a lost
answer oversells nothing. The name comes from the claim's uid: a second try meets the first one.
"""

from __future__ import annotations

import asyncio

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.errors import (
    AlreadyExists,
    ApiError,
    ElasticGPUError,
    Refused,
    Retry,
    Unavailable,
)
from elasticgpu.provisioner import Provisioner, Request, build
from elasticgpu.rules.binding import Provision

from .world import World

TIMEOUT = 60.0
"""Seconds a provisioner may take for one device; then it is asked again."""


async def provision(world: World, claim: ElasticGPUClaim, place: Provision) -> ElasticGPU:
    """Have the device made by its provisioner, and create it.

    Raises Retry or Refused as the provisioner does, and Retry when it hangs.
    """
    plugin = world.plugins[place.gpu_class.spec.provisioner]
    request = Request(claim, place.gpu_class, place.want, place.node, place.place)
    assumed = build(plugin.name, request)
    world.assume(assumed)
    try:
        device = await _ask(plugin, request)
        check(device, assumed)
    except BaseException:
        world.forget(assumed)
        raise
    world.assume(device)
    return await create(world, device)


async def _ask(plugin: Provisioner, request: Request) -> ElasticGPU:
    try:
        async with asyncio.timeout(TIMEOUT):
            return await plugin.provision(request)
    except TimeoutError:
        raise Retry(f"{plugin.name} did not answer within {TIMEOUT:.0f} s", after=5) from None
    except ElasticGPUError:
        raise
    except Exception as error:
        raise Refused(f"provisioner {plugin.name} failed: {error!r}") from error


def check(device: object, asked: ElasticGPU) -> None:
    """Refuse a provisioner's answer that is not the device that was asked for.

    What a device holds was decided by `place`, under everybody's eyes: an answer may add to the
    handle and the attributes, not choose other cards, nor hide that the controller made it.
    """
    if not isinstance(device, ElasticGPU) or device.name != asked.name:
        raise Refused(f"its provisioner answered {device!r:.100}, not {asked.name}")
    kept = asked.spec.source.but(
        handle=device.spec.source.handle, attributes=device.spec.source.attributes
    )
    if device.but(metadata=asked.metadata) != asked.but(spec=asked.spec.but(source=kept)):
        raise Refused("its provisioner answered another device than placement chose")
    if asked.metadata.annotations.items() - device.metadata.annotations.items():
        raise Refused("its provisioner left out the annotations that say who made the device")


async def create(world: World, device: ElasticGPU) -> ElasticGPU:
    """Create the device; one that exists already is taken if it is this claim's."""
    try:
        created = await world.client.create(device)
    except AlreadyExists:
        created = await world.client.get(ElasticGPU, device.key)
        if created.claim_uid != device.claim_uid:
            world.forget(device)
            raise Refused(f"ElasticGPU {device.name} exists and is not this claim's") from None
    except Unavailable:
        raise
    except ApiError as error:
        world.forget(device)
        raise error
    world.devices.observed(created)
    return created
