"""Server-side apply: the fields somebody names become his, those he names no longer go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from elasticgpu.api.meta import Key

from . import life
from .fieldsets import FieldSet, Path, told
from .kinds import Kind
from .ownership import Manager, Owners, owned, writable
from .refusal import Refusal, bad_request, conflict
from .requests import Terms
from .shapes import Shape

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wish:
    """What is applied, by whom, and whether what others own is taken from them."""

    shape: Shape
    config: Json
    who: Manager
    keeps: Callable[[Path], bool]
    """Which leaves this kind of request writes at all."""
    force: bool
    api_version: str

    @classmethod
    def read(cls, kind: Kind, key: Key, given: Any, sub: str, terms: Terms) -> Wish:
        """What a request asks for. Raises Refusal if it is no apply of that object."""
        if not isinstance(given, dict) or not given.get("kind") or not given.get("apiVersion"):
            raise bad_request("invalid object type: /, Kind=")
        meta = given.get("metadata") or {}
        if "managedFields" in meta:
            raise bad_request("metadata.managedFields must be nil")
        if meta.get("name", key[1]) != key[1]:
            raise bad_request(
                f"the name of the object ({meta['name']}) does not match the name on the URL "
                f"({key[1]})"
            )
        config = life.readied(kind, given, key[0])
        kind.checker.unknown(config)
        return cls(
            shape=kind.shape,
            config=config,
            who=Manager(terms.manager, "Apply", sub),
            keeps=writable(sub, kind.status),
            force=terms.force,
            api_version=kind.resource.api_version,
        )

    @property
    def fields(self) -> FieldSet:
        """What the one who applies owns from now on."""
        return frozenset(owned(self.shape, self.config, self.keeps))

    def new(self, kind: Kind, key: Key) -> Json:
        """The body of an object that is not there yet. Raises Refusal if it ought to be."""
        meta = self.config["metadata"]
        if uid := meta.get("uid"):
            why = f"uid mismatch: the provided object specified uid {uid}, and no existing object "
            raise conflict(kind.resource, key[1], why + "was found")
        return {**kind.head, **self.config, "metadata": {**meta, "name": key[1]}}


def apply(wish: Wish, live: Json, owners: Owners) -> tuple[Json, Owners]:
    """The object and its owners once the wish is granted.

    Raises Refusal for what another one owns and has otherwise, unless it is taken by force.
    """
    wanted = owned(wish.shape, wish.config, wish.keeps)
    there = owned(wish.shape, live, wish.keeps)
    taken = {path for path, value in wanted.items() if path in there and there[path] != value}
    contested = {who: have & taken for who, have in owners.items() if who != wish.who}
    if any(contested.values()) and not wish.force:
        raise _conflicts(contested, wish.api_version)
    left = {who: have - contested.get(who, frozenset()) for who, have in owners.items()}
    dropped = left.pop(wish.who, frozenset()) - wanted.keys()
    kept: FieldSet = frozenset(wanted).union(*left.values())
    body = merged(wish.shape, live, wish.config)
    for path in sorted(dropped - kept, key=len):
        if not _held(path, kept):
            body = removed(wish.shape, body, path)
    return body, {**left, wish.who: wish.fields}


def _held(path: Path, owned: FieldSet) -> bool:
    """Whether somebody owns something below."""
    return any(one[: len(path)] == path for one in owned)


def _conflicts(contested: dict[Manager, FieldSet], api_version: str) -> Refusal:
    causes = []
    for one, paths in contested.items():
        how = f" using {api_version}" if one.operation == "Update" else ""
        of = f' with subresource "{one.subresource}"' if one.subresource else ""
        for path in sorted(paths):
            causes.append(
                {
                    "reason": "FieldManagerConflict",
                    "message": f'conflict with "{one.name}"{of}{how}',
                    "field": told(path),
                }
            )
    said = [f"{cause['message']}: {cause['field']}" for cause in causes]
    listed = said[0] if len(said) == 1 else "\n" + "\n".join(f"- {one}" for one in said)
    count = "1 conflict" if len(said) == 1 else f"{len(said)} conflicts"
    colon = ": " if len(said) == 1 else ":"
    message = f"Apply failed with {count}{colon}{listed}"
    return Refusal(409, "Conflict", message, {"causes": causes})


def merged(shape: Shape, live: Any, config: Any) -> Any:
    """What is there with what is applied in it."""
    if isinstance(config, dict) and isinstance(live, dict):
        found = dict(live)
        for name, value in config.items():
            found[name] = merged(shape.below(name), live.get(name), value)
        return found
    if isinstance(config, list) and isinstance(live, list) and (shape.keys or shape.is_set):
        return _merged_list(shape, live, config)
    return config


def _merged_list(shape: Shape, live: list[Any], config: list[Any]) -> list[Any]:
    wanted = {shape.step(item): item for item in config}
    found = []
    for item in live:
        step = shape.step(item)
        found.append(merged(shape.item(), item, wanted.pop(step)) if step in wanted else item)
    return [*found, *wanted.values()]


def removed(shape: Shape, body: Any, path: Path) -> Any:
    """The body without what is at the path, and without what that leaves empty."""
    step, rest = path[0], path[1:]
    if isinstance(body, dict) and step.startswith("f:"):
        name = step[2:]
        if name not in body:
            return body
        below = removed(shape.below(name), body[name], rest) if rest else None
        kept = {key: value for key, value in body.items() if key != name}
        if below not in (None, {}, []):
            return {key: below if key == name else body[key] for key in body}
        return kept
    if isinstance(body, list):
        return [
            removed(shape.item(), item, rest) if rest and shape.step(item) == step else item
            for item in body
            if rest or shape.step(item) != step
        ]
    return body
