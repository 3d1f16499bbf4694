"""What the page shows works as it stands there."""

from __future__ import annotations

import asyncio
from textwrap import dedent, indent
from typing import Any

from elasticgpu import provisioner
from elasticgpu.provisioner import Provisioner, Slice
from elasticgpu.testing import ProvisionerContract
from elasticgpu.testing.host import FakeNode


def shown(begins: str) -> str:
    """The example of the page that begins with these words."""
    lines = (provisioner.__doc__ or "").splitlines()
    start = next(number for number, line in enumerate(lines) if line.strip().startswith(begins))
    end = start
    while not lines[end] or lines[end].startswith("    "):
        end += 1
    return dedent("\n".join(lines[start:end]))


PAGE: dict[str, Any] = {}
exec(shown("from elasticgpu.provisioner import"), PAGE)
exec(f"class Asking(Half):\n{indent(shown('async def provision'), '    ')}", PAGE)


class TestHalf(ProvisionerContract):
    """The plugin that is done with cutting and preparing."""

    plugin = PAGE["Half"]
    parameters = {"mostCore": "60"}
    bad_parameters = (({"mostCore": "half"}, "mostCore"), ({"most_cores": "1"}, "most_cores"))


class Backend:
    """Keeps what it was asked to make."""

    def __init__(self) -> None:
        self.made: dict[str, Slice] = {}

    async def create(self, name: str, place: Slice) -> str:
        await asyncio.sleep(0)
        self.made[name] = place
        return name

    async def delete(self, key: str) -> None:
        await asyncio.sleep(0)
        self.made.pop(key, None)


class BackedNode(FakeNode):
    """A node, and beside it the backend."""

    backend: Backend


class TestAsking(ProvisionerContract):
    """The same, with something outside the cluster."""

    plugin = PAGE["Asking"]

    def node(self) -> FakeNode:
        node = BackedNode(super().node().cards)
        node.backend = Backend()
        return node

    def make(self, node: FakeNode) -> Provisioner:
        assert isinstance(node, BackedNode)
        plugin: Any = self.plugin()
        plugin.backend = node.backend
        made: Provisioner = plugin
        return made

    def remains(self, node: FakeNode) -> object:
        assert isinstance(node, BackedNode)
        return sorted(node.backend.made)


def test_the_page_is_one() -> None:
    """A stranger reads it in one go."""
    source = provisioner.__spec__.origin
    assert source
    with open(source, encoding="utf-8") as file:
        assert len(file.readlines()) <= 330
