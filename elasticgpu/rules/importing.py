"""What is to be written so that a cluster serves what configurations of others say.

`elasticgpu import` reads them; here each entry becomes classes, and each node that takes an entry
gets the modes of exactly its cards, and the devices that are to be made ahead. What cannot be
honoured is noted in words; what makes no sense is refused, with the entry it stands in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU, GPUSpec
from elasticgpu.api.gpuclass import ClassSpec, ElasticGPUClass
from elasticgpu.api.meta import GROUP, KubeObject, ObjectMeta
from elasticgpu.api.names import SERVES_ANNOTATION
from elasticgpu.api.sharing import (
    CAPABLE_LABEL,
    GPU_RESOURCE,
    PARTED_LABEL,
    PLUGIN_LABEL,
    MigPart,
    PluginConfig,
)
from elasticgpu.errors import Refused

from . import imported_mig, imported_sharing, mig
from .imported_sharing import Shared

WHOLE = f"{GROUP}/whole"
MIG = f"{GROUP}/mig"
NAMED = 3
"""How many entries a class is said to be by."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a ConfigMap, read: the file, `namespace/ConfigMap/entry`, and what it says."""

    file: str
    path: str
    says: PluginConfig | tuple[MigPart, ...]

    @property
    def place(self) -> str:
        """Where it stands, for people."""
        config_map, _, name = self.path.rpartition("/")
        return f"{self.file}: ConfigMap {config_map}, {name}"

    @property
    def label(self) -> str:
        """The node label by which it is chosen."""
        return PLUGIN_LABEL if isinstance(self.says, PluginConfig) else PARTED_LABEL


@dataclass(frozen=True, slots=True)
class Choice:
    """A node that takes an entry: by hand, or by its labels."""

    node: str
    entry: Entry
    labels: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """An object to be applied, and what it is for."""

    why: str
    obj: KubeObject


@dataclass(frozen=True, slots=True)
class Import:
    """All that is to be applied, in order, and what of the configurations it does not honour."""

    made: tuple[Made, ...]
    notes: tuple[str, ...]


@dataclass
class _Draft:
    """An import while it grows: classes by name with the resources they serve, modes by card."""

    classes: dict[str, tuple[ElasticGPUClass, list[str], list[str]]] = field(default_factory=dict)
    modes: dict[str, tuple[GPU, list[str], str]] = field(default_factory=dict)
    devices: list[Made] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)

    def note(self, said: str) -> None:
        self.notes[said] = None

    def has_class(
        self, name: str, provisioner: str, entry: Entry, *serves: str, **written: str
    ) -> None:
        """A class of this name; from several entries it is one, and serves what all of them say."""
        spec = ClassSpec(provisioner=provisioner, **({"parameters": written} if written else {}))
        made = ElasticGPUClass(metadata=ObjectMeta(name=name), spec=spec)
        _, resources, paths = self.classes.setdefault(name, (made, [], []))
        resources += [one for one in serves if one not in resources]
        paths += [entry.path] if entry.path not in paths else []


def choices(
    entries: Sequence[Entry],
    nodes: Mapping[str, Mapping[str, str]],
    by_hand: Iterable[tuple[str, str]],
) -> tuple[list[Choice], list[str]]:
    """Which nodes take which entries: those that are named, else by the labels of `nodes`; and what
    was passed over. Raises Refused for an entry that is not there, or there more than once."""
    found: dict[tuple[str, str], Choice] = {}
    notes = []
    for node, name in by_hand:
        choice = Choice(node, _one(entries, name, f"--node {node}={name}"))
        if (node, choice.entry.label) in found:
            raise Refused(f"--node {node}={name}: the node takes one entry of a kind, not two")
        found[node, choice.entry.label] = choice
    for node, labels in nodes.items():
        for label in (PLUGIN_LABEL, PARTED_LABEL):
            if label not in labels or (node, label) in found:
                continue
            written = f"node {node}: label {label}={labels[label]}"
            fit = [entry for entry in entries if entry.label == label]
            if fit:
                found[node, label] = Choice(node, _one(fit, labels[label], written), labels)
            else:
                notes.append(f"{written}: no configuration of that kind was given")
    return list(found.values()), notes


def _one(entries: Sequence[Entry], name: str, asked: str) -> Entry:
    fit = [entry for entry in entries if f"/{entry.path}".endswith(f"/{name}")]
    if len(fit) == 1:
        return fit[0]
    if not fit:
        known = ", ".join(entry.path for entry in entries) or "none"
        raise Refused(f"{asked}: there is no such entry; there are: {known}")
    paths = " and ".join(entry.path for entry in fit)
    raise Refused(f"{asked}: that is {paths}: say --node NODE={fit[0].path}, or give only one")


def translate(entries: Sequence[Entry], chosen: Sequence[Choice], cards: Iterable[GPU]) -> Import:
    """Everything to be applied. Raises Refused with the entry that makes no sense."""
    draft = _Draft()
    for entry in entries:
        _classes(draft, entry)
    by_node: dict[str, list[GPU]] = {}
    for card in sorted(cards, key=lambda card: (card.status.index, card.name)):
        by_node.setdefault(card.spec.node_name, []).append(card)
    for choice in sorted(chosen, key=lambda choice: choice.entry.label):
        here = by_node.get(choice.node)
        if not here:
            raise Refused(
                f"node {choice.node} has no GPU objects: is its agent running? Give "
                "--from-cluster, or the output of `kubectl get gpus -o yaml`"
            )
        match choice.entry.says:
            case PluginConfig() as config:
                _share(draft, choice, config, here, by_node)
            case parts:
                _cut(draft, choice, parts, here)
    return _finished(draft)


