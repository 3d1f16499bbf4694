"""What holds once faults have stopped and time has passed: all is bound or says why not, all that
was deleted is gone, nothing is left behind, and nobody writes any more."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

from tests.auditor import at, audit, prepared, users

from .town import CLAIMS, DEVICES, NODES, PODS, Object, Town

NODE = "elasticgpu.io/node"
WISHES = "claims name device"
"""Two people may name one device; `always` sees that only one of them is bound to it."""


def unsettled(town: Town) -> list[str]:
    """Sentences about what should be otherwise by now."""
    found = audit(town.read, cast("Any", town))
    begun = tuple(f"device {name} has " for name in _half_prepared(town))
    return [
        *(one for one in found if WISHES not in one and not one.startswith(begun)),
        *_claims(town),
        *_devices(town),
        *_pods(town),
    ]


def _half_prepared(town: Town) -> Iterator[str]:
    """Devices that a node began to prepare, and cannot: somebody deleted them meanwhile. That is
    undone when the pod is deleted, which waits and says why."""
    waiting = {
        at(pod, "metadata.uid")
        for pod in town.all(PODS)
        if _alive(pod) and at(pod, "status.phase") != "Running"
    }
    for device in town.all(DEVICES):
        if prepared(device) & waiting and at(device, "metadata.deletionTimestamp"):
            yield at(device, "metadata.name")


def _said(obj: Object) -> str:
    facts = [c for c in at(obj, "status.conditions", []) if c["type"] == "Bound"]
    return next((c.get("message", "") for c in facts), "")


def _claims(town: Town) -> Iterator[str]:
    alive = {at(p, "metadata.uid") for p in town.all(PODS) if _alive(p)}
    wanted = {name for c in town.all(CLAIMS) for name in at(c, "spec.colocateWith", [])}
    for claim in town.all(CLAIMS):
        name, phase = at(claim, "metadata.name"), at(claim, "status.phase")
        if phase not in ("Bound", "Pending", "Lost"):
            yield f"claim {name} is {phase!r}"
        elif phase != "Bound" and not _said(claim):
            yield f"claim {name} is {phase} and does not say why"
        if (
            at(claim, "metadata.deletionTimestamp")
            and not users(claim) & alive
            and not _named(town, name)
        ):
            yield f"claim {name} was deleted, is not used, and is still there"
        if phase == "Pending" and name not in wanted and _placeable(town, claim):
            yield f"claim {name} is Pending ({_said(claim)}), and there is room for it"


def _alive(pod: Object) -> bool:
    return at(pod, "status.phase") not in ("Succeeded", "Failed")


def _named(town: Town, claim: str) -> bool:
    """Whether a pod that has not ended names the claim."""
    return any(
        claim in note.split(",")
        for pod in town.all(PODS)
        if _alive(pod)
        for note in at(pod, "metadata.annotations", {}).values()
    )


def _placeable(town: Town, claim: Object) -> bool:
    """Whether a share of one card, asked for at once and without conditions, would fit."""
    spec = claim["spec"]
    classes = {at(c, "metadata.name"): c for c in town.all("elasticgpu.io/elasticgpuclasses")}
    of = classes.get(at(spec, "elasticGPUClassName"))
    asked = at(spec, "resources.requests", {})
    core = int(asked.get("elasticgpu.io/gpu-core", 0))
    simple = not (set(spec) & {"elasticGPUName", "colocateWith", "gpuSelector", "selector"})
    if of is None or not simple or not 0 < core <= 100 or len(asked) > 2:
        return False
    if at(of, "spec.eGPUBindingMode") == "WaitForFirstConsumer":
        return False
    return any(100 - _taken(town)[card] >= core for card in _open_cards(town))


def _taken(town: Town) -> Counter[str]:
    taken = Counter[str]()
    for device in town.all(DEVICES):
        for part in at(device, "spec.source.devices", []):
            taken[part["gpu"]] += part.get("core", 0)
    return taken


def _open_cards(town: Town) -> Iterator[str]:
    cordoned = {at(n, "metadata.name") for n in town.all(NODES) if at(n, "spec.unschedulable")}
    for card in town.all("elasticgpu.io/gpus"):
        closed = at(card, "spec.unschedulable", False) or at(card, "spec.nodeName") in cordoned
        if not closed and at(card, "status.health") == "Healthy":
            yield at(card, "metadata.name")


def _devices(town: Town) -> Iterator[str]:
    claims = {at(claim, "metadata.uid") for claim in town.all(CLAIMS)}
    named = {at(claim, "spec.elasticGPUName") for claim in town.all(CLAIMS)}
    for device in town.all(DEVICES):
        name, phase = at(device, "metadata.name"), at(device, "status.phase")
        if phase not in ("Available", "Bound", "Released", "Failed", "Pending"):
            yield f"device {name} is {phase!r}"
        if phase in ("Failed", "Pending") and not at(device, "status.message"):
            yield f"device {name} is {phase} and does not say why"
        owner = at(device, "spec.claimRef.uid")
        nobodys = owner not in claims and name not in named
        if at(device, "metadata.deletionTimestamp") and nobodys:
            yield f"device {name} was deleted, nobody has it, and it is still there"
        deletes = at(device, "spec.reclaimPolicy") == "Delete"
        if phase == "Released" and deletes and owner not in claims:
            yield f"device {name} is Released, is to be deleted, and is still there"


def _pods(town: Town) -> Iterator[str]:
    """A pod that has a node and its devices runs, one without says why; a deleted one is gone."""
    devices = {at(d, "spec.claimRef.uid"): d for d in town.all(DEVICES)}
    for pod in filter(_alive, town.all(PODS)):
        name, uid = at(pod, "metadata.name"), at(pod, "metadata.uid")
        held = [at(c, "metadata.uid") for c in town.all(CLAIMS) if uid in users(c)]
        whole = all(_serves(devices.get(one)) for one in held)
        if at(pod, "metadata.deletionTimestamp"):
            yield f"pod {name} was deleted and is still there"
        elif at(pod, "spec.nodeName"):
            if whole and held and at(pod, "status.phase") != "Running":
                yield f"pod {name} has its node and devices and is {at(pod, 'status.phase')}"
        elif not any(c.get("message") for c in at(pod, "status.conditions", [])):
            yield f"pod {name} waits and does not say why"


def _serves(device: Object | None) -> bool:
    """Whether a node would prepare it."""
    return at(device, "status.phase") == "Bound" and not at(device, "metadata.deletionTimestamp")


def left_over(town: Town) -> Iterator[str]:
    """What is there though all pods, claims and templates are gone: but for devices that are to
    be kept, nothing may be."""
    for table in (CLAIMS, PODS, "resource.k8s.io/resourceclaims"):
        for obj in town.all(table):
            yield f"{table} {at(obj, 'metadata.name')} is still there"
    for template in town.all("resource.k8s.io/resourceclaimtemplates"):
        yield f"template {at(template, 'metadata.name')} is still there"
    for device in town.all(DEVICES):
        name = at(device, "metadata.name")
        if NODE in at(device, "metadata.finalizers", []) or at(device, "status.preparedFor", []):
            yield f"device {name} is still marked by a node"
        if name.startswith("egpu-") and at(device, "spec.reclaimPolicy") == "Delete":
            yield f"device {name} is {at(device, 'status.phase')}, and nobody will ever have it"
    for machine in town.nodes.values():
        yield from (f"{machine.name} keeps {f.name}" for f in machine.config.cdi_dir.iterdir())
        ledger = machine.config.state_dir / "ledger.json"
        if ledger.exists() and (records := json.loads(ledger.read_text())["records"]):
            yield f"the ledger of {machine.name} has {len(records)} records"
