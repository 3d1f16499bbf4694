"""What holds at every moment, in the words of the design: nothing oversold, doubled, nor
freed while a container has it. It reads what is stored, and what the machines know themselves; like
the auditor, which looks at what has settled, it shares no code with the library."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.auditor import at, number, prepared, takes_room, users

from .town import CLAIMS, DEVICES, Object, Town

COMPLETED = "elasticgpu.io/bind-completed"


def broken(town: Town) -> list[str]:
    """Sentences about what must never be, not even for a moment."""
    devices = {at(one, "metadata.name"): one for one in town.all(DEVICES)}
    claims = {at(one, "metadata.uid"): one for one in town.all(CLAIMS)}
    return [
        *_oversold(town, devices),
        *_doubled(devices, claims),
        *_held(devices, claims),
        *_taken(town, devices, claims),
        *_ended(town),
    ]


def _oversold(town: Town, devices: dict[str, Object]) -> Iterator[str]:
    core, memory, modes = Counter[str](), Counter[str](), defaultdict[str, set[str]](set)
    for device in filter(takes_room, devices.values()):
        for part in at(device, "spec.source.devices", []):
            core[part["gpu"]] += part.get("core", 0)
            memory[part["gpu"]] += number(part.get("memory", 0))
            modes[part["gpu"]].add(at(device, "spec.source.driver"))
    for card in town.all("elasticgpu.io/gpus"):
        name, has = at(card, "metadata.name"), number(at(card, "status.memory", 0))
        if core[name] > 100 or (has and memory[name] > has):
            yield f"card {name} is oversold: {core[name]}% core, {memory[name]} of {has} bytes"
        if len(modes[name]) > 1:
            yield f"card {name} serves {sorted(modes[name])} at once"


def _doubled(devices: dict[str, Object], claims: dict[str, Object]) -> Iterator[str]:
    complete = [c for c in claims.values() if COMPLETED in at(c, "metadata.annotations", {})]
    named = Counter(at(claim, "spec.elasticGPUName") for claim in complete)
    yield from (f"{n} claims are bound to device {d}" for d, n in named.items() if d and n > 1)
    bound = (one for one in devices.values() if at(one, "status.phase") == "Bound")
    owners = Counter(at(one, "spec.claimRef.uid") for one in bound)
    yield from (f"{n} devices are Bound to claim {u}" for u, n in owners.items() if u and n > 1)


def _held(devices: dict[str, Object], claims: dict[str, Object]) -> Iterator[str]:
    for claim in claims.values():
        device = devices.get(at(claim, "spec.elasticGPUName"))
        mine = at(device, "spec.claimRef.uid") == at(claim, "metadata.uid")
        both = users(claim) | (prepared(device) if mine else set())
        if len(both) > 1 and not at(claim, "spec.shared", False):
            yield f"unshared claim {at(claim, 'metadata.name')} is with {sorted(both)}"


def _taken(town: Town, devices: dict[str, Object], claims: dict[str, Object]) -> Iterator[str]:
    """What containers have is theirs: in the API, and on the node."""
    core = Counter[str]()
    for machine in town.nodes.values():
        for name in {use.device for use in machine.uses.values()} & devices.keys():
            for part in at(devices[name], "spec.source.devices", []):
                core[part["gpu"]] += part.get("core", 0)
        for use in machine.uses.values():
            who = f"pod {use.pod} on {machine.name} runs with device {use.device}"
            device, claim = devices.get(use.device), claims.get(use.claim)
            if device is None:
                yield f"{who}, which is gone"
            elif use.pod not in prepared(device):
                yield f"{who}, which is prepared for {sorted(prepared(device))}"
            elif at(device, "spec.claimRef.uid") not in ("", use.claim):
                yield f"{who}, which is now of claim {at(device, 'spec.claimRef.name')}"
            elif at(device, "status.phase") == "Available":
                yield f"{who}, which is Available"
            if claim is None:
                yield f"{who}, whose claim is gone"
            elif use.pod not in users(claim):
                yield f"{who}, but its claim is with {sorted(users(claim))}"
            if not use.file.exists():
                yield f"{who} without CDI file {use.file.name}"
    yield from (f"containers have {n}% of card {card}" for card, n in core.items() if n > 100)


def _ended(town: Town) -> Iterator[str]:
    for process in town.processes():
        for error in process.ended:
            yield f"process {process.name} ended: {error!r}"
