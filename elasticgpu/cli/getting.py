"""`elasticgpu get`: the objects of a kind as a table for people, or as the server has them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Generic, TypeVar

import click

from elasticgpu.api.claim import ElasticGPUClaim, ElasticGPUClaimTemplate
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import KubeObject
from elasticgpu.errors import ElasticGPUError

from .columns import CARDS, CLAIMS, CLASSES, DEVICES, TEMPLATES, Column, Context
from .printing import structured, table, width
from .session import Json, Session

T = TypeVar("T", bound=KubeObject)


@dataclass(frozen=True, slots=True)
class Shown(Generic[T]):
    """A kind, the words for it beside its own names, and what of it is shown."""

    kind: type[T]
    words: tuple[str, ...]
    columns: tuple[Column[T], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Every word a person may use for it."""
        resource = self.kind.resource
        return (*self.words, resource.plural, resource.kind.lower(), resource.short)


SHOWN: tuple[Shown[Any], ...] = (
    Shown(ElasticGPUClaim, ("claims", "claim"), CLAIMS),
    Shown(ElasticGPU, ("devices", "device"), DEVICES),
    Shown(GPU, ("gpus", "gpu", "cards", "card"), CARDS),
    Shown(ElasticGPUClass, ("classes", "class"), CLASSES),
    Shown(ElasticGPUClaimTemplate, ("templates", "template"), TEMPLATES),
)
BY_WORD = {word: shown for shown in SHOWN for word in shown.names}


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be shown: a kind, and its names or all of them."""

    shown: Shown[Any]
    names: tuple[str, ...]


def parse(what: str, names: tuple[str, ...]) -> Request:
    """The request in `claims a b` or `claim/a claim/b`. Raises UsageError with near words."""
    word, slash, name = what.partition("/")
    shown = _kind(word)
    if not slash:
        return Request(shown, names)
    pairs = [(word, name), *((w, n) for w, _, n in (other.partition("/") for other in names))]
    if any(_kind(w) is not shown or not n for w, n in pairs):
        raise click.UsageError(f"name objects of one kind: {word}/NAME {word}/NAME …")
    return Request(shown, tuple(n for _, n in pairs))


def _kind(word: str) -> Shown[Any]:
    found = BY_WORD.get(word.lower().removesuffix(".elasticgpu.io"))
    if found is None:
        near = get_close_matches(word, BY_WORD, n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        known = ", ".join(shown.words[0] for shown in SHOWN)
        raise click.UsageError(f"there is nothing called {word}: {meant}Known are {known}.")
    return found


async def get(session: Session, request: Request, output: str) -> bool:
    """Print them; False if one that was named is not there."""
    if output in ("json", "yaml"):
        return await _print_raw(session, request, output)
    kind = request.shown.kind
    found, complete = await _read(session, request, session.one, session.many)
    if output == "name":
        for obj in found:
            click.echo(f"{kind.resource.kind.lower()}.{kind.resource.group}/{obj.name}")
    elif found:
        await _print_table(session, request.shown, found, wide=output == "wide")
    elif complete:
        click.echo(_nothing(session, kind), err=True)
    return complete


async def _print_raw(session: Session, request: Request, output: str) -> bool:
    """One object by its name is itself; anything else is a List, as kubectl has it."""
    found, complete = await _read(session, request, session.one_raw, session.many_raw)
    items = [_plain(item) for item in found]
    body: Json = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}}
    if len(request.names) == 1 and items:
        body = items[0]
    elif complete or items:
        body["items"] = items
    else:
        return False
    click.echo(structured(body, output))
    return complete


def _plain(item: Json) -> Json:
    """Without the field managers, which nobody reads and kubectl hides too."""
    meta = {name: value for name, value in item["metadata"].items() if name != "managedFields"}
    return {**item, "metadata": meta}


async def _read(
    session: Session,
    request: Request,
    one: Callable[..., Awaitable[Any]],
    many: Callable[..., Awaitable[list[Any]]],
) -> tuple[list[Any], bool]:
    """The objects, and whether all that were named are among them; what is missing is said."""
    kind = request.shown.kind
    namespace = session.namespace if kind.resource.namespaced else ""
    if not request.names:
        return await many(kind, namespace), True
    if kind.resource.namespaced and not namespace:
        raise click.UsageError("an object is named within its namespace: give -n instead of -A")
    found, complete = [], True
    for name in request.names:
        try:
            found.append(await one(kind, (namespace, name)))
        except ElasticGPUError as error:
            if len(request.names) == 1:
                raise
            complete = False
            click.echo(f"Error: {error}", err=True)
    return found, complete


async def _print_table(
    session: Session, shown: Shown[T], found: Sequence[T], *, wide: bool
) -> None:
    columns = [c for c in shown.columns if wide or not c.wide]
    devices: dict[str, ElasticGPU] = {}
    if any(column.devices for column in columns):
        devices = {device.name: device for device in await session.many(ElasticGPU)}
    context = Context(session.now, devices)
    titles, rows = (
        [c.title for c in columns],
        [[c.value(o, context) for c in columns] for o in found],
    )
    if shown.kind.resource.namespaced and not session.namespace:
        titles = ["NAMESPACE", *titles]
        rows = [[obj.namespace, *row] for obj, row in zip(found, rows, strict=True)]
    for line in table(titles, rows, None if wide else width()):
        click.echo(line)


def _nothing(session: Session, kind: type[KubeObject]) -> str:
    if not kind.resource.namespaced:
        return f"No {kind.__name__} found."
    if not session.namespace:
        return f"No {kind.__name__} found in any namespace."
    return f"No {kind.__name__} found in namespace {session.namespace}; -A looks in all."
