"""The auditor: reads API objects and a node's CDI folder, and says what must never be.

It shares no code with the library, so an error there cannot hide here."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Object = dict[str, Any]
OURS, DRA, DRIVER = "/apis/elasticgpu.io/v1alpha1", "/apis/resource.k8s.io/v1", "elasticgpu.io"
UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "k": 10**3, "M": 10**6, "G": 10**9}


def at(obj: Object | None, path: str, default: Any = "") -> Any:
    """The value at a dotted path, or the default where something on the way is missing."""
    for part in path.split("."):
        obj = obj.get(part) if isinstance(obj, dict) else None
    return default if obj is None else obj


def number(text: Any) -> int:
    """A quantity as a whole number."""
    unit = next((u for u in UNITS if str(text).endswith(u)), "")
    return int(float(str(text).removesuffix(unit)) * UNITS.get(unit, 1))


def users(claim: Object) -> set[str]:
    """Uids of the pods that hold a claim."""
    return {row["podUid"] for row in at(claim, "status.users", [])}


def prepared(device: Object | None) -> set[str]:
    """Uids of the pods a node has the device ready for."""
    return set(at(device, "status.preparedFor", []))


def takes_room(device: Object) -> bool:
    """All devices do, but for those an admin made and nobody admitted."""
    if at(device, "status.phase") in ("", "Pending"):
        return f"{DRIVER}/provisioned-by" in at(device, "metadata.annotations", {})
    return bool(at(device, "status.reason") != "Overcommitted")


class State:
    """Everything there is: cards and devices by name, the rest by uid."""

    def __init__(self, read: Callable[[str], list[Object]], cdi_dir: Path) -> None:
        self.cards = {at(o, "metadata.name"): o for o in read(f"{OURS}/gpus")}
        self.devices = {at(o, "metadata.name"): o for o in read(f"{OURS}/elasticgpus")}
        self.claims = {at(o, "metadata.uid"): o for o in read(f"{OURS}/elasticgpuclaims")}
        self.pods = {at(o, "metadata.uid"): o for o in read("/api/v1/pods")}
        self.requests = {at(o, "metadata.uid"): o for o in read(f"{DRA}/resourceclaims")}
        self.templates = read(f"{DRA}/resourceclaimtemplates")
        self.files = {f.name: f.read_text() for f in cdi_dir.iterdir() if DRIVER in f.name}
        rooms = {name: device for name, device in self.devices.items() if takes_room(device)}
        self.parts = [(n, d, p) for n, d in rooms.items() for p in at(d, "spec.source.devices", [])]

    def alive(self, uid: str) -> bool:
        """Whether the pod exists and may still run something."""
        return at(self.pods.get(uid), "status.phase", "Failed") not in ("Succeeded", "Failed")


def audit(read: Callable[[str], list[Object]], cdi_dir: Path) -> list[str]:
    """Sentences about what is doubled, oversold, lost or orphaned; none when all is well."""
    state = State(read, cdi_dir)
    return [s for check in (oversold, paired, held, allocated, left_behind) for s in check(state)]


def oversold(state: State) -> Iterator[str]:
    """No card gives more than it has, or to two backends, or other than it shows."""
    core, memory, modes = Counter[str](), Counter[str](), defaultdict[str, set[str]](set)
    for _, device, part in state.parts:
        core[part["gpu"]] += part.get("core", 0)
        memory[part["gpu"]] += number(part.get("memory", 0))
        modes[part["gpu"]].add(at(device, "spec.source.driver"))
    for name, card in state.cards.items():
        if core[name] > 100 or memory[name] > number(at(card, "status.memory", 0)):
            yield f"card {name} is oversold: {core[name]}% core, {memory[name]} bytes"
        if len(modes[name]) > 1:
            yield f"card {name} serves {sorted(modes[name])} at once"
        rows = {row["elasticGPU"] for row in at(card, "status.allocated", [])}
        if rows != (real := {d for d, _, part in state.parts if part["gpu"] == name}):
            yield f"card {name} shows {sorted(rows)}, but {sorted(real)} are cut from it"


def paired(state: State) -> Iterator[str]:
    """One device ↔ one claim, both ways; a claim that is gone leaves no device Bound."""
    named = Counter(at(claim, "spec.elasticGPUName") for claim in state.claims.values())
    yield from (f"{n} claims name device {d}" for d, n in named.items() if d and n > 1)
    bound = (d for d in state.devices.values() if at(d, "status.phase") == "Bound")
    owners = Counter(at(device, "spec.claimRef.uid") for device in bound)
    yield from (f"{n} Bound devices point at claim {u}" for u, n in owners.items() if n > 1)
    for uid, claim in state.claims.items():
        device = state.devices.get(at(claim, "spec.elasticGPUName"))
        if at(claim, "status.phase") == "Bound" and at(device, "spec.claimRef.uid") != uid:
            yield f"claim {at(claim, 'metadata.name')} is Bound to a device that is not its own"
    for name, device in state.devices.items():
        uid, phase = at(device, "spec.claimRef.uid"), at(device, "status.phase")
        if uid and uid not in state.claims and phase not in ("Released", "Failed"):
            yield f"device {name} is {phase!r} for a claim that is gone"


def held(state: State) -> Iterator[str]:
    """An unshared claim is with one pod; a row's pod lives or is still prepared."""
    for claim in state.claims.values():
        ready = prepared(state.devices.get(at(claim, "spec.elasticGPUName")))
        if len(both := users(claim) | ready) > 1 and not at(claim, "spec.shared", False):
            yield f"unshared claim {at(claim, 'metadata.name')} is with {sorted(both)}"
        for uid in (uid for uid in users(claim) - ready if not state.alive(uid)):
            yield f"claim {at(claim, 'metadata.name')} is held by pod {uid}, which has ended"


