"""One frozen view a question: what the loops hand to the rules.

A view is read at one moment; only a pod's may wait in between, for a look at the API server.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Node, Pod, ResourceClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import Key
from elasticgpu.api.names import device_name
from elasticgpu.api.vocabulary import Demand
from elasticgpu.cluster.clock import timestamp
from elasticgpu.errors import NotFound, Refused
from elasticgpu.rules.accepting import ClassView
from elasticgpu.rules.allocation import allocated_device
from elasticgpu.rules.classes import waits_for_pod
from elasticgpu.rules.decisions import ClaimView
from elasticgpu.rules.entries import Entry, entries, made_for, resource_claim_name
from elasticgpu.rules.fitting import Candidate
from elasticgpu.rules.fleet import NodeView
from elasticgpu.rules.growing import GrowthView, Short
from elasticgpu.rules.handing import PodView
from elasticgpu.rules.holders import HoldersView, holds
from elasticgpu.rules.nodes import closed, lost
from elasticgpu.rules.placement import Placer
from elasticgpu.rules.reclaiming import DeviceView
from elasticgpu.rules.upkeep import UpkeepView
from elasticgpu.rules.waiting import EntryView
from elasticgpu.rules.withdrawing import Sharer

from .world import World


def claim_view(world: World, claim: ElasticGPUClaim) -> ClaimView:
    """What decides about a claim."""
    name = world.class_in_effect(claim)
    gpu_class = world.classes.get(("", name)) if name else None
    placer, pool, misfit = _placer(world, gpu_class)
    return ClaimView(
        claim=claim,
        class_name=name,
        gpu_class=gpu_class,
        classes=tuple(sorted(c.name for c in world.classes.values())),
        named=world.device_of(claim),
        reserved=_reserved(world, claim),
        available=partial(_available, world, claim, name or ""),
        released=partial(_released, world),
        placer=placer,
        misfit=misfit,
        provisioners=tuple(sorted(world.plugins)),
        creating=world.assumed.get(device_name(claim.uid)),
        in_progress=claim.uid in world.works,
        refusal=world.works.refusals.get(claim.uid),
        nodes=world.ledger,
        pool=pool,
        company=_in_company(claim, gpu_class),
    )


def class_view(world: World, gpu_class: ElasticGPUClass) -> ClassView:
    """What is to be said of a class."""
    plugin = world.plugins.get(gpu_class.spec.provisioner)
    _, _, misfit = _placer(world, gpu_class)
    installed = tuple(sorted(world.plugins))
    return ClassView(gpu_class, installed, misfit, plugin.verified if plugin else None)


def _placer(
    world: World, gpu_class: ElasticGPUClass | None
) -> tuple[Placer | None, NodeView | None, str]:
    """Who cuts devices of this class, from which cards but the cluster's, or why nobody does: its
    parameters are refused."""
    plugin = world.plugins.get(gpu_class.spec.provisioner) if gpu_class else None
    if plugin is None or gpu_class is None:
        return None, None, ""
    try:
        tuned = plugin.tuned(gpu_class.spec.parameters)
        cards = tuned.pool()
        return tuned, None if cards is None else world.ledger.pool(cards), ""
    except Refused as error:
        return None, None, error.reason


def _in_company(claim: ElasticGPUClaim, gpu_class: ElasticGPUClass | None) -> bool:
    """Whether others have a say in its node, by what is known of the claim alone."""
    allowed = gpu_class.spec.allowed_topologies if gpu_class else []
    beside = claim.spec.colocate_with or made_for(claim)
    return bool(waits_for_pod(gpu_class) or allowed or beside or claim.status.excluded_nodes)


def _reserved(world: World, claim: ElasticGPUClaim) -> tuple[ElasticGPU, ...]:
    devices = [
        device
        for device in world.devices.by_index("claim", claim.key)
        if device.claim_uid in ("", claim.uid) and _untaken(world, device, claim)
    ]
    return tuple(sorted(devices, key=lambda device: device.name))


def _available(
    world: World, claim: ElasticGPUClaim, class_name: str, want: Demand
) -> Iterator[Candidate]:
    for device in world.stock.best_first(class_name, want):
        if _untaken(world, device, claim):
            yield _candidate(world, device)


def _released(world: World) -> Iterator[Candidate]:
    return (_candidate(world, device) for device in world.devices.by_index("released", True))


def _candidate(world: World, device: ElasticGPU) -> Candidate:
    cards = (world.gpus.get(("", part.gpu)) for part in device.spec.source.devices)
    node = device.spec.node_name
    shut = closed(node, world.nodes.get(("", node))) if node else None
    return Candidate(device, tuple(card for card in cards if card is not None), shut or "")


def _untaken(world: World, device: ElasticGPU, claim: ElasticGPUClaim) -> bool:
    return world.taken.get(device.name, claim.uid) == claim.uid


def growth_view(world: World, claim: ElasticGPUClaim, device: ElasticGPU) -> GrowthView:
    """What decides about the size of a bound claim's device."""
    plugin = world.plugins.get(device.spec.source.driver)
    names = {part.gpu for part in device.spec.source.devices}
    cards = {name: world.ledger.card(name, without=device.name) for name in names}
    return GrowthView(
        claim=claim,
        device=_candidate(world, device),
        grows=plugin is not None and plugin.grows,
        cards={name: card for name, card in cards.items() if card is not None},
    )


