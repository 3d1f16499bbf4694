"""Other people's clients behind one face: the objects of one kind, in the test's namespace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from tests.conformance.api import Object

Changes = AsyncGenerator[tuple[str, Object], None]
Errors = tuple[type[Exception], ...]


class Kind(NamedTuple):
    """A kind that is asked for; no group: it is a ConfigMap."""

    group: str
    version: str
    kind: str
    plural: str


class Client(ABC):
    """The objects of one kind; `refusals` are what the client raises if the server says no."""

    refusals: ClassVar[Errors]

    def __init__(self, of: Any, kind: Kind, namespace: str) -> None:
        self.of = of
        self.kind = kind
        self.namespace = namespace

    @classmethod
    @abstractmethod
    def connected(
        cls, config: Path, kind: Kind, namespace: str
    ) -> AbstractAsyncContextManager[Client]:
        """The client as that kubeconfig says, to be used with `async with`."""

    @abstractmethod
    async def create(self, body: Object) -> Object:
        """The object as it was made."""

    @abstractmethod
    async def get(self, name: str) -> Object:
        """One object."""

    @abstractmethod
    async def labelled(self, label: str, value: str) -> list[str]:
        """The names of those that carry the label."""

    @abstractmethod
    async def patch(self, name: str, change: Object) -> Object:
        """Merge the change into it."""

    @abstractmethod
    async def delete(self, name: str) -> None:
        """Delete it."""

    @abstractmethod
    def changes(self, since: str) -> Changes:
        """What a watch tells."""

    @abstractmethod
    def reason(self, refusal: Any) -> str:
        """The reason the server gave, as the client passes it on."""
