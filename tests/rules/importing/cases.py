"""Configurations, nodes and cards by a word each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from elasticgpu.agent.fleet import Fleet, Row
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.sharing import MigPart, PluginConfig
from elasticgpu.rules.importing import Choice, Entry, Import, translate

HERE = Path(__file__).parent


def cards(model: str, count: int = 4, node: str = "node-a") -> list[GPU]:
    """So many cards of this model on a node."""
    return Fleet(nodes={node: [Row(model=model, count=count)]}).cards(node)


def plugin(text: str, name: str = "config1") -> Entry:
    """An entry for the device plugin, from its YAML without the version."""
    says = PluginConfig.model_validate({"version": "v1", **(yaml.safe_load(text) or {})})
    return Entry("a.yaml", f"ops/plugin/{name}", says)


def parted(text: str, name: str = "layout") -> Entry:
    """A layout of mig-parted, from its YAML."""
    parts = tuple(MigPart.model_validate(part) for part in yaml.safe_load(text))
    return Entry("b.yaml", f"ops/parted/{name}", parts)


def imported(here: Sequence[GPU], *entries: Entry, **labels: str) -> Import:
    """What these entries make of the cards of node-a, which takes all of them."""
    chosen = [Choice("node-a", entry, labels or None) for entry in entries]
    return translate(entries, chosen, here)


def modes(found: Import) -> dict[int, list[str]]:
    """The modes by the card's number, as the comment has it."""
    made = [one for one in found.made if isinstance(one.obj, GPU)]
    return {int(one.why.split()[1]): [mode.partition("/")[2] for mode in one.obj.spec.modes]
            for one in made if isinstance(one.obj, GPU)}  # fmt: skip


def classes(found: Import) -> dict[str, dict[str, Any]]:
    """What each class says."""
    made = (one.obj for one in found.made)
    return {
        one.name: {**one.spec.parameters, **one.metadata.annotations}
        for one in made
        if isinstance(one, ElasticGPUClass)
    }


def devices(found: Import) -> list[ElasticGPU]:
    """The devices that are made ahead."""
    return [one.obj for one in found.made if isinstance(one.obj, ElasticGPU)]
