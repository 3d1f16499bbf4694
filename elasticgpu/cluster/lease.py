"""Who of several controllers acts: the holder of a Lease, taken and renewed by compare-and-swap.

Before anything happens to a claim, somebody leads. Decisions use this machine's monotonic clock
alone: a lease is free when it has not been *seen to change* for its duration. Wall-clock times
are written for people to read and are never compared.

    waiting ──► leading ──► the leader coroutine ended or crashed, or `run` was cancelled: released
                   └──────► not renewed for `renew` seconds: cancelled, before anybody may take it
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from elasticgpu.api.core import Lease
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.errors import Conflict, ElasticGPUError, NotFound

from .client import Client
from .clock import microtime

log = logging.getLogger(__name__)


class Elector:
    """One candidate for one lease. `identity` must differ between candidates.

    Seconds: others may take the lease `duration` after its last renewal; the leader is stopped
    `renew` after it, so it has `duration - renew` to stop; attempts are `retry` apart.
    """

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        name: str,
        identity: str,
        duration: float = 15.0,
        renew: float = 10.0,
        retry: float = 2.0,
    ) -> None:
        if not 0 < retry < renew < duration:
            raise ValueError("a lease needs 0 < retry < renew < duration")
        self._client = client
        self._key = (namespace, name)
        self._identity = identity
        self._duration, self._renew, self._retry = duration, renew, retry
        self._lease: Lease | None = None
        self._seen_at = 0.0
        self._valid_until = 0.0

    @property
    def holder(self) -> str:
        """Who holds the lease, as last seen; empty for nobody."""
        return str((self._lease.spec.get("holderIdentity") if self._lease else None) or "")

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease, then run `lead()` while holding it.

        Returns when `lead` has ended or the lease is lost; what `lead` raises passes through.
        Either way `lead` has stopped and the lease, if still held, is released.
        """
        await self._wait()
        log.info("%s leads (%s)", self._identity, "/".join(self._key))
        try:
            await self._lead(lead)
        finally:
            await self._release()

    async def _wait(self) -> None:
        while True:
            if await self._try():
                return
            await asyncio.sleep(self._retry * random.uniform(1.0, 1.2))

    async def _lead(self, lead: Callable[[], Awaitable[None]]) -> None:
        leader = asyncio.ensure_future(lead())
        renewal = asyncio.create_task(self._keep(), name="lease")
        try:
            await asyncio.wait((leader, renewal), return_when=asyncio.FIRST_COMPLETED)
            if not leader.done():
                log.error("%s lost the lease to %s", self._identity, self.holder or "nobody")
        finally:
            await self._stop(leader, renewal)
        if not leader.cancelled():
            leader.result()

    @staticmethod
    async def _stop(leader: asyncio.Future[None], renewal: asyncio.Task[None]) -> None:
        leader.cancel()
        try:
            # The renewal goes on while the leader stops: its last writes are still covered.
            await asyncio.wait((leader,))
        finally:
            renewal.cancel()

    async def _keep(self) -> None:
        """Renew the lease; ends when it is lost."""
        with suppress(TimeoutError):
            while self.holder == self._identity:
                async with asyncio.timeout_at(self._valid_until):
                    await asyncio.sleep(self._retry)
                    await self._try()

    async def _try(self) -> bool:
        """One attempt to take or renew, in time for another one; whether it succeeded."""
        try:
            async with asyncio.timeout(self._renew / 2):
                return await self._take()
        except Conflict as error:
            log.debug("lease: %s", error)
        except (ElasticGPUError, TimeoutError) as error:
            log.warning("lease %s: %r", "/".join(self._key), error)
        return False

    async def _take(self) -> bool:
        started = asyncio.get_running_loop().time()
        try:
            self._see(await self._client.get(Lease, self._key))
        except NotFound:
            self._see(await self._client.create(self._new()))
        else:
            if not self._free():
                return False
            self._see(await self._client.replace(self._ours()))
        # Counted from before the request: nobody can have seen the renewal earlier than that.
        self._valid_until = started + self._renew
        return True

    def _see(self, lease: Lease) -> None:
        if self._lease is None or lease.spec != self._lease.spec:
            self._seen_at = asyncio.get_running_loop().time()
        self._lease = lease

    def _free(self) -> bool:
        assert self._lease is not None
        lasts = self._lease.spec.get("leaseDurationSeconds") or self._duration
        expired = asyncio.get_running_loop().time() >= self._seen_at + lasts
        return expired or self.holder in ("", self._identity)

    def _new(self) -> Lease:
        namespace, name = self._key
        now = microtime()
        spec = {"acquireTime": now, "leaseTransitions": 0, **self._renewed(now)}
        return Lease(metadata=ObjectMeta(name=name, namespace=namespace), spec=spec)

    def _ours(self) -> Lease:
        assert self._lease is not None
        now, old = microtime(), self._lease.spec
        spec = {**old, **self._renewed(now)}
        if self.holder != self._identity:
            spec["acquireTime"] = now
            spec["leaseTransitions"] = (old.get("leaseTransitions") or 0) + 1
        return self._lease.but(spec=spec)

    def _renewed(self, now: str) -> dict[str, Any]:
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": math.ceil(self._duration),
            "renewTime": now,
        }

    async def _release(self) -> None:
        """Say that nobody holds it, so that the next one need not wait for it to expire."""
        if self._lease is None or self.holder != self._identity:
            return
        spec = {**self._lease.spec, "holderIdentity": "", "renewTime": microtime()}
        try:
            async with asyncio.timeout(self._renew / 2):
                await self._client.replace(self._lease.but(spec=spec))
        except (ElasticGPUError, TimeoutError) as error:
            log.info("lease %s not released: %r", "/".join(self._key), error)