def allocated(state: State) -> Iterator[str]:
    """Our reservedFor entry stays only while the pod has no node; who is allocated, holds."""
    holders = {(at(c, "spec.elasticGPUName"), u) for c in state.claims.values() for u in users(c)}
    for uid, request in state.requests.items():
        name, file = at(request, "metadata.name"), f"{DRIVER}-claim_{uid}.json"
        owner = next((o["uid"] for o in at(request, "metadata.ownerReferences", [])), "")
        pod = state.pods.get(owner)
        ours = [r for r in at(request, "status.reservedFor", []) if r.get("apiGroup") == DRIVER]
        if ours and (pod is None or at(pod, "spec.nodeName")):
            yield f"ResourceClaim {name} keeps our reservedFor entry for nothing"
        for row in at(request, "status.allocation.devices.results", []):
            if row["driver"] != DRIVER or not state.alive(owner):
                continue
            if (row["device"], owner) not in holders:
                yield f"ResourceClaim {name} has {row['device']}, which its pod does not hold"
            here = at(pod, "spec.nodeName") == "node-0" and at(pod, "status.phase") == "Running"
            if here and file not in state.files:
                yield f"pod {at(pod, 'metadata.name')} runs without CDI file {file}"


def left_behind(state: State) -> Iterator[str]:
    """A CDI file a pod and device, no scraps, no finalizer without use, no unnamed template."""
    yield from (f"the CDI folder holds scrap {f}" for f in state.files if not f.endswith(".json"))
    files = {f: [d for d in state.devices if f'_DEVICE={d}"' in t] for f, t in state.files.items()}
    yield from (f"CDI file {f} is of a device that is gone" for f, ds in files.items() if not ds)
    for name, device in state.devices.items():
        count, pods = sum(name in found for found in files.values()), len(prepared(device))
        if at(device, "spec.nodeName") == "node-0" and count != pods:
            yield f"device {name} has {count} CDI files for {pods} pods"
        if f"{DRIVER}/node" in at(device, "metadata.finalizers", []) and not pods:
            yield f"device {name} keeps the node's finalizer, prepared for nobody"
    entries = ((p, e) for p in state.pods.values() for e in at(p, "spec.resourceClaims", []))
    needed = {(at(p, "metadata.namespace"), e.get("resourceClaimTemplateName")) for p, e in entries}
    for key in {(at(t, "metadata.namespace"), at(t, "metadata.name")) for t in state.templates}:
        if key[1].startswith(("egpuc-", "egpuct-")) and key not in needed:
            yield f"ResourceClaimTemplate {'/'.join(key)} is named by no pod"
