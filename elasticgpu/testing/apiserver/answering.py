"""A request for objects of a kind: what its method does, and how that is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from elasticgpu.cluster.transport import dumps

from . import bodies
from .listing import page
from .objects import Objects, Written
from .refusal import about, method_not_allowed, no_such_path
from .requests import Answer, Request, Stream, Target, Terms
from .store import Change, Entry, Store
from .tables import Printer
from .users import User
from .watching import Wanted, Watch

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answering:
    """One request, what it names, who asks, and what is there; `watched` hears of a new watch."""

    request: Request
    where: Target
    user: User
    store: Store
    objects: Objects
    watched: Callable[[Watch], None]
    clock: Callable[[], datetime]

    def answer(self) -> Answer | Stream:
        """What the method does. Raises Refusal."""
        where = self.where
        if where.subresource in where.kind.actions:
            return self._act()
        if where.subresource not in ("", *(["status"] if where.kind.status else [])):
            raise no_such_path()
        match self.request.method:
            case "GET" if not where.name and _true(self.request, "watch"):
                return self._watch()
            case "GET" if not where.name:
                return self._list()
            case "GET":
                return self._one(self.objects.get(where.kind, where.key))
            case "POST" if not where.name:
                return self._create()
            case "PUT" if where.name:
                return self._update()
            case "PATCH" if where.name:
                return self._patch()
            case "DELETE" if where.name and not where.subresource:
                return self._delete()
            case "DELETE" if not where.name:
                return self._delete_all()
            case _:
                raise method_not_allowed()

    def _act(self) -> Answer:
        if self.request.method != "POST":
            raise method_not_allowed()
        where, body = self.where, bodies.read(self.request)
        action = where.kind.actions[where.subresource]
        return Answer.of(action(self.objects, where.kind, where.key, body), 201)

    # -- reading -------------------------------------------------------------------------------

    def _watch(self) -> Stream:
        where = self.where
        wanted = Wanted.read(where.kind, where.namespace, dict(self.request.query))
        watch = Watch(self.store, wanted, self._printed())
        self.watched(watch)
        return Stream(watch.lines())

    def _printed(self) -> Callable[[Change, Entry], bytes] | None:
        """How a watch that prints writes its events."""
        printer = self._printer()
        if printer is None:
            return None

        def line(change: Change, entry: Entry) -> bytes:
            table = printer.table([entry], {"resourceVersion": str(entry.version)})
            return dumps({"type": change, "object": table}) + b"\n"

        return line

    def _list(self) -> Answer:
        where = self.where
        found = page(self.store, where.kind, where.namespace, dict(self.request.query))
        if printer := self._printer():
            return Answer.of(printer.table(found.entries, found.metadata()))
        return self._listed(found.entries, found.metadata())

    def _listed(self, entries: list[Entry], metadata: Json) -> Answer:
        kind = self.where.kind
        item = kind.encoded if kind.custom else kind.encoded_item
        what = kind.resource
        head = {"kind": f"{what.kind}List", "apiVersion": what.api_version, "metadata": metadata}
        return Answer(200, dumps(head)[:-1] + b',"items":[' + b",".join(map(item, entries)) + b"]}")

    def _one(self, entry: Entry, status: int = 200) -> Answer:
        if printer := self._printer():
            metadata = {"resourceVersion": str(entry.version)}
            return Answer.of(printer.table([entry], metadata), status)
        return Answer(status, self.where.kind.encoded(entry))

    def _printer(self) -> Printer | None:
        if "as=Table" not in self.request.accept:
            return None
        return Printer(self.where.kind, self.request.query.get("includeObject", ""), self.clock())

    # -- writing -------------------------------------------------------------------------------

    def _terms(self) -> Terms:
        return bodies.terms(self.request, self.user)

    def _create(self) -> Answer:
        where, body = self.where, bodies.read(self.request)
        return self._written(self.objects.create(where.kind, where.namespace, body, self._terms()))

    def _update(self) -> Answer:
        where, body = self.where, bodies.read(self.request)
        done = self.objects.update(where.kind, where.key, body, where.subresource, self._terms())
        return self._written(done)

    def _patch(self) -> Answer:
        if bodies.content_type(self.request) == bodies.APPLY_PATCH:
            return self._apply()
        where, change = self.where, bodies.change(self.request, self.where.kind)
        done = self.objects.patch(where.kind, where.key, change, where.subresource, self._terms())
        return self._written(done)

    def _apply(self) -> Answer:
        bodies.manager(self.request)
        where, body = self.where, bodies.read(self.request)
        done = self.objects.apply(where.kind, where.key, body, where.subresource, self._terms())
        return self._written(done)

    def _written(self, done: Written) -> Answer:
        answer = self._one(done.entry, 201 if done.created else 200)
        return Answer(answer.status, answer.body, done.warnings) if done.warnings else answer

    def _delete(self) -> Answer:
        where, options = self.where, bodies.options(self.request)
        entry, gone = self.objects.delete(where.kind, where.key, options, self.user)
        if not gone or where.kind.returns_deleted:
            return self._one(entry)
        meta, what = entry.body["metadata"], where.kind.resource
        details = about(what, meta["name"]) | {"uid": meta["uid"]}
        return Answer.of(_success(details))

    def _delete_all(self) -> Answer:
        where, options = self.where, bodies.options(self.request)
        found = page(self.store, where.kind, where.namespace, dict(self.request.query))
        for entry in found.entries:
            meta = entry.body["metadata"]
            key = (meta.get("namespace", ""), meta["name"])
            self.objects.delete(where.kind, key, options, self.user)
        return self._listed(found.entries, {"resourceVersion": str(self.store.version)})


def _success(details: Json) -> Json:
    head: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
    return {**head, "status": "Success", "details": details}


def _true(request: Request, name: str) -> bool:
    return request.query.get(name, "") in ("true", "True", "1")
