"""The cards of this node as GPU objects: before any claim, and for as long as the node lives.

A card that is found gets an object, which the Node owns: it goes with that. What was found is
applied to its status, and only if it differs. A card that is not found any more keeps its object,
unhealthy, for devices may still lie on it. Nothing is ever written that is already so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol

from elasticgpu.api.core import Node
from elasticgpu.api.gpu import GPU, GPUSpec, GPUStatus
from elasticgpu.api.meta import ObjectMeta, OwnerReference
from elasticgpu.api.quantity import to_int
from elasticgpu.cluster.backoff import jittered
from elasticgpu.errors import AlreadyExists, ElasticGPUError, NotFound, Refused, Retry
from elasticgpu.host import Nvml

from .fleet import Fleet
from .ports import Api

log = logging.getLogger(__name__)

MANAGER = "elasticgpu-agent"
"""Field manager of everything in a GPU's status but `allocated` and `conditions`."""
PERIOD = 60.0
"""Seconds between two looks at the cards."""
OURS = tuple(name for name in GPUStatus.model_fields if name not in ("allocated", "conditions"))
GONE = "the card was not found on its node; delete this object if it was taken out"


class Source(Protocol):
    """Where cards come from."""

    async def cards(self) -> list[GPU]:
        """The cards found now, by index. Raises Retry if they cannot be looked at."""


class Published(Protocol):
    """This node's GPU objects, as far as they are known: an informer."""

    def values(self) -> list[GPU]:
        """All of them."""

    def observed(self, obj: GPU) -> None:
        """Take in the answer to an own write, ahead of its event."""


class Simulated:
    """Made-up cards, from a fleet."""

    def __init__(self, fleet: Fleet, node: str) -> None:
        self._cards = fleet.cards(node)

    async def cards(self) -> list[GPU]:
        """The fleet's cards of this node."""
        return self._cards


class InMigMode:
    """Cards as another source finds them, each with the MIG mode it is in now."""

    def __init__(self, source: Source, nvml: Nvml) -> None:
        self._source = source
        self._nvml = nvml

    async def cards(self) -> list[GPU]:
        """See `Source`."""
        return [await self._told(card) for card in await self._source.cards()]

    async def _told(self, card: GPU) -> GPU:
        if not card.status.mig:
            return card
        with suppress(Refused):  # the library knows no mode of it
            now, pending = await self._nvml.mig_mode(card.name)
            return card.but(status=card.status.but(mig_mode=now, mig_mode_pending=pending))
        return card


class Inventory:
    """The node's cards, found and published."""

    def __init__(
        self,
        api: Api,
        node: str,
        source: Source,
        published: Published,
        modes: Callable[[], Mapping[str, str]],
    ) -> None:
        """`modes` answers the backend that has each card now, by name of the card."""
        self._api = api
        self._node = node
        self._source = source
        self._published = published
        self._modes = modes
        self._woken = asyncio.Event()
        self.cards: Mapping[str, GPU] = {}
        """Those found in the last look, by name."""

    def wake(self) -> None:
        """Something changed: look now."""
        self._woken.set()

    async def look(self) -> None:
        """Look which cards there are."""
        self.cards = {card.name: card for card in await self._source.cards()}

    async def run(self) -> None:
        """Look and publish, each minute and whenever woken, for ever."""
        failures = 0
        while True:
            self._woken.clear()
            try:
                await self.look()
                await self.publish()
                failures = 0
            except ElasticGPUError as error:
                failures += 1
                log.warning("cards are not published: %s", error)
            pause = jittered(failures, base=1.0, cap=PERIOD) if failures else PERIOD
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._woken.wait()

    async def publish(self) -> None:
        """Write what differs between the cards and their objects. Raises Retry without a Node."""
        owner = await self._owner()
        there = {gpu.name: gpu for gpu in self._published.values()}
        modes = self._modes()
        for name, card in self.cards.items():
            status = card.status.but(mode=modes.get(name, ""))
            await self._publish(card, status, there.get(name), owner)
        for name, gpu in there.items():
            if name not in self.cards:
                status = gpu.status.but(health="Unknown", health_message=GONE)
                await self._publish(gpu, status, gpu, owner)

    async def _owner(self) -> OwnerReference:
        """The Node, as it is called now: made anew under its name it has another uid."""
        try:
            node = await self._api.get(Node, ("", self._node))
        except NotFound:
            raise Retry(f"there is no node {self._node}: its cards are nowhere", PERIOD) from None
        return OwnerReference(api_version="v1", kind="Node", name=node.name, uid=node.uid)

    async def _publish(
        self, card: GPU, status: GPUStatus, there: GPU | None, owner: OwnerReference
    ) -> None:
        if there is None:
            await self._create(card, owner)
        elif owner not in there.metadata.owner_references:
            self._published.observed(await self._api.replace(owned(there, owner)))
        if there is not None and not differs(there.status, status):
            return
        body = {"status": body_of(status)}
        self._published.observed(
            await self._api.apply(GPU, card.key, body, manager=MANAGER, subresource="status")
        )
        if there is None or there.status.health != status.health:
            log.info("GPU %s, %s: %s", card.name, status.model, status.health)

    async def _create(self, card: GPU, owner: OwnerReference) -> None:
        meta = ObjectMeta(name=card.name, owner_references=[owner])
        bare = GPU(metadata=meta, spec=GPUSpec(node_name=card.spec.node_name))
        with suppress(AlreadyExists):
            await self._api.create(bare)


def owned(gpu: GPU, node: OwnerReference) -> GPU:
    """The card as this Node's, and no earlier one's of the name."""
    others = [one for one in gpu.metadata.owner_references if one.kind != node.kind]
    return gpu.with_metadata(owner_references=[*others, node])


def differs(there: GPUStatus, wanted: GPUStatus) -> bool:
    """Whether any field of ours is not as wanted."""
    return to_int(there.memory) != to_int(wanted.memory) or any(
        getattr(there, name) != getattr(wanted, name) for name in OURS if name != "memory"
    )


def body_of(status: GPUStatus) -> dict[str, Any]:
    """Our fields as they are applied; empty ones are left out."""
    filled = status.model_dump(mode="json", by_alias=True, include=set(OURS), exclude_unset=True)
    return {name: value for name, value in filled.items() if value not in ("", [])}
