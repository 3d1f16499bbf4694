"""The server: a request in, an answer or a stream out. `web` and `client` bring the requests,
`answering` sees to those for objects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from copy import deepcopy
from datetime import UTC, datetime
from random import Random
from typing import Any
from weakref import WeakSet

from elasticgpu.cluster.transport import dumps

from . import builtin, crds, discovery, openapi
from .answering import Answering
from .collecting import Collector
from .faults import Faults
from .kinds import Registry
from .objects import Objects
from .refusal import Refusal, no_such_path
from .requests import Answer, Request, Stream, Terms, target
from .store import REMEMBERED, Store
from .users import User, Users
from .watching import Watch

Json = dict[str, Any]
NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_FIRST_VERSION = 100
"""So that there are versions which are too old, as on a server that has run for a while."""


def wall() -> datetime:
    """The machine's clock."""
    return datetime.now(UTC)


class ApiServer:
    """Objects, kinds and watches of one server, empty but for the namespaces of every cluster.

    `clock` tells the times that objects bear; names and uids come from `random`, so that a seed
    makes them the same again. With `tokens` nobody is let in without one of them; roles are not
    known, so who is let in may do everything. Needs a running event loop from the first request on.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], datetime] = wall,
        random: Random | None = None,
        remembered: int = REMEMBERED,
        tokens: Mapping[str, User] | None = None,
    ) -> None:
        self.kinds = Registry()
        self.store = Store(remembered=remembered, version=_FIRST_VERSION)
        self.faults = Faults(self.disconnect)
        random = random or Random()
        self.users = Users(tokens, random)
        self.objects = Objects(self.store, self.kinds, clock, random, self.users)
        self._clock = clock
        self._watches: WeakSet[Watch] = WeakSet()
        self._collector = Collector(self.store, self.kinds, self.objects, _soon)
        self.store.listen(self._collector.notice)
        installed = crds.Installed(self.kinds)
        self.store.table(crds.TABLE).listeners[installed.notice] = None
        for kind in builtin.kinds():
            self.kinds.add(kind)
        for name in NAMESPACES:
            self.create("v1", "Namespace", {"metadata": {"name": name}})

    # -- for those who set a stage -------------------------------------------------------------

    def create(self, api_version: str, kind: str, body: Json, namespace: str = "") -> Json:
        """Create an object without a request. Raises Refusal."""
        found = self.kinds.named(api_version, kind)
        if found is None:
            raise no_such_path()
        whole = {**found.head, **deepcopy(body)}
        return found.shown(self.objects.create(found, namespace, whole, Terms()).entry)

    def disconnect(self) -> None:
        """End every watch."""
        for watch in list(self._watches):
            watch.end()

    # -- requests ------------------------------------------------------------------------------

    async def serve(self, request: Request) -> Answer | Stream:
        """The answer to a request, whatever the faults let through. Raises ConnectionError for
        one that gets none."""
        return await self.faults.around(request, lambda: self.answer(request))

    def answer(self, request: Request) -> Answer | Stream:
        """The answer to a request, at once."""
        try:
            return self._answer(request)
        except Refusal as refusal:
            return Answer.refusing(refusal)

    def _answer(self, request: Request) -> Answer | Stream:
        user = self.users.who(request.authorization)
        if request.path in ("/healthz", "/livez", "/readyz"):
            return Answer(200, b"ok", content_type="text/plain")
        found = discovery.answer(self.kinds, request.path, request.accept)
        found = found or openapi.answer(self.kinds, request.path)
        if found is not None:
            aggregated = found.get("kind") == "APIGroupDiscoveryList"
            kind = discovery.AGGREGATED_TYPE if aggregated else "application/json"
            return Answer(200, dumps(found), content_type=kind)
        where = target(self.kinds, request.path)
        watched = self._watches.add
        return Answering(
            request, where, user, self.store, self.objects, watched, self._clock
        ).answer()


def _soon(does: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_soon(does)
