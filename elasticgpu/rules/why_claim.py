"""Why a claim is as it is: what the binder decides about it, told to the person who asks."""

from __future__ import annotations

from dataclasses import replace

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.vocabulary import CORE, MEMORY

from . import binding, remedies
from .answers import WARNINGS
from .claim_case import ClaimCase, asks, of_pods, reply, said_before, unheard
from .decisions import Bind, Contradiction, Decision, Lost, Maker, Provision, Seek, Settled, Wait
from .explaining import CONTROLLER, Explanation, Step, kubectl, listed, sentence
from .holders import holds
from .why_room import in_company, without_room


def explain(case: ClaimCase) -> Explanation:
    """The answer about a claim."""
    if case.claim.terminating:
        return _leaving(case)
    if case.unseen or case.claim.status.provisioning:
        return _as_written(case, case.unseen)
    match binding.decide(case.view):
        case Settled():
            return _served(case)
        case Lost(_, message):
            return reply(case, [sentence(message)], remedies.anew(case.view), state="Lost")
        case Contradiction(message):
            said = f"The controller chose its device, yet {message}"
            return reply(case, [asks(case), sentence(said)], remedies.anew(case.view))
        case Wait("NoProvisioner", message) | Seek(_, Wait("NoProvisioner", message)) if (
            case.said and case.said.reason != "NoProvisioner"
        ):
            return _as_written(case, f"This cannot be checked from here: {message}.")
        case Wait("NoCapacity"):
            return without_room(case)
        case Seek(want, Maker()):
            return in_company(case, want)
        case Wait(reason, message) | Seek(_, Wait(reason, message)):
            facts = [asks(case), sentence(message), said_before(case, reason), case.note]
            return unheard(case, reply(case, facts, remedies.remedies(case.view, reason)))
        case decision:
            return _under_way(case, decision)


def _leaving(case: ClaimCase) -> Explanation:
    """It is being deleted, and something keeps it."""
    claim, users = case.claim, [row.pod_name for row in case.claim.status.users]
    if users:
        keeps = f"{listed('pod', users)} {'have' if len(users) > 1 else 'has'} ended"
        step = Step("End what holds it", kubectl("delete", "pod", claim.namespace, *users))
    else:
        keeps = f"{listed('finalizer', claim.metadata.finalizers)} is taken off"
        step = Step("Who put it there takes it off. See whether the controller runs", CONTROLLER)
    facts = [f"It is being deleted, and stays until {keeps}."]
    answer = reply(case, facts, [step], state="Terminating")
    return replace(answer, since=claim.metadata.deletion_timestamp or "")


def _as_written(case: ClaimCase, note: str) -> Explanation:
    """Only the controller's own words, and why there are no others."""
    said = sentence(case.said.message) if case.said and case.said.message else ""
    answer = reply(case, [asks(case), said, note], remedies.describe(case.view))
    return unheard(case, answer)


def _served(case: ClaimCase) -> Explanation:
    """Nothing is wrong: what it has, and who uses it."""
    claim, device = case.claim, case.view.named
    users = [row.pod_name for row in claim.status.users]
    waiting = [pod.name for pod in case.pods if not pod.finished and not holds(claim, pod.uid)]
    facts = [
        *([_has(device), _afterwards(device)] if device else []),
        of_pods(users, "uses it", "use it") or "No pod uses it.",
        of_pods(waiting, "waits for it", "wait for it"),
    ]
    steps = [
        Step(f"See what pod {name} waits for", f"elasticgpu why pod/{name} -n {claim.namespace}")
        for name in waiting[:1]
    ]
    return reply(case, facts, steps, state="Bound")


def _has(device: ElasticGPU) -> str:
    has = device.spec.capacity
    cards = ", ".join(part.gpu for part in device.spec.source.devices)
    where = f" of {cards} on node {device.spec.node_name}" if cards else ""
    amount = f"{has.get(CORE, 0)}% core and {has.get(MEMORY, 0)} memory"
    return f"It has ElasticGPU {device.name}: {amount}{where}."


def _afterwards(device: ElasticGPU) -> str:
    if device.spec.reclaim_policy == "Delete":
        return "When the claim is deleted, the device is deleted too."
    return "When the claim is deleted, the device stays Released until an admin gives it back."


def _under_way(case: ClaimCase, decision: Decision | Seek) -> Explanation:
    """Nothing stands in its way: the controller is at it, or should be."""
    match decision:
        case Bind(device):
            doing = f"ElasticGPU {device.name} serves it: the controller binds the two."
        case Provision(_, _, node, place):
            cards = ", ".join(part.gpu for part in place.devices)
            doing = f"There is room on {cards} of node {node}: the controller cuts a device there."
        case _:
            doing = "The controller is putting it right."
    facts = [asks(case), doing, said_before(case, ""), case.note]
    if case.said and case.said.reason in WARNINGS:
        return reply(case, facts, remedies.describe(case.view))
    lasting = Step("This takes a moment. If it lasts, see whether the controller runs", CONTROLLER)
    return reply(case, facts, [lasting])
