"""A server of this process with our kinds, and the library's own client on it; no sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import cache
from random import Random
from typing import Any

import pytest

from elasticgpu.api import schema
from elasticgpu.testing.apiserver import ApiServer, DirectClient


@pytest.fixture
def server() -> ApiServer:
    """One that serves our kinds."""
    found = ApiServer(random=Random(1))
    for crd in our_crds():
        found.create("apiextensions.k8s.io/v1", "CustomResourceDefinition", crd)
    return found


@cache
def our_crds() -> list[dict[str, Any]]:
    """The definitions of our kinds."""
    return [schema.crd(kind) for kind in schema.KINDS]


@pytest.fixture
async def client(server: ApiServer) -> AsyncIterator[DirectClient]:
    """The library's client."""
    async with DirectClient(server) as found:
        yield found
