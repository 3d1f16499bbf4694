"""The client that tests talk through: synchronous, small, admin unless told otherwise."""

import http.client
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import urlencode

from tests.cluster.connection import ApiError, Connections

__all__ = ["WRITES", "ApiClient", "ApiError", "Object", "Requests", "wait_for"]

Object = dict[str, Any]
PatchKind = Literal["merge", "json", "strategic", "apply"]
T = TypeVar("T")

WRITES = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"})
_PATCHES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
_NOT_YET = (ApiError, OSError, http.client.HTTPException, AssertionError)
_METRIC = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class Requests(NamedTuple):
    """What `ApiClient.metrics` counts requests by."""

    verb: str
    group: str
    resource: str
    subresource: str
    code: str


class ApiClient:
    """Requests by path, such as `/api/v1/namespaces/default/pods`; safe to share by threads."""

    def __init__(self, server: str, *, ca_file: Path, token: str, timeout: float = 30) -> None:
        self.server = server
        self.timeout = timeout
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._connections = Connections(server, ca_file, headers)

    def get(self, path: str) -> Object:
        """The object at that path."""
        return self._call("GET", path)

    def list(self, path: str, **query: str) -> list[Object]:
        """The items of a collection; `labelSelector` and the like go as keywords."""
        items: list[Object] = self._call("GET", _with_query(path, query)).get("items") or []
        return items

    def create(self, path: str, obj: Object) -> Object:
        """POST an object into a collection (or to a subresource such as `…/binding`)."""
        return self._call("POST", path, obj)

    def replace(self, path: str, obj: Object) -> Object:
        """PUT the whole object."""
        return self._call("PUT", path, obj)

    def patch(
        self, path: str, body: Any, *, kind: PatchKind = "merge", manager: str = "tests"
    ) -> Object:
        """PATCH; `apply` is a forced server-side apply by that manager."""
        if kind == "apply":
            path = _with_query(path, {"fieldManager": manager, "force": "true"})
        return self._call("PATCH", path, body, content=_PATCHES[kind])

    def delete(self, path: str, *, grace: int | None = None) -> Object:
        """DELETE; `grace=0` forces."""
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        return self._call("DELETE", path, options)

    def exists(self, path: str) -> bool:
        """Whether a GET finds something there."""
        try:
            self.get(path)
        except ApiError as error:
            if error.status == 404:
                return False
            raise
        return True

    def text(self, path: str) -> str:
        """The body at that path as text: logs, metrics, health."""
        return self._connections.request("GET", path, timeout=self.timeout).decode()

    def metrics(self) -> dict[Requests, int]:
        """How many requests the API server has answered since it started."""
        totals: Counter[Requests] = Counter()
        for labels, value in _METRIC.findall(self.text("/metrics")):
            named = dict(_LABEL.findall(labels))
            totals[Requests(*(named[label] for label in Requests._fields))] += int(float(value))
        return totals

    def writes(self, *, group: str | None = None, resource: str | None = None) -> int:
        """How many writing requests there were, by group and resource if given."""
        return sum(
            count
            for request, count in self.metrics().items()
            if request.verb in WRITES
            and group in (None, request.group)
            and resource in (None, request.resource)
        )

    def watch(self, path: str, *, seconds: int = 60, **query: str) -> Iterator[Object]:
        """Events of a collection until the server ends the watch."""
        query |= {"watch": "true", "timeoutSeconds": str(seconds)}
        for line in self._connections.lines(_with_query(path, query), timeout=seconds + 10):
            yield json.loads(line)

    def close(self) -> None:
        """Close idle connections; the client stays usable."""
        self._connections.close()

    def _call(
        self, method: str, path: str, body: Any = None, *, content: str = "application/json"
    ) -> Object:
        data = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": content}
        answer: Object = json.loads(
            self._connections.request(method, path, data, headers, timeout=self.timeout)
        )
        return answer


def wait_for(
    predicate: Callable[[], T | None], timeout: float = 30, what: str = "the condition"
) -> T:
    """Poll every 50 ms until the predicate is true and hand back its value.

    An `ApiError` or a refused connection counts as "not yet"; so does an `AssertionError`, which
    lets a predicate say what it saw. The last of them stands in the error.
    """
    deadline = time.monotonic() + timeout
    while True:
        seen: object = None
        try:
            seen = value = predicate()
            if value:
                return value
        except _NOT_YET as error:
            seen = error
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {timeout:g} s; last seen: {_shown(seen)}")
        time.sleep(0.05)


def _shown(seen: object) -> str:
    text = repr(seen) if isinstance(seen, Exception) else json.dumps(seen, indent=1, default=repr)
    return text if len(text) < 4000 else text[:4000] + " …"


def _with_query(path: str, query: dict[str, str]) -> str:
    separator = "&" if "?" in path else "?"
    return path + separator + urlencode(query) if query else path
