"""Files and objects that `elasticgpu import` is given, as entries of configurations, nodes, cards.

ConfigMaps come as they are on a cluster: the device plugin's with a text a name, mig-parted's with
one text that holds all names.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from elasticgpu.api.core import Node
from elasticgpu.api.gpu import GPU
from elasticgpu.api.meta import KubeObject
from elasticgpu.api.sharing import PartedConfig, PluginConfig
from elasticgpu.errors import Refused
from elasticgpu.rules.importing import Entry

Object = dict[str, Any]
SUFFIXES = (".yaml", ".yml", ".json")
PARTED = "mig-configs"
MOST_KEYS = 10_000
"""Keys of one map, merged ones counted: maps that merge each other grow without end."""
T = TypeVar("T", bound=BaseModel)


class ConfigMap(KubeObject):
    """A ConfigMap: texts by name."""

    data: dict[str, str] | None = None


class Loader(yaml.SafeLoader):
    """Refuses a key that is there twice, of which the last would win and nobody hear of it."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """A map as it is written, nothing merged into it."""
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        written = Counter(str(key.value) for key, _ in node.value if _is_scalar(key))
        twice = ", ".join(key for key, times in written.items() if times > 1)
        if twice:
            raise yaml.MarkedYAMLError(
                problem=f"{twice} is there twice", problem_mark=node.start_mark
            )
        return node

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge what `<<` names."""
        super().flatten_mapping(node)
        if len(node.value) > MOST_KEYS:
            raise yaml.MarkedYAMLError(problem="too many keys", problem_mark=node.start_mark)


def _is_scalar(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode)


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
                node = _valid(f"{where}: Node {name}", Node, obj)
                self.nodes[node.name] = dict(node.metadata.labels)
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
    except UnicodeDecodeError as error:
        raise Refused(f"{path} is no YAML: it is not written in UTF-8") from error


def _objects(where: str, text: str) -> Iterator[tuple[str, Object]]:
    for document in _parsed(where, text, all_of=True):
        if document is None:
            continue
        kind = str(_object(where, document).get("kind"))
        listed = document.get("items") if kind.endswith("List") else None
        found = listed if isinstance(listed, list) else [document]
        yield from ((where, _object(where, one)) for one in found)


def _object(where: str, document: Any) -> Object:
    """What was read, if by its shape it can be an object."""
    if not isinstance(document, dict):
        raise Refused(f"{where}: a {type(document).__name__}, not an object of Kubernetes")
    for name, kind in {"kind": str, "metadata": dict}.items():
        if not isinstance(document.get(name, kind()), kind):
            raise Refused(f"{where}: {name} is a {type(document[name]).__name__}")
    return document


def _parsed(where: str, text: str, *, all_of: bool = False) -> Any:
    try:
        found = yaml.load_all(text, Loader)
        return list(found) if all_of else next(found, None)
    except RecursionError as error:
        raise Refused(f"{where}: is nested too deep") from error
    except (yaml.YAMLError, ValueError) as error:  # of numbers and dates that are none
        raise Refused(f"{where} is no YAML: {' '.join(str(error).split())}") from error


def entries(where: str, config_map: Object) -> Iterator[Entry]:
    """The entries of a ConfigMap, of whichever of the two kinds each is."""
    read = _valid(f"{where}: ConfigMap", ConfigMap, config_map)
    path = f"{read.namespace or 'default'}/{read.name}"
    for name, text in (read.data or {}).items():
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
            body = _parsed("", text)
        except Refused:
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
