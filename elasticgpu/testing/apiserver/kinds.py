"""What can be served: each kind with its manners, and the registry of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

from elasticgpu.api.meta import Key, Resource
from elasticgpu.cluster.transport import dumps

from .schemas import Node
from .shapes import Shape
from .store import Entry

Json = dict[str, Any]
Prepare = Callable[[Json, Json | None], None]
"""Called with an object about to be stored, complete but for its version, and the one before."""


Action = Callable[[Any, Any, Key, Json], Json]
"""Called with all objects (`objects.Objects`), the kind, the object's key and the body."""


class Column(NamedTuple):
    """A column of `kubectl get`, and how its cell is read from an object.

    Type "age" is a moment, told as how long ago it was; CRDs call it "date".
    """

    name: str
    type: str
    read: Callable[[Json], Any]
    priority: int = 0
    description: str = ""
    format: str = ""


class Checker:
    """What a schema does to objects of its kind; this one knows no schema and does nothing."""

    @property
    def schema(self) -> Node | None:
        """The schema of whole objects."""
        return None

    openapi: Json = {}
    """The same as a CRD or a document has it."""

    def unknown(self, body: Json) -> list[str]:
        """Remove what the schema does not know; the paths of it."""
        return []

    def default(self, body: Json) -> None:
        """Fill in what the schema has a default for."""

    def errors(self, body: Json, old: Json | None) -> list[Any]:
        """What is wrong with it; of an update only where it changed something."""
        return []


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind in one version, as it is served.

    `generation` says what makes `metadata.generation` grow: nothing (there is none then), the
    spec, or everything but metadata and status.
    """

    resource: Resource
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    custom: bool = False
    status: bool = False
    status_metadata: bool = False
    """Whether a write of the status may also change labels and annotations."""
    unconditional: bool = True
    """Whether a PUT without resourceVersion is taken."""
    upserts: bool = False
    """Whether a PUT creates what is not there."""
    returns_deleted: bool = False
    generation: Literal["none", "spec", "content"] = "none"
    graceful: bool = False
    """Whether deletion waits for a node that has a grace period."""
    waits: Callable[[Json], bool] = lambda body: False
    """Whether something beside finalizers keeps an object that is being deleted."""
    grace_shown: bool = True
    """Whether an object that is being deleted tells its grace period, as a new generation."""
    farewell: str = ""
    """A finalizer that the server puts on an object that is to be deleted."""
    actions: Mapping[str, Action] = field(default_factory=dict)
    """Subresources that do something when they are created."""
    names: Literal["subdomain", "label", "path"] = "subdomain"
    prepare: Prepare = lambda body, old: None
    fields: Mapping[str, Callable[[Json], str]] = field(default_factory=dict)
    """Selectable fields beside metadata.name and metadata.namespace."""
    columns: tuple[Column, ...] | None = None
    checker: Checker = field(default_factory=Checker)
    storage: str = ""
    """Where its objects are: `group/plural`; kinds may be two views of the same objects."""
    view: Callable[[Json], Json] | None = None
    unview: Callable[[Json], Json] | None = None

    @property
    def table(self) -> str:
        """The name of the table its objects are stored in."""
        return self.storage or f"{self.resource.group}/{self.resource.plural}"

    @cached_property
    def shape(self) -> Shape:
        """How its lists are merged."""
        return Shape.of(self.checker.schema)

    @cached_property
    def head(self) -> Json:
        """`apiVersion` and `kind`, as objects begin with them. They are not stored."""
        return {"apiVersion": self.resource.api_version, "kind": self.resource.kind}

    @cached_property
    def _opening(self) -> bytes:
        return dumps(self.head)[:-1] + b","

    def shown(self, entry: Entry) -> Json:
        """The object as clients of this version know it."""
        return {**self.head, **(self.view(entry.body) if self.view else entry.body)}

    def encoded(self, entry: Entry) -> bytes:
        """The same as JSON."""
        return self._opening + self.encoded_item(entry)[1:]

    def encoded_item(self, entry: Entry) -> bytes:
        """As an item of a list, where only custom objects repeat their kind."""
        return dumps(self.view(entry.body)) if self.view else entry.raw


class Registry:
    """The kinds that are served now, by group, version and plural."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, str, str], Kind] = {}
        self.changes = 0
        """How often what is served has changed."""

    def __iter__(self) -> Iterator[Kind]:
        return iter(list(self._kinds.values()))

    def add(self, kind: Kind) -> None:
        """Serve it from now on, instead of what had its place."""
        what = kind.resource
        self._kinds[what.group, what.version, what.plural] = kind
        self.changes += 1

    def remove(self, kind: Kind) -> None:
        """Serve it no longer."""
        what = kind.resource
        self._kinds.pop((what.group, what.version, what.plural), None)
        self.changes += 1

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """The kind under that path."""
        return self._kinds.get((group, version, plural))

    def named(self, api_version: str, kind: str) -> Kind | None:
        """The kind that an owner reference or a manifest names."""
        group, _, version = api_version.rpartition("/")
        for one in self._kinds.values():
            what = one.resource
            if (what.group, what.version, what.kind) == (group, version, kind):
                return one
        return None

    def stored(self) -> Iterator[Kind]:
        """One kind for each table."""
        return iter({kind.table: kind for kind in reversed(list(self))}.values())
