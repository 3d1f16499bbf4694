"""What every test of the transport room has at hand."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from elasticgpu.cluster.access import Access
from elasticgpu.cluster.client import Client
from tests.cluster.fixtures import control_plane

from .fake import FakeServer

__all__ = ["client", "control_plane", "server"]


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    """A scripted server; the test fails if something was asked that it does not script."""
    fake = FakeServer()
    await fake.start()
    yield fake
    await fake.stop()
    assert fake.surprises == []


@pytest.fixture
async def client(server: FakeServer) -> AsyncIterator[Client]:
    """A client of the scripted server."""
    async with Client(Access(server.url)) as client:
        yield client
