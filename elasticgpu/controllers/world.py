"""What the loops know: informers, the ledger they feed, and what is decided but not yet written.

Between a decision and its first write nothing is awaited but the write itself, and what the
decision takes (room on a card, a free device) is marked here before that, so two decisions can
never take the same.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from elasticgpu.api.claim import ElasticGPUClaim, ElasticGPUClaimTemplate
from elasticgpu.api.core import Node, Pod, ResourceClaim, ResourceClaimTemplate
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import Key
from elasticgpu.api.names import PODS_LABEL
from elasticgpu.cluster.client import Client
from elasticgpu.cluster.informer import Change, Informer
from elasticgpu.errors import Forbidden, Invalid, NotFound
from elasticgpu.provisioner import Provisioner, Request
from elasticgpu.rules.classes import in_effect
from elasticgpu.rules.ledger import Ledger
from elasticgpu.rules.ledger import holds as holds_room
from elasticgpu.rules.nodes import closed
from elasticgpu.rules.requests import build
from elasticgpu.rules.stock import Stock

from . import indexes
from .plugins import Plugin
from .tenants import Tenants
from .works import Work, Works, recall, record, ref

log = logging.getLogger(__name__)

T = TypeVar("T", ElasticGPU, ElasticGPUClaim)
COMPLAIN = 20.0
"""Seconds without a first list after which the log says which one is missing."""

SELECTED = {PODS_LABEL: "true"}
SELECTOR = f"{PODS_LABEL}=true"


class World:
    """All the controllers know of the cluster."""

    def __init__(self, client: Client, plugins: Mapping[str, Provisioner]) -> None:
        self.client = client
        self.plugins = plugins
        self.runners = {name: Plugin(plugin) for name, plugin in plugins.items()}
        """Where the plugins' own `provision` and `release` run."""
        self.works = Works()
        """Claims for which a provisioner is at work."""
        self.ledger = Ledger()
        self.stock = Stock()
        self.assumed: dict[str, ElasticGPU] = {}
        """Devices being made, or whose create was never answered, by name: they hold room."""
        self.growing: dict[str, ElasticGPU] = {}
        """Devices that are being written with more memory, by name: they hold that much already."""
        self.taken: dict[str, str] = {}
        """Free devices a bind has chosen and not yet written: name → claim uid."""
        self.granting: dict[Key, frozenset[str]] = {}
        """Pods to whom a claim is being handed, not yet written: claim → pod uids."""
        self.locking: set[Key] = set()
        """Claims that are being made, or whose first write, the lock, is under way."""
        self.handing: Counter[str] = Counter()
        """Devices that are being allocated to pods, and to how many."""
        self.withdrawing: set[str] = set()
        """Devices that are being withdrawn: nobody is allocated them."""
        self.tenants = Tenants(client)
        self._freed: list[Callable[[], None]] = []
        self.foreign: set[Key] = set()
        """ResourceClaimTemplates that have a name of ours and are somebody else's."""
        self.gpus = Informer(client, GPU)
        self.devices = Informer(
            client,
            ElasticGPU,
            indexes=indexes.DEVICES,
        )
        self.claims = Informer(
            client,
            ElasticGPUClaim,
            indexes=indexes.CLAIMS,
        )
        self.classes = Informer(client, ElasticGPUClass)
        self.nodes = Informer(client, Node)
        self.claim_templates = Informer(client, ElasticGPUClaimTemplate)
        self.pods = Informer(
            client,
            Pod,
            label_selector=SELECTOR,
            indexes=indexes.PODS,
        )
        self.resource_claims = Informer(
            client, ResourceClaim, label_selector=SELECTOR, indexes=indexes.RESOURCE_CLAIMS
        )
        self.templates = Informer(client, ResourceClaimTemplate, label_selector=SELECTOR)
        self.classes.subscribe(self.tenants.class_changed)
        self.pods.subscribe(self.tenants.pod_changed)
        self.gpus.subscribe(self._gpu_changed)
        self.nodes.subscribe(self._node_changed)
        self.devices.subscribe(self._device_changed)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Keep all informers going; entered once every one of them has its first list."""
        informers = (
            self.gpus,
            self.devices,
            self.claims,
            self.classes,
            self.nodes,
            self.claim_templates,
            self.pods,
            self.resource_claims,
            self.templates,
        )
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(informer.run()) for informer in informers]
            tasks.append(group.create_task(self.tenants.run()))
            for informer in informers:
                await _filled(informer)
            if self.tenants.wanted:
                await _filled(self.tenants.informer)
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()

    async def replace(self, new: T, subresource: str = "") -> T:
        """Write one of our objects by compare-and-swap; the loops see the answer at once."""
        if isinstance(new, ElasticGPU):
            return await self.devices.write(new, subresource)
        return await self.claims.write(new, subresource)

    def _node_changed(self, change: Change[Node]) -> None:
        old, new = change.old, change.new
        name = (new or old or Node()).name
        was, now = (closed(name, node) for node in (old, new))
        self.ledger.set_node(name, now)
        if was and not now:
            self._tell_freed()

    def _gpu_changed(self, change: Change[GPU]) -> None:
        if change.new is not None:
            node = change.new.spec.node_name
            self.ledger.set_node(node, closed(node, self.nodes.get(("", node))))
            self.ledger.set_card(change.new)
        elif change.old is not None:
            self.ledger.drop_card(change.old.name)

    def _device_changed(self, change: Change[ElasticGPU]) -> None:
        if change.new is not None:
            self.assumed.pop(change.new.name, None)
            self.ledger.set_device(self._largest(change.new))
            self.stock.put(change.new)
        elif change.old is not None:
            self.growing.pop(change.old.name, None)
            self.stock.drop(change.old.name)
            if change.old.name not in self.assumed:
                self.ledger.drop_device(change.old.name)
        held, holds_now = (device is not None and holds_room(device) for device in pair(change))
        if held and not holds_now:
            self._tell_freed()

    def _largest(self, device: ElasticGPU) -> ElasticGPU:
        """The device as it counts. A growth that was sent for one version of it can only come true
        at that version: any other says what became of it."""
        sent = self.growing.get(device.name)
        if sent and sent.metadata.resource_version == device.metadata.resource_version:
            return sent
        if self.growing.pop(device.name, None) is not None:
            self._tell_freed()
        return device

    def on_freed(self, handler: Callable[[], None]) -> None:
        """Call `handler` whenever a device gives room back, or a node takes new ones again."""
        self._freed.append(handler)

    def _tell_freed(self) -> None:
        for handler in self._freed:
            handler()

    def unanswered(self, key: Key) -> list[ElasticGPU]:
        """Devices of this claim whose create was sent and never answered."""
        sent = (device for device in self.assumed.values() if device.claim_uid not in self.works)
        refs = ((device, device.spec.claim_ref) for device in sent)
        return [device for device, ref in refs if ref is not None and ref.key == key]

    def begin(self, request: Request) -> None:
        """Have a provisioner make a device at the place that was chosen; room is counted now."""
        self._begin(request, Work(ref(request.claim), request.claim, record(request)))

    def resume(self, claim: ElasticGPUClaim) -> None:
        """Go on with what is written down on the claim: its provisioner may have been asked."""
        written = claim.status.provisioning
        if written is not None:
            work = Work(ref(claim), claim, written, asked=True)
            self._begin(recall(claim, written), work)

    def _begin(self, request: Request, work: Work) -> None:
        self.assume(build(request.gpu_class.spec.provisioner, request))
        self.works.add(work)

    def end(self, work: Work) -> None:
        """The provisioner is at work for this claim no longer: its room is a device's, or free."""
        request = recall(work.claim, work.request)
        self.works.end(work.ref)
        self.forget(build(work.request.provisioner, request))

    def assume(self, device: ElasticGPU) -> None:
        """Count a device from now on, before its create is sent."""
        self.assumed[device.name] = device
        self.ledger.set_device(device)

    def forget(self, device: ElasticGPU) -> None:
        """The device was refused for certain: it never was, or is what is stored by its name."""
        self.assumed.pop(device.name, None)
        stored = self.devices.get(device.key)
        if stored is None:
            self.ledger.drop_device(device.name)
            self._tell_freed()
        else:
            self.ledger.set_device(stored)

    async def grow(self, larger: ElasticGPU) -> ElasticGPU:
        """Write a device that has more memory, which counts from now on; unless it is refused for
        certain, until it is known what became of it."""
        self.growing[larger.name] = larger
        self.ledger.set_device(larger)
        try:
            return await self.replace(larger)
        except (Forbidden, Invalid, NotFound):
            self.growing.pop(larger.name, None)
            self.forget(larger)
            self._tell_freed()
            raise

    @contextmanager
    def locked(self, keys: Iterable[Key]) -> Iterator[None]:
        """Nobody else decides about these claims meanwhile."""
        mine = set(keys)
        self.locking |= mine
        try:
            yield
        finally:
            self.locking -= mine

    def class_in_effect(self, claim: ElasticGPUClaim) -> str | None:
        """Name of the class the claim has: its own, else the default; None if there is neither."""
        return in_effect(claim, self.classes.values())

    def class_of(self, claim: ElasticGPUClaim) -> ElasticGPUClass | None:
        """The class in effect, if it exists."""
        name = self.class_in_effect(claim)
        return self.classes.get(("", name)) if name else None

    def device_of(self, claim: ElasticGPUClaim) -> ElasticGPU | None:
        """The device a claim names."""
        name = claim.spec.elastic_gpu_name
        return self.devices.get(("", name)) if name else None


async def _filled(informer: Informer[Any]) -> None:
    """Wait for its first list, and say for which kind as long as that takes."""
    while not informer.has_synced:
        try:
            async with asyncio.timeout(COMPLAIN):
                await informer.synced()
        except TimeoutError:
            log.error("still no list of %s: nothing can be done yet", informer.kind.__name__)


def pair(change: Change[ElasticGPU]) -> tuple[ElasticGPU | None, ElasticGPU | None]:
    """Before and after."""
    return (change.old, change.new)
