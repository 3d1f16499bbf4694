"""What the agent's core works with: the API server, the ledger, the CDI folder, cards, plugins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from weakref import WeakValueDictionary

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.errors import ElasticGPUError, Refused, Retry
from elasticgpu.provisioner import Provisioner

from .cdi import Folder
from .host import Machine, NodeHost
from .ledger import Ledger, Record
from .ports import Api

T = TypeVar("T")

PLUGIN_TIMEOUT = 30.0
"""Seconds a provisioner may take to prepare or to undo."""


class Locks:
    """One lock a name, for as long as somebody holds or awaits it."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, name: str) -> asyncio.Lock:
        """The lock of this name."""
        return self._locks.setdefault(name, asyncio.Lock())


@dataclass
class Node:
    """This node. `cards` are those found in the last look, by the name of their GPU object.

    Whoever wants several locks takes them in the order `claims` (by ResourceClaim uid),
    `devices` (by ElasticGPU name), `pods` (by uid), `judging`.
    """

    name: str
    api: Api
    ledger: Ledger
    folder: Folder
    provisioners: Mapping[str, Provisioner]
    cards: Callable[[], Mapping[str, GPU]]
    machine: Machine
    claims: Locks = field(default_factory=Locks)
    devices: Locks = field(default_factory=Locks)
    pods: Locks = field(default_factory=Locks)
    judging: asyncio.Lock = field(default_factory=asyncio.Lock)
    listed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once it is known which devices the API server has here: see `adopt`."""
    unsure: dict[str, ElasticGPU] = field(default_factory=dict)
    """Those of them, by uid, about which ledger and API server are not at one yet."""

    def listing(self) -> AsyncIterator[ElasticGPU]:
        """The devices that are on this node by the API server's word."""
        return self.api.list(ElasticGPU, field_selector=f"spec.nodeName={self.name}")

    def host(self, record: Record) -> NodeHost:
        """The node as a plugin sees it for this record."""
        driver = record.device.spec.source.driver
        return NodeHost(self.name, self.cards(), record.tag, driver, self.machine)

    def plugin(self, device: ElasticGPU) -> Provisioner:
        """The provisioner of the device, with the parameters that it was made with.

        Raises Refused if it is not installed here, or knows no such parameters.
        """
        driver = device.spec.source.driver
        if driver not in self.provisioners:
            known = ", ".join(sorted(self.provisioners)) or "none"
            raise Refused(f"provisioner {driver} is not installed on this node; installed: {known}")
        return self.provisioners[driver].of(device)


async def ask_plugin(driver: str, answer: Awaitable[T]) -> T:
    """A plugin's answer, its own failures renamed. Raises Retry if it takes too long."""
    try:
        async with asyncio.timeout(PLUGIN_TIMEOUT):
            return await answer
    except ElasticGPUError:
        raise
    except TimeoutError as error:
        raise Retry(f"provisioner {driver} did not answer in {PLUGIN_TIMEOUT:.0f} s") from error
    except Exception as error:
        raise Refused(f"provisioner {driver} failed: {type(error).__name__}: {error}") from error
