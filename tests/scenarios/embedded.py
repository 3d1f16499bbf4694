"""The embedded API server as a place for runs: in process, its clock the event loop's."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path
from random import Random

import pytest

from elasticgpu.cluster import clock
from elasticgpu.controllers.plugins import Plugin
from elasticgpu.testing.apiserver import ApiServer, DirectClient
from elasticgpu.testing.simulation.installing import install

from .accounts import ACCOUNTS, CONTROLLER, TOKEN_REQUEST
from .run import Site

ORDERS = 2
"""So many orders of tasks' steps are played, with the seeds from 1 on, if nobody says otherwise."""


class Clock:
    """The event loop's time as a date; it stands in for `datetime` where the library asks."""

    @staticmethod
    def now(zone: tzinfo = UTC) -> datetime:
        """The date and time."""
        passed = timedelta(seconds=asyncio.get_running_loop().time())
        return datetime(2026, 11, 1, tzinfo=zone) + passed


async def embedded_site(nothing: Path, seed: int = 1, ahead: timedelta = timedelta()) -> Site:
    """A server of its own with the chart's kinds and policies; `seed` makes its names and uids, and
    its clock is so far ahead of the controllers'."""
    server = ApiServer(clock=lambda: Clock.now() + ahead, random=Random(seed))
    install(server)
    admin = DirectClient(server)
    await admin.raw("POST", ACCOUNTS, body={"metadata": {"name": CONTROLLER}})
    issued = await admin.raw("POST", f"{ACCOUNTS}/{CONTROLLER}/token", body=TOKEN_REQUEST)
    connect = partial(DirectClient, server, authorization=f"Bearer {issued['status']['token']}")
    return Site("embedded", admin, connect, nothing)


def on_one_loop(patch: pytest.MonkeyPatch) -> None:
    """Have the controllers read the server's clock, and provisioners run on their event loop:
    threads, and the machine's clock, have a time of their own."""
    patch.setattr(clock, "datetime", Clock)
    patch.setattr(Plugin, "start", lambda self, call: asyncio.ensure_future(self._in_turn(call)))
