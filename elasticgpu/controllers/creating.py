"""Creating: a place becomes an ElasticGPU that already points at its claim.

Room is counted before the create is sent and stays counted until a definite answer, so a lost
answer oversells nothing. The name comes from the claim's uid: a second try meets the first one.
"""

from __future__ import annotations

from pydantic import ValidationError

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.cluster.client import describe
from elasticgpu.errors import AlreadyExists, ApiError, NotFound, Refused, Unavailable
from elasticgpu.provisioner import Request, overrides
from elasticgpu.rules.decisions import Provision
from elasticgpu.rules.requests import build

from .world import World


async def provision(world: World, claim: ElasticGPUClaim, place: Provision) -> ElasticGPU | None:
    """The device of a place that was chosen, created; None if its provisioner makes it itself,
    which the provisioning loop sees to from here on.

    Nothing is awaited before the room is counted. Raises Refused for a place that is none, or as
    `create` does.
    """
    device = take(world, claim, place)
    return await create(world, device) if device is not None else None


def take(world: World, claim: ElasticGPUClaim, place: Provision) -> ElasticGPU | None:
    """Count the room of a place; the device to be created there, or None as above.

    Raises Refused for a place that is none.
    """
    plugin = world.plugins[place.gpu_class.spec.provisioner]
    request = Request(claim, place.gpu_class, place.want, place.node, place.place)
    try:
        if overrides(plugin, "provision"):
            world.begin(request)
            return None
        device = build(plugin.name, request)
    except ValidationError as error:
        raise Refused(f"{plugin.name} chose a place that is none: {describe(error)}") from error
    world.assume(device)
    return device


async def create(world: World, device: ElasticGPU) -> ElasticGPU:
    """Create a device that is counted already; if it is refused for certain, it is no longer.

    Raises Refused if its name is taken, else as `send` does.
    """
    try:
        return await send(world, device)
    except Unavailable:
        raise
    except ApiError as error:
        world.forget(device)
        if isinstance(error, AlreadyExists):
            raise Refused(error.message) from error
        raise


async def send(world: World, device: ElasticGPU) -> ElasticGPU:
    """Send its create; a device that exists already is taken if it is this claim's.

    Raises AlreadyExists if it is another's, Unavailable if nobody can tell, else as the create.
    """
    try:
        return await world.devices.create(device)
    except AlreadyExists:
        created = await _found(world, device)
        world.devices.observed(created)
        return created


async def _found(world: World, device: ElasticGPU) -> ElasticGPU:
    try:
        found = await world.client.get(ElasticGPU, device.key)
    except NotFound:
        raise
    except ApiError as error:
        raise Unavailable(error.status, error.reason, error.message) from error
    if found.claim_uid != device.claim_uid:
        message = f"ElasticGPU {device.name} exists and is not this claim's: delete it"
        raise AlreadyExists(409, "AlreadyExists", message)
    return found
