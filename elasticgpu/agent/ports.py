"""What the agent's core needs of the cluster: five calls, so that tests can stand in for it.

`elasticgpu.cluster.client.Client` is the real one; its docstrings say what each call promises.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol, TypeVar

from elasticgpu.api.meta import Key, KubeObject
from elasticgpu.errors import Conflict, NotFound, Retry

T = TypeVar("T", bound=KubeObject)

ATTEMPTS = 10
"""Lost races in a row after which a compare-and-swap is left for later."""


class Api(Protocol):
    """The API server, live: nothing the agent decides on comes from a cache."""

    async def get(self, kind: type[T], key: Key) -> T:
        """The object as it is now. Raises NotFound."""

    def list(self, kind: type[T], *, field_selector: str = "") -> AsyncIterator[T]:
        """All objects of the kind that the selector matches."""

    async def create(self, obj: T) -> T:
        """Create it. Raises AlreadyExists."""

    async def replace(self, obj: T, subresource: str = "") -> T:
        """Write it by compare-and-swap. Raises Conflict."""

    async def apply(
        self, kind: type[T], key: Key, body: dict[str, Any], *, manager: str, subresource: str = ""
    ) -> T:
        """Server-side apply of the fields in `body`, which `manager` owns from now on."""


async def revise(api: Api, known: T, change: Callable[[T], T], subresource: str = "") -> T:
    """Write `change(object)` by compare-and-swap, beginning with the object as it was just read.

    Somebody else's write in between: read again, ask `change` again. Nothing is written where
    `change` returns its argument. Raises NotFound if the object is gone or another one has its
    name by now, Retry if others keep winning.
    """
    now = known
    for _ in range(ATTEMPTS):
        wanted = change(now)
        if wanted is now:
            return now
        try:
            return await api.replace(wanted, subresource)
        except Conflict:
            now = await get_same(api, known)
    raise Retry(f"{known.resource.kind} {known.name} is written by others all the time")


async def get_same(api: Api, known: T) -> T:
    """The object as it is now. Raises NotFound if it is gone or another one has its name."""
    now = await api.get(type(known), known.key)
    if now.uid != known.uid:
        raise NotFound(404, "NotFound", f"{known.resource.kind} {known.name} was made anew")
    return now
