"""Objects in, objects out: how every controller, agent and command reads and writes its kinds."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, Self, TypeVar
from urllib.parse import quote

from pydantic import ValidationError

from elasticgpu.api.meta import Key, KubeObject, Resource
from elasticgpu.errors import NotFound, Refused

from . import access
from .status import Json
from .transport import Transport

log = logging.getLogger(__name__)
T = TypeVar("T", bound=KubeObject)

MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class Client(Transport):
    """One API server, spoken to in the models of `elasticgpu.api`.

    Made inside a running event loop, by `connect` or from an `Access`; close it when done.
    """

    @classmethod
    async def connect(
        cls,
        *,
        kubeconfig: str | None = None,
        context: str | None = None,
        user_agent: str = "elasticgpu",
    ) -> Self:
        """A client for the server named by `kubeconfig`, $KUBECONFIG, the default file or the pod.

        Asks the server nothing yet. Raises Refused if no usable configuration is found.
        """
        return cls(await access.find(kubeconfig, context), user_agent=user_agent)

    async def get(self, kind: type[T], key: Key) -> T:
        """The object as it is now. Raises NotFound; Refused if it does not parse as a `kind`."""
        return parse(kind, await self.raw("GET", _path(kind.resource, key)))

    async def list(
        self,
        kind: type[T],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        page: int = 500,
    ) -> AsyncIterator[T]:
        """All objects of the kind, read page by page; one that does not parse is logged, left out.

        Raises Expired if it took the caller so long that the rest is no longer there: start again.
        """
        where = selectors(label_selector, field_selector)
        async for body in self.pages(kind, namespace=namespace, params=where, page=page):
            for item in body["items"]:
                try:
                    yield parse(kind, item)
                except Refused as error:
                    log.warning("left out of the list: %s", error)

    async def pages(
        self,
        kind: type[KubeObject],
        *,
        namespace: str = "",
        params: Mapping[str, str] | None = None,
        page: int = 500,
    ) -> AsyncIterator[Json]:
        """The raw list bodies, `page` items each (0: all in one). Raises Expired between pages."""
        path, more = _path(kind.resource, (namespace, "")), ""
        head = _head(kind.resource)
        limit = {"limit": str(page)} if page else {}
        while True:
            go_on = {"continue": more} if more else {}
            body = await self.raw("GET", path, params={**(params or {}), **limit, **go_on})
            # The server leaves these out of items; with them an object is the same from anywhere.
            body["items"] = [{**head, **item} for item in body.get("items") or ()]
            yield body
            more = body.get("metadata", {}).get("continue") or ""
            if not more:
                return

    async def create(self, obj: T) -> T:
        """Create it. Raises AlreadyExists, NamespaceTerminating, Invalid, …"""
        return parse(type(obj), await self.post(obj))

    async def post(self, obj: KubeObject) -> Json:
        """The same, answering the raw object, for a cache that may know it already."""
        return await self.raw("POST", _path(obj.resource, (_home(obj), "")), body=obj.wire())

    async def replace(self, obj: T, subresource: str = "") -> T:
        """Write it by compare-and-swap. Raises Conflict if somebody wrote since it was read.

        Raises ValueError for an object without resourceVersion, which would be no comparison.
        """
        return parse(type(obj), await self.put(obj, subresource))

    async def put(self, obj: KubeObject, subresource: str = "") -> Json:
        """The same, answering the raw object, for a cache that may know it already."""
        if not obj.metadata.resource_version:
            raise ValueError(f"{_call(obj)} has no resourceVersion: read it before writing it")
        path = _path(obj.resource, obj.key, subresource)
        return await self.raw("PUT", path, body=obj.wire())

    async def patch(
        self,
        kind: type[T],
        key: Key,
        body: Any,
        *,
        subresource: str = "",
        content_type: str = MERGE_PATCH,
    ) -> T:
        """Change some fields. Put `metadata.resourceVersion` in to make it a compare-and-swap."""
        path = _path(kind.resource, key, subresource)
        return parse(kind, await self.raw("PATCH", path, body=body, content_type=content_type))

    async def apply(
        self,
        kind: type[T],
        key: Key,
        body: Json,
        *,
        manager: str,
        subresource: str = "",
        force: bool = True,
    ) -> T:
        """Server-side apply of the fields in `body`, which `manager` owns from now on.

        What `manager` applied before and leaves out now is removed. The object is created if it
        is missing. Without `force`, Conflict where somebody else owns a field.
        """
        names = {"name": key[1], **({"namespace": key[0]} if kind.resource.namespaced else {})}
        whole = {**_head(kind.resource), **body, "metadata": {**body.get("metadata", {}), **names}}
        params = {"fieldManager": manager, "force": str(force).lower()}
        path = _path(kind.resource, key, subresource)
        return parse(
            kind,
            await self.raw("PATCH", path, params=params, body=whole, content_type=APPLY_PATCH),
        )

    async def delete(self, obj: T, *, grace: int | None = None) -> T | None:
        """Delete exactly this version of this object; already gone is done. Raises Conflict.

        `grace` is in seconds. Answers the object if finalizers keep it, Terminating, else None.
        """
        if not obj.uid or not obj.metadata.resource_version:
            raise ValueError(f"{_call(obj)} has no uid or resourceVersion: read it, then delete it")
        conditions = {"uid": obj.uid, "resourceVersion": obj.metadata.resource_version}
        body: Json = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions}
        if grace is not None:
            body["gracePeriodSeconds"] = grace
        try:
            answer = await self.raw("DELETE", _path(obj.resource, obj.key), body=body)
        except NotFound:
            log.debug("%s was already gone", _call(obj))
            return None
        stays = answer.get("kind") == obj.resource.kind and answer["metadata"].get("finalizers")
        return parse(type(obj), answer) if stays else None

    def watch(
        self,
        kind: type[KubeObject],
        *,
        namespace: str = "",
        params: Mapping[str, str] | None = None,
        seconds: int = 300,
    ) -> AsyncGenerator[tuple[str, Json], None]:
        """The raw events of one watch request, as `Transport.stream` yields them."""
        path = _path(kind.resource, (namespace, ""))
        return self.stream(path, params=params, seconds=seconds)


def selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    """The query parameters of these selectors; empty ones are left out."""
    both = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {name: value for name, value in both.items() if value}


def _path(resource: Resource, key: Key, subresource: str = "") -> str:
    namespace, name = key
    if resource.namespaced and name and not namespace:
        raise ValueError(f"{resource.kind} {name} needs a namespace")
    return resource.path(quote(namespace, safe=""), quote(name, safe=":"), subresource)


def _head(resource: Resource) -> Json:
    return {"apiVersion": resource.api_version, "kind": resource.kind}


def _home(obj: KubeObject) -> str:
    if obj.resource.namespaced and not obj.namespace:
        raise ValueError(f"{_call(obj)} needs a namespace")
    return obj.namespace


def _call(obj: KubeObject) -> str:
    return f"{obj.resource.kind} {'/'.join(filter(None, obj.key))}"


def parse(kind: type[T], body: Json) -> T:
    """The model of an object. Raises Refused, with the fields that are wrong, if it is none."""
    try:
        return kind.model_validate(lean(body))
    except ValidationError as error:
        meta = body.get("metadata") or {}
        name = f"{meta.get('namespace', '')}/{meta.get('name', '')}".strip("/")
        raise Refused(f"{kind.__name__} {name} cannot be read: {describe(error)}") from error


def lean(body: Json) -> Json:
    """The object without `managedFields`, the larger half of many: nobody here reads them, and a
    write without them leaves them as they are."""
    body["metadata"].pop("managedFields", None)
    return body


def describe(error: ValidationError) -> str:
    """Which fields are wrong and why, without the values, which may be anything."""
    return "; ".join(
        f"{'.'.join(str(part) for part in e['loc'])}: {e['msg']}"
        for e in error.errors(include_url=False, include_input=False, include_context=False)
    )
