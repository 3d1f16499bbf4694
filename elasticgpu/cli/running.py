"""How a long-running command lives: logging, signals, health, and an exit code that tells why."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

import click

from elasticgpu.errors import ApiError, ElasticGPUError, Refused

if TYPE_CHECKING:
    from elasticgpu.cluster.client import Client

log = logging.getLogger("elasticgpu")
T = TypeVar("T")


Work = Callable[..., Awaitable[None]]
"""What a process does: `work(client, ready=event)`; it sets the event once it can serve."""


def run_process(
    what: str, kubeconfig: str | None, health_port: int, verbose: bool, work: Work
) -> None:
    """Run `work` with a connected client until it ends, fails, or a signal comes.

    Exits with 0 after SIGTERM or Ctrl-C, with 1 and one sentence on stderr otherwise.
    """
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO,
        format="%(asctime)s %(levelname).1s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    for noisy in ("asyncio", "aiohttp", "kubernetes_asyncio", "grpc"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_supervise(kubeconfig, health_port, work))
    except* (ElasticGPUError, OSError) as failures:
        for failure in flat(failures):
            click.echo(f"elasticgpu {what}: {failure}", err=True)
        sys.exit(1)


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's, where it is installed: it takes about a quarter off the cost of a request."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def run_here(what: str, work: Coroutine[Any, Any, T], verbose: bool) -> T:
    """What `work` answers, done in this process without a cluster.

    Ctrl-C ends it in order, and so does SIGTERM where `work` sees to that. Exits with 1 and a
    sentence on stderr if it fails.
    """
    logging.basicConfig(
        level=logging.INFO if verbose else logging.ERROR, format="%(name)s: %(message)s"
    )
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    try:
        return _finished(work)
    except* (ElasticGPUError, OSError) as failures:
        for failure in flat(failures):
            click.echo(f"elasticgpu {what}: {failure}", err=True)
        sys.exit(1)


def _finished(work: Coroutine[Any, Any, T]) -> T:
    try:
        return asyncio.run(work)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def flat(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    """The failures of a group and of the groups in it."""
    found: list[BaseException] = []
    for error in group.exceptions:
        found += flat(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


async def _supervise(kubeconfig: str | None, health_port: int, work: Work) -> None:
    from elasticgpu.cluster.client import Client

    loop = asyncio.get_running_loop()
    stop, ready = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with await Client.connect(kubeconfig=kubeconfig) as client:
        task = asyncio.ensure_future(_work(client, ready, work))
        stopped = asyncio.ensure_future(stop.wait())
        async with health(health_port, ready):
            await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if stop.is_set():
            log.info("stopping")
            task.cancel()
            await asyncio.wait((task,), timeout=10)
            return
        await task


async def _work(client: Client, ready: asyncio.Event, work: Work) -> None:
    await refuse_strangers(client)
    await work(client, ready=ready)


async def refuse_strangers(client: Client) -> None:
    """Raise Refused if the cluster's kinds of our names are somebody else's.

    A server that gives no answer is no proof: the work waits for it, or says what is missing.
    """
    from elasticgpu.api.foreign import strangers
    from elasticgpu.api.meta import GROUP, VERSION

    try:
        served = await client.raw("GET", f"/apis/{GROUP}/{VERSION}")
    except ApiError:
        return
    if said := strangers(served):
        raise Refused(said)


class health:  # noqa: N801 # reads as the context it is
    """Serves /livez and /readyz on a port while entered; port 0 serves nothing."""

    def __init__(self, port: int, ready: asyncio.Event) -> None:
        self.port = port
        self.ready = ready

    async def __aenter__(self) -> None:
        if not self.port:
            return
        from aiohttp import web

        async def live(_: web.Request) -> web.Response:
            return web.Response(text="ok\n")

        async def readiness(_: web.Request) -> web.Response:
            if self.ready.is_set():
                return web.Response(text="ok\n")
            return web.Response(status=503, text="starting: see the log for what is missing\n")

        app = web.Application()
        app.add_routes([web.get("/livez", live), web.get("/readyz", readiness)])
        self.runner = web.AppRunner(app, access_log=None)
        await self.runner.setup()
        await web.TCPSite(self.runner, port=self.port).start()

    async def __aexit__(self, *_: object) -> None:
        if self.port:
            await self.runner.cleanup()
