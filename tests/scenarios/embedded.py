"""The embedded API server as a place for runs: in process, its clock the event loop's."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random

import pytest

from elasticgpu.controllers.plugins import Plugin
from elasticgpu.testing.apiserver import ApiServer, DirectClient
from elasticgpu.testing.simulation.installing import install

from .accounts import ACCOUNTS, CONTROLLER, TOKEN_REQUEST
from .run import Site

ORDERS = 2
"""So many orders of tasks' steps are played, with the seeds from 1 on, if nobody says otherwise."""


async def embedded_site(nothing: Path, seed: int = 1) -> Site:
    """A server of its own with the chart's kinds and policies; `seed` makes its names and uids."""
    loop, now = asyncio.get_running_loop(), datetime.now(UTC)
    began = now - timedelta(seconds=loop.time())
    server = ApiServer(clock=lambda: began + timedelta(seconds=loop.time()), random=Random(seed))
    install(server)
    admin = DirectClient(server)
    await admin.raw("POST", ACCOUNTS, body={"metadata": {"name": CONTROLLER}})
    issued = await admin.raw("POST", f"{ACCOUNTS}/{CONTROLLER}/token", body=TOKEN_REQUEST)
    connect = partial(DirectClient, server, authorization=f"Bearer {issued['status']['token']}")
    return Site("embedded", admin, connect, nothing)


def on_one_loop(patch: pytest.MonkeyPatch) -> None:
    """Have provisioners run on the controllers' event loop: threads have a time of their own."""
    patch.setattr(Plugin, "start", lambda self, call: asyncio.ensure_future(self._in_turn(call)))