def upkeep_view(
    world: World, claim: ElasticGPUClaim, device: ElasticGPU, short: Short | None
) -> UpkeepView:
    """What a bound claim may have to say."""
    pods = [p for p in world.pods.by_index("claim", claim.key) if not p.finished]
    living = [pod for pod in pods if not pod.terminating]
    beside = dict.fromkeys(claim.spec.colocate_with, f"ElasticGPUClaim {claim.name}")
    beside |= {entry.claim: f"pod {pod.name}" for pod in living for entry in entries(pod)}
    others = (
        (name, who, world.claims.get((claim.namespace, name))) for name, who in beside.items()
    )
    homes = ((name, who, world.device_of(other)) for name, who, other in others if other)
    return UpkeepView(
        claim=claim,
        device=device,
        beside={name: (home.spec.node_name, who) for name, who, home in homes if home},
        awaited=any(not pod.spec.node_name for pod in living),
        short=short,
    )


def device_view(world: World, device: ElasticGPU) -> DeviceView:
    """What decides about a device."""
    ref, node = device.spec.claim_ref, device.spec.node_name
    return DeviceView(
        device=device,
        claim=world.claims.get(ref.key) if ref else None,
        named_by=_named_by(world, device),
        lacks=None if world.ledger.knows(device.name) else _lacks(world, device),
        lost=lost(node, world.nodes.get(("", node))) if node else None,
        cards=all(world.gpus.get(("", part.gpu)) for part in device.spec.source.devices),
    )


def _lacks(world: World, device: ElasticGPU) -> str | None:
    """Why a device has no room, in words; one of cards outside the cluster names those itself."""
    plugin = world.plugins.get(device.spec.source.driver)
    try:
        cards = plugin.of(device).pool() if plugin else None
    except Refused as error:
        return error.reason
    return world.ledger.lacks(device, cards or ())


def _named_by(world: World, device: ElasticGPU) -> ElasticGPUClaim | None:
    """The claim that is bound to a Bound device without claimRef."""
    if device.spec.claim_ref is not None or device.status.phase != "Bound":
        return None
    claims = world.claims.by_index("device", device.name)
    return next((claim for claim in claims if claim.status.phase == "Bound"), None)


async def lost_for_certain(world: World, name: str) -> str | None:
    """Why the node of this name is lost, asked live: what frees anything needs that."""
    try:
        return lost(name, await world.client.get(Node, ("", name)))
    except NotFound:
        return lost(name, None)


def holders_view(world: World, claim: ElasticGPUClaim) -> HoldersView:
    """What decides about who holds a claim."""
    pods = tuple(world.pods.by_index("claim", claim.key))
    others = frozenset(pod.uid for pod in pods if holds_another(world, pod, claim))
    return HoldersView(claim=claim, device=world.device_of(claim), pods=pods, others=others)


def holds_another(world: World, pod: Pod, claim: ElasticGPUClaim) -> bool:
    """Whether the pod holds another of its claims already."""
    keys = {entry.key for entry in entries(pod)} - {claim.key}
    return any(_holds(world, pod, key) for key in keys)


def _holds(world: World, pod: Pod, key: Key) -> bool:
    claim = world.claims.get(key)
    given = claim is not None and holds(claim, pod.uid)
    return given or pod.uid in world.granting.get(key, frozenset())


async def pod_view(world: World, key: Key) -> PodView:
    """What decides about a pod, or about what a pod that is gone left behind."""
    pod = world.pods.get(key)
    left = tuple(world.resource_claims.by_index("pod", key))
    if pod is None:
        return PodView(None, (), left)
    mine = tuple(claim for claim in left if claim.pod_uid == pod.uid)
    views = tuple([await _entry_view(world, pod, entry) for entry in entries(pod)])
    found = tuple(v.resource_claim for v in views if v.resource_claim)
    return PodView(pod, views, found or mine, now=timestamp())


async def _entry_view(world: World, pod: Pod, entry: Entry) -> EntryView:
    claim = world.claims.get(entry.key)
    source = (pod.namespace, entry.claim_template)
    made = resource_claim_name(pod, entry)
    found = await _resource_claim(world, (pod.namespace, made))
    return EntryView(
        entry=entry,
        claim=claim,
        claim_template=world.claim_templates.get(source) if entry.claim_template else None,
        device=world.device_of(claim) if claim else None,
        resource_claim=found,
        foreign_template=entry.template_key in world.foreign,
        vanished="" if found else made,
        gpu_class=world.class_of(claim) if claim else None,
        sharers=tuple(_sharers(world, pod, claim)) if claim else (),
        partners=tuple(_partners(world, pod, claim)) if claim else (),
    )


def _sharers(world: World, pod: Pod, claim: ElasticGPUClaim) -> Iterator[Sharer]:
    """The other pods that hold the claim."""
    for row in claim.status.users:
        other = world.pods.get((pod.namespace, row.pod_name))
        if row.pod_uid == pod.uid:
            continue
        if other is None or other.uid != row.pod_uid:
            yield Sharer(row.pod_name)
            continue
        made = world.resource_claims.by_index("pod", other.key)
        name = claim.spec.elastic_gpu_name
        its = (rc for rc in made if rc.pod_uid == other.uid and allocated_device(rc) == name)
        yield Sharer(row.pod_name, other, tuple(its))


def _partners(world: World, pod: Pod, claim: ElasticGPUClaim) -> Iterator[str]:
    """Bound claims that are colocated with this one, and not the pod's."""
    own = {entry.key for entry in entries(pod)}
    named = [(claim.namespace, name) for name in claim.spec.colocate_with]
    found = [world.claims.get(key) for key in named]
    for one in (*found, *world.claims.by_index("colocated", claim.key)):
        if one is not None and one.key not in own and one.status.phase == "Bound":
            yield one.name


async def _resource_claim(world: World, key: Key) -> ResourceClaim | None:
    """From the cache; looked up live if it is not there: users may edit its labels away."""
    if not key[1]:
        return None
    cached = world.resource_claims.get(key)
    if cached is not None:
        return cached
    try:
        return await world.client.get(ResourceClaim, key)
    except NotFound:
        return None
