"""Fleet files: made-up cards, so that the whole of elasticgpu runs where no GPU is.

    nodes:
      node-a: [H200, H200]                      # models that are known, see `models`
      node-b:
      - {model: NVIDIA A10, count: 4, links: {kind: PCIe, bandwidth: 32000}}
      - {model: A100-40GB, migEnabled: true}    # its MIG mode is from the start what it stays
      - {model: Mine, memory: 16Gi, tflops: 20, uuid: GPU-0a1b2c3d-…}
      "*": [T4]                                 # any other node

A card's uuid comes from its node and index, so a node has the same cards after every start.
"""

from __future__ import annotations

import uuid
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from elasticgpu.api.gpu import GPU, GPUSpec, GPUStatus, Link, MigMode
from elasticgpu.api.meta import GROUP, ObjectMeta
from elasticgpu.api.quantity import MI, format_bytes, memory_bytes
from elasticgpu.errors import Refused

from .models import MODELS, PCI_DEVICE_IDS, CardModel, known
from .naming import card_name

ANY_NODE = "*"


class Strict(BaseModel):
    """Frozen, camelCase, and a misspelt field is an error."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )


class Links(Strict):
    """How every card of a row is connected with every other card of it."""

    kind: Literal["NVLink", "NVSwitch", "PCIe", "Host", "NUMA"]
    bandwidth: Annotated[int, Field(ge=0, description="MB/s in one direction.")] = 0


class Row(Strict):
    """`count` cards alike. A known model fills in what is left out."""

    model: Annotated[str, StringConstraints(min_length=1, max_length=128)]
    count: Annotated[int, Field(ge=1, le=64)] = 1
    uuid: Annotated[str, StringConstraints(max_length=63)] = ""
    memory: int | str | None = None
    architecture: Annotated[str, StringConstraints(max_length=63)] = ""
    compute_capability: Annotated[str, StringConstraints(max_length=63)] = ""
    tflops: Annotated[int, Field(ge=0)] | None = None
    numa_node: int = -1
    mig_enabled: bool = False
    driver_version: Annotated[str, StringConstraints(max_length=63)] = ""
    links: Links | None = None

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: object) -> object:
        return {"model": value} if isinstance(value, str) else value

    @field_validator("memory")
    @classmethod
    def _positive(cls, value: int | str | None) -> int | str | None:
        if value is not None and memory_bytes(value) <= 0:
            raise ValueError("memory is more than 0 bytes")
        return value

    @model_validator(mode="after")
    def _complete(self) -> Row:
        if self.memory is None and known(self.model) is None:
            names = ", ".join(model.short for model in MODELS)
            raise ValueError(
                f"model {self.model!r} is not known, so give its memory; known are {names}"
            )
        if self.uuid and self.count > 1:
            raise ValueError("one uuid cannot be that of several cards: leave it out, or count: 1")
        return self

    def status(self, node: str, index: int) -> GPUStatus:
        """The card at this index of the node, its links left out."""
        model = known(self.model) or CardModel(self.model, self.model, 0, "", "", 0)
        memory = memory_bytes(self.memory) if self.memory else model.memory_mib * MI
        architecture = self.architecture or model.architecture
        found = GPUStatus(
            index=index,
            uuid=self.uuid or made_up_uuid(node, index),
            model=model.name,
            memory=format_bytes(memory),
            minor=index,
            pci_bus_id=f"00000000:{index + 1:02X}:00.0",
            pci_device_id=PCI_DEVICE_IDS.get(model.short, ""),
            numa_node=self.numa_node,
            architecture=architecture,
            compute_capability=self.compute_capability or model.compute_capability,
            tflops=model.tflops if self.tflops is None else self.tflops,
            driver_version=self.driver_version,
            simulated=True,
            health="Healthy",
        )
        return _cut(found, model, enabled=self.mig_enabled) if model.mig else found


class Fleet(Strict):
    """The file."""

    nodes: dict[str, list[Row]]

    def cards(self, node: str) -> list[GPU]:
        """The cards of this node by index; none if the file has neither the node nor `*`."""
        rows = self.nodes.get(node, self.nodes.get(ANY_NODE, []))
        cards: list[GPU] = []
        for row in rows:
            start = len(cards)
            statuses = [row.status(node, start + n) for n in range(row.count)]
            cards += [_card(node, status, statuses, row.links) for status in statuses]
        return cards


def _cut(status: GPUStatus, model: CardModel, *, enabled: bool) -> GPUStatus:
    """The card as one that can be cut by MIG; before Hopper its mode changes by a reset."""
    mode: MigMode = "Enabled" if enabled else "Disabled"
    return status.but(
        mig=list(model.mig),
        mig_mode=mode,
        mig_mode_pending=mode,
        mig_needs_reset=status.architecture == "ampere",
    )


def made_up_uuid(node: str, index: int) -> str:
    """The uuid of a made-up card: the same at every start."""
    return f"GPU-{uuid.uuid5(uuid.NAMESPACE_DNS, f'{index}.{node}.simulated.{GROUP}')}"


def _card(node: str, status: GPUStatus, row: list[GPUStatus], links: Links | None) -> GPU:
    peers = [other for other in row if other.uuid != status.uuid] if links else []
    if links and peers:
        connections = [
            Link(peer=card_name(node, peer.uuid), kind=links.kind, bandwidth=links.bandwidth)
            for peer in peers
        ]
        status = status.but(links=connections)
    meta = ObjectMeta(name=card_name(node, status.uuid))
    return GPU(metadata=meta, spec=GPUSpec(node_name=node), status=status)


def load(path: Path) -> Fleet:
    """The fleet of this file. Raises Refused with file, place and fault."""
    try:
        fleet = Fleet.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise Refused(f"fleet file {path} cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise Refused(f"fleet file {path} is no YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        raise Refused(f"fleet file {path}: {_faults(error)}") from error
    for node in fleet.nodes:
        _unique(path, node, [card.name for card in fleet.cards(node)])
    return fleet


def _faults(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(str(part) for part in fault['loc']) or 'the file'}: "
        f"{fault['msg'].removeprefix('Value error, ')}"
        for fault in error.errors(include_url=False, include_input=False)
    )


def _unique(path: Path, node: str, names: list[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise Refused(
                f"fleet file {path}: nodes.{node}: {count} cards would be called {name}: the first "
                "8 digits of a card's uuid name it on its node"
            )
