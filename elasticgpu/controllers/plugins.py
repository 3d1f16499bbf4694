"""Where strangers' coroutines run: each plugin on an event loop of its own, in a thread of its own.

A call that awaits for ever is cancelled after the plugin's `timeout`; one that blocks its loop
holds up its own plugin's calls. Neither is waited for, not even at the end of the process.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from elasticgpu.provisioner import ElasticGPU, Provisioner

log = logging.getLogger(__name__)
T = TypeVar("T")

START = 10.0
"""Seconds in which a thread has to start."""


class Plugin:
    """One provisioner and the thread of its calls, which starts with the first of them."""

    def __init__(self, provisioner: Provisioner) -> None:
        self.provisioner = provisioner
        self._loop: asyncio.AbstractEventLoop | None = None
        self._slots = asyncio.Semaphore(provisioner.concurrency)
        self._over = asyncio.Event()

    @property
    def name(self) -> str:
        """The provisioner's name."""
        return self.provisioner.name

    def release(self, device: ElasticGPU) -> Awaitable[None]:
        """The call that frees this device, by the parameters it was made with."""
        return self.provisioner.of(device).release(device)

    def start(self, call: Callable[[], Awaitable[T]]) -> asyncio.Future[T]:
        """Begin a call; what it answers or raises comes as a future of the caller's loop."""
        if self._loop is None:
            self._loop = self._started()
        return asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(self._in_turn(call), self._loop)
        )

    def close(self) -> None:
        """Have the thread end, when it can; it is not waited for."""
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended already
                self._loop.call_soon_threadsafe(self._over.set)

    def _started(self) -> asyncio.AbstractEventLoop:
        ready: Future[asyncio.AbstractEventLoop] = Future()
        thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(ready)), name=self.name, daemon=True
        )
        thread.start()
        return ready.result(START)

    async def _serve(self, ready: Future[asyncio.AbstractEventLoop]) -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(_Threads(max_workers=1))
        ready.set_result(loop)
        await self._over.wait()

    async def _in_turn(self, call: Callable[[], Awaitable[T]]) -> T:
        async with self._slots, asyncio.timeout(self.provisioner.timeout):
            try:
                return await call()
            except (SystemExit, KeyboardInterrupt) as error:  # these would end the loop
                raise RuntimeError(repr(error)) from error


class _Threads(ThreadPoolExecutor):
    """A thread a call for `asyncio.to_thread`, none of which holds up the end of the process."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        threading.Thread(target=run, daemon=True).start()
        return future
