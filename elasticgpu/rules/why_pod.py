"""Why a pod is as it is, as far as its claims go: what `handing` says, and what each claim says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from elasticgpu.api.core import Pod
from elasticgpu.api.meta import Key

from . import handing
from .entries import annotated, entries
from .explaining import Explanation, Step, kubectl, listed, sentence
from .holders import holds
from .waiting import EntryView, why


@dataclass(frozen=True, slots=True)
class PodCase:
    """A pod with all that can explain it.

    `entries` are its claims as the controller sees them, `claims` the answers about those claims.
    `told` is what others say of the pod: the scheduler, the kubelet, the node's agent. `unseen`
    says why devices could not be read; then only the claims themselves count.
    """

    pod: Pod
    entries: tuple[EntryView, ...] = ()
    claims: Mapping[Key, Explanation] = field(default_factory=dict)
    told: tuple[str, ...] = ()
    unseen: str = ""


def explain(case: PodCase) -> Explanation:
    """The answer about a pod."""
    pod = case.pod
    facts, steps = _facts(case)
    missing = [case.claims.get(v.entry.key) for v in case.entries if not _has(pod, v)]
    unseen = (case.unseen,) if case.unseen else ()
    return Explanation(
        subject=f"Pod {pod.namespace}/{pod.name}",
        state="Terminating" if pod.terminating else pod.status.phase or "Pending",
        since=pod.metadata.deletion_timestamp or pod.metadata.creation_timestamp,
        facts=(*facts, *case.told, *unseen),
        steps=steps,
        about=tuple(dict.fromkeys(claim for claim in missing if claim and claim.state != "Bound")),
    )


def _has(pod: Pod, view: EntryView) -> bool:
    return view.claim is not None and holds(view.claim, pod.uid)


def _facts(case: PodCase) -> tuple[list[str], tuple[Step, ...]]:
    pod = case.pod
    see = Step("See its events", kubectl("describe", "pod", pod.namespace, pod.name))
    if pod.finished or pod.terminating:
        return [_ending(case)], ()
    if not entries(pod):
        if annotated(pod):
            return [sentence(handing.MISSED)], (_anew(pod),)
        return ["It names no ElasticGPUClaim: nothing of elasticgpu keeps it waiting."], (see,)
    if case.unseen:
        names = ", ".join(view.entry.claim for view in case.entries)
        return [f"It uses ElasticGPUClaim {names}."], (see,)
    if reasons := _reasons(case):
        return reasons, _remedies(case)
    if pod.status.phase == "Running":
        return _devices(case), ()
    return [*_devices(case), _turn(case)], (see,)


def _ending(case: PodCase) -> str:
    held = ", ".join(view.entry.claim for view in case.entries if _has(case.pod, view))
    if case.pod.terminating:
        return (
            f"It is being deleted; then it gives {held} back." if held else "It is being deleted."
        )
    return f"It has ended, and gives {held} back." if held else "It has ended, and holds no claim."


def _reasons(case: PodCase) -> list[str]:
    """Why it waits, a sentence for each of its claims; what is explained apart is only named."""
    found = []
    for view in case.entries:
        if reason := why(case.pod, (view,)):
            found.append(sentence(_shortened(case, view, reason)))
    if not found and (reason := why(case.pod, case.entries)):
        found.append(sentence(reason))
    return found


def _shortened(case: PodCase, view: EntryView, reason: str) -> str:
    """Without the claim's own condition, where the claim's own answer follows."""
    phase = view.claim.status.phase or "Pending" if view.claim else ""
    head = f"ElasticGPUClaim {view.entry.claim} is {phase}"
    apart = view.entry.key in case.claims and reason.startswith(f"{head}: ")
    return f"it waits for {head.replace(' is ', ', which is ')}" if apart else reason


def _remedies(case: PodCase) -> tuple[Step, ...]:
    """What ends the wait, where a command does it or shows whom it depends on."""
    pod, steps = case.pod, []
    for view in case.entries:
        holders = [row.pod_name for row in view.claim.status.users] if view.claim else []
        if view.vanished:
            steps.append(_anew(pod))
        elif view.claim is None:
            kind = "templates" if view.entry.claim_template else "claims"
            there = f"elasticgpu get {kind} -n {pod.namespace}"
            steps.append(Step(f"See which {kind} there are", there))
        elif holders and not _has(pod, view):
            command = kubectl("get", "pod", pod.namespace, *holders)
            steps.append(Step(f"See who holds {view.entry.claim}", command))
    return tuple(dict.fromkeys(steps))


def _anew(pod: Pod) -> Step:
    command = kubectl("delete", "pod", pod.namespace, pod.name)
    return Step("Delete it, and create it anew unless something does that by itself", command)


def _devices(case: PodCase) -> list[str]:
    return [
        f"{_who(view)} ElasticGPUClaim {view.entry.claim}, which has ElasticGPU {view.device.name}"
        f"{f' on node {view.device.spec.node_name}' if view.device.spec.node_name else ''}."
        for view in case.entries
        if view.device
    ]


def _who(view: EntryView) -> str:
    names = view.entry.containers
    if not names:
        return "No container uses"
    return f"{listed('Container', names)} {'use' if len(names) > 1 else 'uses'}"


def _turn(case: PodCase) -> str:
    """Whose move it is."""
    pod = case.pod
    if not all(_has(pod, view) for view in case.entries):
        return "Its claims are being handed to it: the controller's turn."
    if not all(v.resource_claim and v.resource_claim.status.allocation for v in case.entries):
        return "Its ResourceClaims are being allocated: the controller's turn."
    if not pod.spec.node_name:
        return "Its claims are its own: the scheduler's turn."
    here = [v.device for v in case.entries if v.device and v.device.spec.node_name]
    if not all(pod.uid in device.status.prepared_for for device in here):
        return f"Node {pod.spec.node_name} makes its devices ready: the agent's turn."
    return f"Node {pod.spec.node_name} has its devices ready."
