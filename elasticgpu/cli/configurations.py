"""Files and objects that `elasticgpu import` is given, as entries of configurations, nodes, cards.

ConfigMaps come as they are on a cluster: the device plugin's with a text a name, mig-parted's with
one text that holds all names.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from elasticgpu.api.gpu import GPU
from elasticgpu.api.sharing import PartedConfig, PluginConfig
from elasticgpu.errors import Refused
from elasticgpu.rules.importing import Entry

Object = dict[str, Any]
SUFFIXES = (".yaml", ".yml", ".json")
PARTED = "mig-configs"
T = TypeVar("T", bound=BaseModel)


@dataclass
class Given:
    """All that was read: entries, the labels of nodes by name, cards, and what is none of these."""

    entries: list[Entry] = field(default_factory=list)
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    cards: list[GPU] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def take(self, where: str, obj: Object) -> None:
        """Take one object in. Raises Refused with file, object and field if it makes no sense."""
        name = obj.get("metadata", {}).get("name", "")
        match obj.get("kind"):
            case "ConfigMap":
                self.entries += entries(where, obj)
            case "Node":
                self.nodes[name] = obj["metadata"].get("labels", {})
            case "GPU":
                self.cards.append(_valid(f"{where}: GPU {name}", GPU, obj))
            case kind:
                self.notes.append(f"{where}: {kind or 'something without a kind'} is not imported")


def files(sources: Iterable[str]) -> Iterator[tuple[str, Object]]:
    """The objects in these files and folders, and of standard input (`-`), each with its file."""
    for source in sources:
        if source == "-":
            yield from _objects("standard input", sys.stdin.read())
            continue
        path = Path(source)
        paths = sorted(path.iterdir()) if path.is_dir() else [path]
        for file in paths:
            if not path.is_dir() or file.suffix in SUFFIXES:
                yield from _objects(str(file), _read(file))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from error


def _objects(where: str, text: str) -> Iterator[tuple[str, Object]]:
    for document in _parsed(where, text, all_of=True):
        if document is None:
            continue
        if not isinstance(document, dict):
            raise Refused(f"{where}: a {type(document).__name__}, not an object of Kubernetes")
        listed = document.get("items") if str(document.get("kind")).endswith("List") else None
        yield from ((where, one) for one in (listed or [document]))


def _parsed(where: str, text: str, *, all_of: bool = False) -> Any:
    try:
        return list(yaml.safe_load_all(text)) if all_of else yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise Refused(f"{where} is no YAML: {' '.join(str(error).split())}") from error


def entries(where: str, config_map: Object) -> Iterator[Entry]:
    """The entries of a ConfigMap, of whichever of the two kinds each is."""
    meta = config_map["metadata"]
    path = f"{meta.get('namespace', 'default')}/{meta['name']}"
    for name, text in (config_map.get("data") or {}).items():
        place = f"{where}: ConfigMap {path}, {name}"
        body = _parsed(place, text)
        if isinstance(body, dict) and PARTED in body:
            layouts = _valid(place, PartedConfig, body).mig_configs
            yield from (Entry(where, f"{path}/{one}", tuple(of)) for one, of in layouts.items())
        else:
            yield Entry(where, f"{path}/{name}", _valid(place, PluginConfig, body or {}))


def is_configuration(config_map: Object) -> bool:
    """Whether a ConfigMap that nobody named looks like one of the two kinds."""
    for text in (config_map.get("data") or {}).values():
        try:
            body = yaml.safe_load(text)
        except yaml.YAMLError:
            return False
        known = {"version", PARTED, *PluginConfig.model_fields}
        if not (isinstance(body, dict) and "version" in body and body.keys() <= known):
            return False
    return bool(config_map.get("data"))


def _valid(place: str, kind: type[T], body: object) -> T:
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(str(part) for part in fault['loc']) or 'all of it'}: "
            f"{fault['msg'].removeprefix('Value error, ')}"
            for fault in error.errors(include_url=False, include_input=False)
        )
        raise Refused(f"{place}: {faults}") from error
