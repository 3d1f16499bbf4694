"""The server: a request in, an answer or a stream out. `web` and `client` bring the requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from copy import deepcopy
from datetime import UTC, datetime
from random import Random
from typing import Any
from weakref import WeakSet

from elasticgpu.cluster.transport import dumps

from . import bodies, builtin, crds, discovery, openapi
from .collecting import Collector
from .faults import Faults
from .kinds import Kind, Registry
from .listing import page
from .objects import Objects, Written
from .refusal import (
    Refusal,
    about,
    method_not_allowed,
    no_such_path,
)
from .requests import Answer, Request, Stream, Target, Terms, target
from .store import REMEMBERED, Change, Entry, Store
from .tables import Printer
from .users import User, Users
from .watching import Wanted, Watch

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
        self._user(request)
        if request.path in ("/healthz", "/livez", "/readyz"):
            return Answer(200, b"ok", content_type="text/plain")
        found = discovery.answer(self.kinds, request.path, request.accept)
        found = found or openapi.answer(self.kinds, request.path)
        if found is not None:
            aggregated = found.get("kind") == "APIGroupDiscoveryList"
            kind = discovery.AGGREGATED_TYPE if aggregated else "application/json"
            return Answer(200, dumps(found), content_type=kind)
        where = target(self.kinds, request.path)
        if where.subresource in where.kind.actions:
            return self._act(request, where)
        if where.subresource not in ("", *(["status"] if where.kind.status else [])):
            raise no_such_path()
        match request.method:
            case "GET" if not where.name:
                return self._collection(request, where)
            case "GET":
                return self._one(request, where, self.objects.get(where.kind, where.key))
            case "POST" if not where.name:
                return self._create(request, where)
            case "PUT" if where.name:
                return self._update(request, where)
            case "PATCH" if where.name:
                return self._patch(request, where)
            case "DELETE" if where.name and not where.subresource:
                return self._delete(request, where)
            case "DELETE" if not where.name:
                return self._delete_all(request, where)
            case _:
                raise method_not_allowed()

    def _act(self, request: Request, where: Target) -> Answer:
        if request.method != "POST":
            raise method_not_allowed()
        body = bodies.read(request)
        action = where.kind.actions[where.subresource]
        return Answer.of(action(self.objects, where.kind, where.key, body), 201)

    def _user(self, request: Request) -> User:
        return self.users.who(request.authorization)

    def _terms(self, request: Request) -> Terms:
        return bodies.terms(request, self._user(request))

    def _collection(self, request: Request, where: Target) -> Answer | Stream:
        query = dict(request.query)
        if _true(request, "watch"):
            wanted = Wanted.read(where.kind, where.namespace, query)
            watch = Watch(self.store, wanted, self._watched(request, where.kind))
            self._watches.add(watch)
            return Stream(watch.lines())
        found = page(self.store, where.kind, where.namespace, query)
        if printer := self._printer(request, where.kind):
            return Answer.of(printer.table(found.entries, found.metadata()))
        items = b",".join(map(_item(where.kind), found.entries))
        what = where.kind.resource
        head = {"kind": f"{what.kind}List", "apiVersion": what.api_version}
        opening = dumps({**head, "metadata": found.metadata()})[:-1]
        return Answer(200, opening + b',"items":[' + items + b"]}")

    def _watched(self, request: Request, kind: Kind) -> Callable[[Change, Entry], bytes] | None:
        """How a watch that prints writes its events."""
        printer = self._printer(request, kind)
        if printer is None:
            return None

        def line(change: Change, entry: Entry) -> bytes:
            table = printer.table([entry], {"resourceVersion": str(entry.version)})
            return dumps({"type": change, "object": table}) + b"\n"

        return line

    def _printer(self, request: Request, kind: Kind) -> Printer | None:
        if "as=Table" not in request.accept:
            return None
        return Printer(kind, request.query.get("includeObject", ""), self._clock())

    def _one(self, request: Request, where: Target, entry: Entry, status: int = 200) -> Answer:
        if printer := self._printer(request, where.kind):
            metadata = {"resourceVersion": str(entry.version)}
            return Answer.of(printer.table([entry], metadata), status)
        return Answer(status, where.kind.encoded(entry))

    def _create(self, request: Request, where: Target) -> Answer:
        body = bodies.read(request)
        return self._written(
            request,
            where,
            self.objects.create(where.kind, where.namespace, body, self._terms(request)),
        )

    def _update(self, request: Request, where: Target) -> Answer:
        done = self.objects.update(
            where.kind, where.key, bodies.read(request), where.subresource, self._terms(request)
        )
        return self._written(request, where, done)

    def _patch(self, request: Request, where: Target) -> Answer:
        if bodies.content_type(request) == bodies.APPLY_PATCH:
            return self._apply(request, where)
        change = bodies.change(request, where.kind)
        done = self.objects.patch(
            where.kind, where.key, change, where.subresource, self._terms(request)
        )
        return self._written(request, where, done)

    def _apply(self, request: Request, where: Target) -> Answer:
        bodies.manager(request)
        done = self.objects.apply(
            where.kind, where.key, bodies.read(request), where.subresource, self._terms(request)
        )
        return self._written(request, where, done)

    def _written(self, request: Request, where: Target, done: Written) -> Answer:
        answer = self._one(request, where, done.entry, 201 if done.created else 200)
        return Answer(answer.status, answer.body, done.warnings) if done.warnings else answer

    def _delete(self, request: Request, where: Target) -> Answer:
        options = bodies.options(request)
        entry, gone = self.objects.delete(where.kind, where.key, options, self._user(request))
        if not gone or where.kind.returns_deleted:
            return self._one(request, where, entry)
        meta, what = entry.body["metadata"], where.kind.resource
        details = about(what, meta["name"]) | {"uid": meta["uid"]}
        return Answer.of(_success(details))

    def _delete_all(self, request: Request, where: Target) -> Answer:
        options = bodies.options(request)
        found = page(self.store, where.kind, where.namespace, dict(request.query))
        for entry in found.entries:
            meta = entry.body["metadata"]
            key = (meta.get("namespace", ""), meta["name"])
            self.objects.delete(where.kind, key, options, self._user(request))
        items = map(_item(where.kind), found.entries)
        what = where.kind.resource
        head = {"kind": f"{what.kind}List", "apiVersion": what.api_version}
        opening = dumps({**head, "metadata": {"resourceVersion": str(self.store.version)}})[:-1]
        return Answer(200, opening + b',"items":[' + b",".join(items) + b"]}")


def _soon(does: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_soon(does)


def _success(details: Json) -> Json:
    head: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
    return {**head, "status": "Success", "details": details}


def _true(request: Request, name: str) -> bool:
    return request.query.get(name, "") in ("true", "True", "1")


def _item(kind: Kind) -> Callable[[Entry], bytes]:
    return kind.encoded if kind.custom else kind.encoded_item
