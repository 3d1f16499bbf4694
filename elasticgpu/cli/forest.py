"""`elasticgpu tree`: who holds what: nodes, their cards, devices cut from them, claims, pods.

What a card's devices hold is summed by the ledger, the same one the controller decides by.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import CardSlice, ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.api.meta import GROUP, Key
from elasticgpu.rules.fitting import size
from elasticgpu.rules.fleet import WHOLE
from elasticgpu.rules.ledger import Ledger
from elasticgpu.rules.recycling import waits_for_admin

from .columns import asked, claim_of, health, phase
from .printing import room

MISSING = "Missing"
"""Health of a card that devices lie on and that has no GPU object."""


@dataclass(frozen=True, slots=True)
class Room:
    """Percent of cards and bytes of their memory."""

    core: int = 0
    memory: int = 0

    def __add__(self, other: Room) -> Room:
        return Room(self.core + other.core, self.memory + other.memory)

    def __sub__(self, other: Room) -> Room:
        return Room(self.core - other.core, self.memory - other.memory)

    def __str__(self) -> str:
        return room(self.core, self.memory)


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a device is on one card. `held` is nothing for one that never got its room.

    `profile` is that of a MIG instance.
    """

    name: str
    phase: str
    size: Room
    held: Room
    claim: str = ""
    pods: tuple[str, ...] = ()
    profile: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """A card with what lies on it; `mode` is the provisioner that has it, empty while none has."""

    name: str
    model: str
    health: str
    simulated: bool
    size: Room
    held: Room
    devices: tuple[Leaf, ...] = ()
    mode: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """A node with cards; `size` and `held` are of all of them, shown or not."""

    name: str
    size: Room
    held: Room
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A claim without a device."""

    namespace: str
    name: str
    phase: str
    asks: str


@dataclass(frozen=True, slots=True)
class Forest:
    """All of it; `released` are the devices that wait for an admin, `remote` lie on no card.

    `size` and `held` are of all nodes, shown or not; with a namespace only its claims' are shown.
    """

    size: Room
    held: Room
    namespace: str = ""
    nodes: tuple[Node, ...] = ()
    remote: tuple[Leaf, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    released: tuple[str, ...] = ()

    @property
    def cards(self) -> tuple[Card, ...]:
        """The cards of all nodes."""
        return tuple(card for node in self.nodes for card in node.cards)

    @property
    def idle(self) -> Room:
        """What the Released devices hold."""
        leaves = (leaf for card in self.cards for leaf in card.devices)
        return sum((leaf.held for leaf in leaves if leaf.name in self.released), Room())


def grow(
    gpus: Sequence[GPU],
    devices: Sequence[ElasticGPU],
    claims: Sequence[ElasticGPUClaim],
    namespace: str = "",
) -> Forest:
    """The tree of all nodes; with a namespace, of what its claims hold."""
    ledger = Ledger(gpus, devices)
    pods = {claim.key: tuple(u.pod_name for u in claim.status.users) for claim in claims}
    shown = [d for d in devices if not namespace or claim_of(d).startswith(f"{namespace}/")]
    leaves = _leaves(shown, ledger, pods)
    lost = _lost(devices, {gpu.name for gpu in gpus})
    cards = [*(_card(gpu, ledger, leaves) for gpu in gpus), *(_gone(n, leaves) for _, n in lost)]
    homes = [*(gpu.spec.node_name for gpu in gpus), *(node for node, _ in lost)]
    nodes = [_node(name, cards, homes) for name in sorted(set(homes))]
    whole = sum((node.size for node in nodes), Room())
    held = sum((node.held for node in nodes), Room())
    if namespace:
        nodes = [replace(n, cards=tuple(c for c in n.cards if c.devices)) for n in nodes]
    return Forest(
        size=whole,
        held=held,
        namespace=namespace,
        nodes=tuple(node for node in nodes if node.cards),
        remote=tuple(leaves.get("", ())),
        waiting=tuple(_waiting(claim) for claim in claims if not claim.spec.elastic_gpu_name),
        released=tuple(device.name for device in shown if waits_for_admin(device)),
    )


def _leaves(
    devices: Iterable[ElasticGPU], ledger: Ledger, pods: Mapping[Key, tuple[str, ...]]
) -> dict[str, list[Leaf]]:
    """By the card they lie on; devices that lie on none are under the empty name."""
    found: dict[str, list[Leaf]] = {}
    for device in devices:
        ref = device.spec.claim_ref
        parts = device.spec.source.devices if device.spec.node_name else []
        cut = [(p.gpu, _part(p), p.mig_profile) for p in parts]
        for gpu, part, profile in cut or [("", Room(*size(device)), "")]:
            held = part if ledger.knows(device.name) else Room()
            users = pods.get(ref.key, ()) if ref else ()
            leaf = Leaf(device.name, phase(device), part, held, claim_of(device), users, profile)
            found.setdefault(gpu, []).append(leaf)
    return found


def _part(part: CardSlice) -> Room:
    return Room(part.core, part.memory_bytes)


def _card(gpu: GPU, ledger: Ledger, leaves: Mapping[str, Sequence[Leaf]]) -> Card:
    whole, view = Room(WHOLE, gpu.memory), ledger.card(gpu.name)
    free = Room(view.core_free, view.memory_free) if view else whole
    status = gpu.status
    return Card(
        name=gpu.name,
        model=status.model,
        health=health(gpu),
        simulated=status.simulated,
        size=whole,
        held=whole - free,
        devices=tuple(leaves.get(gpu.name, ())),
        mode=view.mode.removeprefix(f"{GROUP}/") if view else "",
    )


def _lost(devices: Iterable[ElasticGPU], known: set[str]) -> list[Key]:
    """(node, name) of the cards that devices lie on and nobody publishes."""
    parts = ((d.spec.node_name, p.gpu) for d in devices for p in d.spec.source.devices)
    return sorted({(node, gpu) for node, gpu in parts if node and gpu not in known})


def _gone(name: str, leaves: Mapping[str, Sequence[Leaf]]) -> Card:
    devices = tuple(leaves.get(name, ()))
    held = sum((leaf.held for leaf in devices), Room())
    return Card(name, "", MISSING, simulated=False, size=Room(), held=held, devices=devices)


def _node(name: str, cards: Sequence[Card], homes: Sequence[str]) -> Node:
    here = tuple(card for card, home in zip(cards, homes, strict=True) if home == name)
    whole, held = (c.size for c in here), (c.held for c in here)
    return Node(name, sum(whole, Room()), sum(held, Room()), here)


def _waiting(claim: ElasticGPUClaim) -> Waiting:
    return Waiting(
        claim.namespace, claim.name, phase(claim), asked(claim.spec, claim.metadata.labels)
    )
