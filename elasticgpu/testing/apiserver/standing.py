"""The server as a process of its own: `elasticgpu apiserver`."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from .server import ApiServer
from .web import serving

USER = "elasticgpu"


def kubeconfig(url: str) -> str:
    """What kubectl needs to find the server."""
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": USER,
        "clusters": [{"name": USER, "cluster": {"server": url}}],
        "users": [{"name": USER, "user": {}}],
        "contexts": [{"name": USER, "context": {"cluster": USER, "user": USER}}],
    }
    return yaml.safe_dump(body, sort_keys=False)


async def stand(
    server: ApiServer, *, host: str, port: int, file: Path | None, say: Callable[[str], None]
) -> None:
    """Serve until SIGTERM or Ctrl-C; `file` is a kubeconfig for as long as that takes.

    Ends by CancelledError, whoever cancels.
    """
    task = asyncio.current_task()
    assert task is not None  # this is one
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, task.cancel)
    async with serving(server, host=host, port=port) as url:
        say(f"API server on {url}, in memory: nothing is kept when it ends")
        with _written(file, kubeconfig(url)):
            if file:
                say(f"export KUBECONFIG={file}")
            await asyncio.Event().wait()


@contextmanager
def _written(file: Path | None, text: str) -> Iterator[None]:
    if file:
        file.touch(mode=0o600)
        file.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        if file:
            file.unlink(missing_ok=True)
