"""Prepare and Unprepare: where a bound device becomes real for one pod, and stops being so.

The kubelet asks for one ResourceClaim at a time; the fronts (DRA, later the device plugin) only
translate. Every step can be done twice, and the process may die after any of them: the kubelet
asks again, or says Unprepare. The order is what makes that safe:

1. `resolve`: whose device it is, read live; what may still come true is waited for.
2. The node judges: what is materialised here already leaves room for it.
3. The ledger says `preparing`, on disk.
4. The device gets our finalizer, then the pod's uid in `status.preparedFor`.
5. The claim is read again: it must still be handed to this pod.
6. The provisioner makes the device usable and says what a container needs.
7. The CDI file is there.
8. The ledger says `ready`; only then the kubelet hears of it.

Unprepare goes the other way: provisioner, CDI file, ledger `released`; then the kubelet hears of
it, and `settle` tells the API server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from elasticgpu.api.core import Pod
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Key
from elasticgpu.api.names import REMOTE
from elasticgpu.cluster.backoff import jittered
from elasticgpu.errors import Retry, Throttled, Unavailable

from . import cdi
from .ledger import Record
from .materialise import materialise
from .node import Node
from .resolve import RefusedPod, concerning, resolve
from .settle import Settler, finish, release

T = TypeVar("T")

PATIENCE = 40.0
"""Seconds to wait for what may still come true: the kubelet hangs up after 45, and comes back only
a minute later."""
NOT_COMPARED = "the agent has not compared its ledger with the API server yet"

Tell = Callable[[Pod, str], None]
"""Says a refusal where the person looks: an event on the pod."""


@dataclass(frozen=True)
class PreparedDevice:
    """What the kubelet hears of one prepared device."""

    request: str
    pool: str
    device: str
    cdi_id: str


class Preparer:
    """Prepare and Unprepare of this node."""

    def __init__(self, node: Node, settler: Settler, tell: Tell) -> None:
        self._node = node
        self._settler = settler
        self._tell = tell

    async def prepare(self, key: Key, uid: str) -> list[PreparedDevice]:
        """Make the device of this ResourceClaim usable for its pod; asked again, the same answer.

        Raises Retry if it may work later, Refused with the reason if not, ApiError.
        """
        return await _see_through(self._prepare(key, uid))

    async def unprepare(self, uid: str) -> None:
        """Undo it, all of it that is on the node; never heard of it is success.

        Raises what the provisioner raises.
        """
        await _see_through(self._unprepare(uid))

    async def _prepare(self, key: Key, uid: str) -> list[PreparedDevice]:
        async with self._node.claims.of(uid):
            record = self._node.ledger.get(uid)
            if record is not None and record.state == "ready":
                return self._again(record)
            try:
                return self._answer(await patiently(lambda: self._attempt(key, uid), PATIENCE))
            except RefusedPod as error:
                self._tell(error.pod, error.reason)
                raise
            finally:
                self._settler.wake()

    async def _attempt(self, key: Key, uid: str) -> Record:
        node = self._node
        if not node.listed.is_set():
            raise Retry(NOT_COMPARED, after=0.0)
        asked = await resolve(node.api, node.name, key, uid)
        if asked.device.uid in node.unsure:
            raise Retry(NOT_COMPARED, after=0.0)
        with concerning(asked.pod):
            await self._clear(uid, asked.device)
            async with node.devices.of(asked.device.name):
                return await materialise(node, asked)

    async def _clear(self, uid: str, device: ElasticGPU) -> None:
        """Finish what is left of an earlier use of the same ResourceClaim."""
        record = self._node.ledger.get(uid)
        if record is None or (record.live and record.device.uid == device.uid):
            return
        async with self._node.devices.of(record.device.name):
            released = await release(self._node, record) if record.live else record
            await finish(self._node, released)

    def _again(self, record: Record) -> list[PreparedDevice]:
        if record.edits is not None and not self._node.folder.has(record.uid):
            self._node.folder.write(record.uid, record.edits)
        return self._answer(record)

    def _answer(self, record: Record) -> list[PreparedDevice]:
        cdi_id = cdi.device_id(record.uid)
        pool = record.device.spec.node_name or REMOTE
        return [PreparedDevice(record.request, pool, record.device.name, cdi_id)]

    async def _unprepare(self, uid: str) -> None:
        node = self._node
        async with node.claims.of(uid):
            record = node.ledger.get(uid)
            if record is None and (node.unsure or not node.listed.is_set()):
                raise Retry(NOT_COMPARED)
            if record is not None and record.live:
                async with node.devices.of(record.device.name):
                    await release(node, record)
        self._settler.wake()


async def patiently(ask: Callable[[], Awaitable[T]], seconds: float) -> T:
    """The answer, asked for again while it is "not yet". Raises Retry once the time is over."""
    last, failures = "the API server does not answer", 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    return await ask()
                except (Retry, Throttled, Unavailable) as error:
                    wish = error.after if isinstance(error, Retry) else error.retry_after
                    last, failures = str(error), failures + 1
                await asyncio.sleep(max(wish or 0.0, jittered(failures, base=0.1, cap=1.0)))
    except TimeoutError:
        raise Retry(f"not within {seconds:.0f} s: {last}") from None


async def _see_through(work: Coroutine[Any, Any, T]) -> T:
    """Work that goes on when its caller hangs up: a half Prepare is no use, the retry awaits it."""
    return await asyncio.shield(asyncio.ensure_future(work))