def _classes(draft: _Draft, entry: Entry) -> None:
    """The classes that an entry calls for, whether or not a node takes it yet."""
    if isinstance(entry.says, PluginConfig):
        for said in imported_sharing.unheard(entry.says):
            draft.note(f"{entry.place}: {said}")
        for shared in imported_sharing.shared(entry.place, entry.says):
            serves = [shared.resource] if shared.resource else []
            draft.has_class(shared.class_name, shared.provisioner, entry, *serves, **shared.written)
    elif any(part.mig_enabled for part in entry.says):
        draft.has_class("mig", MIG, entry)


def _share(
    draft: _Draft,
    choice: Choice,
    config: PluginConfig,
    cards: Sequence[GPU],
    all_cards: Mapping[str, list[GPU]],
) -> None:
    """The cards that an entry shares get their backend's mode, and all others are whole."""
    place, path = f"{choice.entry.place}, node {choice.node}", choice.entry.path
    if config.sharing.mps and choice.labels and choice.labels.get(CAPABLE_LABEL) != "true":
        draft.note(
            f"node {choice.node} has no label {CAPABLE_LABEL}=true, without which NVIDIA's plugin "
            "would not serve MPS there; imported all the same"
        )
    elsewhere = {card.status.uuid for others in all_cards.values() for card in others}
    taken: dict[str, Shared] = {}
    for shared in imported_sharing.shared(choice.entry.place, config):
        for card in imported_sharing.chosen(place, shared, cards, elsewhere):
            _take(draft, place, taken, card, shared)
    _one_class_a_backend(draft, place, taken)
    migs = [MIG] if config.flags.mig_strategy in ("mixed", "single") else []
    for card in cards:
        if by := taken.get(card.name):
            draft.modes[card.name] = (card, [by.provisioner], f"{by.class_name} by {path}")
        else:
            draft.modes[card.name] = (card, [WHOLE, *migs], f"not shared by {path}")
            draft.has_class("whole", WHOLE, choice.entry, GPU_RESOURCE)


def _take(draft: _Draft, place: str, taken: dict[str, Shared], card: GPU, shared: Shared) -> None:
    before = taken.get(card.name)
    if before is None:
        taken[card.name] = shared
    elif before.provisioner == shared.provisioner:
        raise Refused(f"{place}: card {card.status.index} is in two entries of {shared.strategy}")
    else:
        draft.note(
            f"{place}: card {card.status.index} is under {before.strategy} and {shared.strategy}: "
            f"{before.strategy} wins, as it does in NVIDIA's plugin"
        )


def _one_class_a_backend(draft: _Draft, place: str, taken: Mapping[str, Shared]) -> None:
    for provisioner in {shared.provisioner for shared in taken.values()}:
        names = {one.class_name for one in taken.values() if one.provisioner == provisioner}
        if len(names) > 1:
            draft.note(
                f"{place}: {' and '.join(sorted(names))} may take the same cards: modes say which "
                "backend has a card, not how many replicas; the claims that come first decide"
            )


def _cut(draft: _Draft, choice: Choice, parts: Sequence[MigPart], cards: Sequence[GPU]) -> None:
    """The cards that are cut get the mode and their devices, those that are not lose it."""
    place, path = f"{choice.entry.place}, node {choice.node}", choice.entry.path
    for card, part in imported_mig.matched(place, parts, cards):
        _, before, _ = draft.modes.get(card.name, (card, [WHOLE], ""))
        index = card.status.index
        if not part.mig_enabled:
            kept = [mode for mode in before if mode != MIG]
            draft.modes[card.name] = (card, kept, f"not cut by {path}")
            if WHOLE in kept:
                draft.has_class("whole", WHOLE, choice.entry, GPU_RESOURCE)
        elif WHOLE not in before:
            raise Refused(f"{place}: card {index} is to be cut, and by its labels is {before[0]}")
        else:
            draft.modes[card.name] = (card, [MIG], f"cut by {path}")
            draft.devices += [
                Made(f"{_instance(device)} of {card.name}, by {path}", device)
                for device in imported_mig.devices(place, card, part, MIG)
            ]
        if said := mig.wrong_mode(card.status, wanted=part.mig_enabled):
            draft.note(f"{place}: card {index} {said}")


def _instance(device: ElasticGPU) -> str:
    (part,) = device.spec.source.devices
    return f"{part.mig_profile} at {part.mig_start}"


def _finished(draft: _Draft) -> Import:
    made = []
    for name in sorted(draft.classes):
        gpu_class, resources, paths = draft.classes[name]
        if resources:
            gpu_class = gpu_class.with_metadata(
                annotations={SERVES_ANNOTATION: ",".join(resources)}
            )
        more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
        made.append(Made(f"class by {', '.join(paths[:NAMED])}{more}", gpu_class))
    for card, modes, why in draft.modes.values():
        spec = GPUSpec(node_name=card.spec.node_name, modes=modes)
        told = f"card {card.status.index} of {card.spec.node_name}, {card.status.model}: {why}"
        made.append(Made(told, GPU(metadata=ObjectMeta(name=card.name), spec=spec)))
    return Import((*made, *draft.devices), tuple(draft.notes))
