"""What every object has: its resource, metadata, owner references and conditions.

Models are frozen and keep fields they do not know (`extra="allow"`), so an object that is read,
copied with a change and written back by PUT loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

GROUP = "elasticgpu.io"
VERSION = "v1alpha1"

Key = tuple[str, str]
"""(namespace, name); the namespace is empty for cluster-scoped kinds."""

Name = Annotated[str, StringConstraints(max_length=253)]
Text = Annotated[str, StringConstraints(max_length=1024)]
Label = Annotated[str, StringConstraints(max_length=63)]


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind as the API server names it, and the paths under which it is served.

    >>> Resource("elasticgpu.io", "v1alpha1", "GPU", "gpus").path("", "card-0", "status")
    '/apis/elasticgpu.io/v1alpha1/gpus/card-0/status'
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = False
    short: str = ""

    @property
    def api_version(self) -> str:
        """`group/version`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """URL path of the collection, of one object, or of its subresource."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        tail = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{root}{scope}/{self.plural}{tail}"


class Model(BaseModel):
    """Base of all API models: frozen, camelCase on the wire, unknown fields kept."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        alias_generator=to_camel,
        populate_by_name=True,
        serialize_by_alias=True,
    )

    def wire(self) -> dict[str, Any]:
        """The object as it travels: only what was set, under its wire names."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def but(self, **changes: Any) -> Self:
        """A copy with these fields (Python names) changed."""
        return self.model_copy(update=changes)


class OwnerReference(Model):
    """Whose object this is; the garbage collector deletes it with its owners."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


def or_empty(value: object) -> object:
    """Null as the empty text: clients write it for times that are not known."""
    return "" if value is None else value


class ObjectMeta(Model):
    """`metadata` of any object, as far as this project reads it."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Annotated[str, BeforeValidator(or_empty)] = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: list[str] = []
    owner_references: list[OwnerReference] = []


class ObjectReference(Model):
    """A claim as a device points at it. Without `uid` it is a reservation for a claim's *name*."""

    namespace: Annotated[
        str,
        StringConstraints(min_length=1, max_length=63),
        Field(description="The claim's namespace."),
    ]
    name: Annotated[
        str, StringConstraints(min_length=1, max_length=253), Field(description="The claim's name.")
    ]
    uid: Annotated[
        str,
        StringConstraints(max_length=64),
        Field(description="The claim that owns the device; empty: reserved for a claim's name."),
    ] = ""

    @property
    def key(self) -> Key:
        """(namespace, name) of the claim."""
        return (self.namespace, self.name)


class Condition(Model):
    """One observed fact with its reason, as `kubectl describe` and `kubectl wait` read it."""

    type: Annotated[
        str,
        StringConstraints(min_length=1, max_length=63),
        Field(description="What the fact is about: Bound, Ready."),
    ]
    status: Annotated[Literal["True", "False", "Unknown"], Field(description="Whether it is so.")]
    reason: Annotated[
        str, StringConstraints(max_length=128), Field(description="Why, in one word for programs.")
    ] = ""
    message: Annotated[
        str,
        StringConstraints(max_length=4096),
        Field(description="Why, in a sentence for people, and what to do."),
    ] = ""
    last_transition_time: Annotated[
        str, StringConstraints(max_length=64), Field(description="Since when the status is so.")
    ] = ""
    observed_generation: Annotated[
        int, Field(description="The metadata.generation that was looked at.")
    ] = 0


Conditions = Annotated[
    list[Condition], Field(max_length=16, description="Observed facts, one of each type.")
]


class KubeObject(Model):
    """Base of everything with `metadata`."""

    resource: ClassVar[Resource]

    metadata: ObjectMeta = ObjectMeta()

    @property
    def key(self) -> Key:
        """(namespace, name)."""
        return (self.metadata.namespace, self.metadata.name)

    @property
    def name(self) -> str:
        """`metadata.name`."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """`metadata.namespace`, empty for cluster-scoped kinds."""
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        """`metadata.uid`."""
        return self.metadata.uid

    @property
    def terminating(self) -> bool:
        """Somebody asked for its deletion; finalizers keep it for now."""
        return self.metadata.deletion_timestamp is not None

    def with_metadata(self, **changes: Any) -> Self:
        """A copy whose metadata has these fields changed."""
        return self.but(metadata=self.metadata.but(**changes))

    def with_finalizers(self, *names: str) -> Self:
        """A copy that carries these finalizers as well."""
        have = self.metadata.finalizers
        return self.with_metadata(finalizers=[*have, *(n for n in names if n not in have)])

    def without_finalizers(self, *names: str) -> Self:
        """A copy that no longer carries these finalizers."""
        return self.with_metadata(
            finalizers=[n for n in self.metadata.finalizers if n not in names]
        )

    def wire(self) -> dict[str, Any]:
        """The object as it travels, `apiVersion` and `kind` included."""
        body = super().wire()
        return {"apiVersion": self.resource.api_version, "kind": self.resource.kind, **body}


def find_condition(conditions: Sequence[Condition], kind: str) -> Condition | None:
    """The condition of this type, or None."""
    return next((c for c in conditions if c.type == kind), None)


def merge_condition(
    conditions: Sequence[Condition], new: Condition, *, now: str
) -> list[Condition]:
    """The list with `new` in its place; the transition time moves only if the status does.

    >>> a = Condition(type="Bound", status="False", reason="Waiting")
    >>> b = merge_condition([], a, now="t1")
    >>> b[0].last_transition_time
    't1'
    >>> merge_condition(b, a.but(reason="Other"), now="t2")[0].last_transition_time
    't1'
    """
    old = find_condition(conditions, new.type)
    since = old.last_transition_time if old and old.status == new.status else now
    placed = new.but(last_transition_time=since)
    if old is None:
        return [*conditions, placed]
    return [placed if c.type == new.type else c for c in conditions]


def labels_match(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Whether `labels` carry every pair of `selector`."""
    return all(labels.get(k) == v for k, v in selector.items())
