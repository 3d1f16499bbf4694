"""What `elasticgpu why` reads of a cluster: as much as the answer needs, once, into the world that
the controller's loops decide by.

So the same code makes the views. Who may not read cards and devices, as in a namespace of one's
own, gets the answer that the controller wrote down.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TypeVar

from elasticgpu.api.claim import ElasticGPUClaim, ElasticGPUClaimTemplate
from elasticgpu.api.core import Node, NodeCondition, NodeStatus, Pod, ResourceClaimTemplate
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.api.gpuclass import ElasticGPUClass
from elasticgpu.api.meta import Key, KubeObject, ObjectMeta
from elasticgpu.controllers.views import claim_view, pod_view
from elasticgpu.controllers.world import SELECTOR, World
from elasticgpu.errors import Forbidden, NotFound
from elasticgpu.provisioner import discover
from elasticgpu.rules import why_claim
from elasticgpu.rules.claim_case import ClaimCase
from elasticgpu.rules.entries import Entry, entries, is_ours
from elasticgpu.rules.explaining import Explanation, Holder
from elasticgpu.rules.why_pod import PodCase

from .columns import claim_of, phase
from .session import Json, Session

T = TypeVar("T", bound=KubeObject)
AGENT = "elasticgpu-agent"
NEWEST = 2
"""Events of the node's agent that are repeated."""


class Survey:
    """What is known of the cluster so far; `unseen` says what may not be read."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.world = World(session.client, discover())
        self.unseen = ""
        self.note = ""
        self._read_all = False

    async def claim(self, claim: ElasticGPUClaim) -> ClaimCase:
        """The claim with what decides about it."""
        self.world.claims.observed(claim)
        await self._pods(claim.namespace)
        await self._device(claim)
        if not claim.spec.elastic_gpu_name:
            await self._everything()
        ledger = self.world.ledger
        nodes = tuple(ledger.node(name) for name in ledger.nodes())
        return ClaimCase(
            view=claim_view(self.world, claim),
            nodes=nodes,
            holders={card.name: self._holders(card.gpu) for n in nodes for card in n.cards},
            pods=tuple(self.world.pods.by_index("claim", claim.key)),
            unseen=self.unseen,
            note=self.note,
        )

    async def pod(self, raw: Json) -> PodCase:
        """The pod with its claims, and the answers about them."""
        pod = Pod.model_validate(raw)
        self.world.pods.observed(pod)
        claims: dict[Key, Explanation] = {}
        for entry in entries(pod):
            if claim := await self._entry(entry):
                claims[claim.key] = why_claim.explain(await self.claim(claim))
        view = await pod_view(self.world, pod.key)
        told = () if pod.status.phase == "Running" else await self._told(raw)
        return PodCase(pod, view.entries, claims, told, self.unseen)

    async def _entry(self, entry: Entry) -> ElasticGPUClaim | None:
        """Read what stands behind an entry of a pod; its claim, if there is one."""
        if entry.claim_template:
            source = (entry.namespace, entry.claim_template)
            if template := await self._one(ElasticGPUClaimTemplate, source):
                self.world.claim_templates.observed(template)
        made = await self._one(ResourceClaimTemplate, entry.template_key)
        if made is not None and not is_ours(made):
            self.world.foreign.add(entry.template_key)
        return await self._one(ElasticGPUClaim, entry.key)

    async def _device(self, claim: ElasticGPUClaim) -> None:
        name = claim.spec.elastic_gpu_name
        try:
            if name and (device := await self._one(ElasticGPU, ("", name))):
                self.world.devices.observed(device)
        except Forbidden as error:
            self.unseen = f"Its device was not looked at: {error.message}."

    async def _everything(self) -> None:
        """All that a claim without a device may be given."""
        if self._read_all:
            return
        self._read_all = True
        try:
            for gpu in await self.session.many(GPU):
                self.world.gpus.observed(gpu)
            for device in await self.session.many(ElasticGPU):
                self.world.devices.observed(device)
            for gpu_class in await self.session.many(ElasticGPUClass):
                self.world.classes.observed(gpu_class)
            await self._nodes()
        except Forbidden as error:
            self.unseen = f"Cards and devices were not looked at: {error.message}."

    async def _nodes(self) -> None:
        """The nodes; who may not read them is told so, and all are taken to be in order."""
        try:
            nodes = await self.session.many(Node)
        except Forbidden as error:
            self.note = f"Whether the nodes are in order was not looked at: {error.message}."
            nodes = [_in_order(name) for name in self.world.ledger.nodes()]
        for node in nodes:
            self.world.nodes.observed(node)

    async def _one(self, kind: type[T], key: Key) -> T | None:
        try:
            return await self.session.client.get(kind, key)
        except NotFound:
            return None

    async def _pods(self, namespace: str) -> None:
        """The namespace's pods that name claims; none where they may not be listed."""
        with suppress(Forbidden):
            for pod in await self.session.many(Pod, namespace, labels=SELECTOR):
                self.world.pods.observed(pod)

    def _holders(self, gpu: GPU) -> tuple[Holder, ...]:
        """Who has what of a card, as the ledger sums it; pods as the card's own rows name them."""
        pods = {row.elastic_gpu: tuple(row.pods) for row in gpu.status.allocated}
        found = []
        for held in self.world.ledger.held(gpu.name):
            device = self.world.devices.get(("", held.device))
            state, claim = (phase(device), claim_of(device)) if device else ("", "")
            users = pods.get(held.device, ())
            found.append(Holder(held.device, state, held.core, held.memory, claim, users))
        return tuple(found)

    async def _told(self, raw: Json) -> tuple[str, ...]:
        """What others say of a pod that does not run."""
        meta = raw["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/events"
        which = {"fieldSelector": f"involvedObject.uid={meta['uid']},type=Warning"}
        try:
            events = (await self.session.client.raw("GET", path, params=which))["items"]
        except Forbidden:
            events = []
        return (*verdicts(raw), *refusals(events))


def _in_order(name: str) -> Node:
    ready = NodeStatus(conditions=[NodeCondition(type="Ready", status="True")])
    return Node(metadata=ObjectMeta(name=name, resource_version="1"), status=ready)


def verdicts(pod: Json) -> list[str]:
    """What the scheduler says of a pod without a node, and the kubelet of its containers."""
    status = pod.get("status", {})
    found = [
        f"The scheduler says {condition.get('reason', '')}: {condition.get('message', '')}"
        for condition in status.get("conditions", ())
        if condition["type"] == "PodScheduled" and condition["status"] == "False"
    ]
    for kind in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(kind, ()):
            if waiting := container.get("state", {}).get("waiting"):
                said = ": ".join(filter(None, (waiting.get("reason"), waiting.get("message"))))
                found.append(f"Container {container['name']} waits: {said}.")
    return found


def refusals(events: list[Json]) -> list[str]:
    """The newest things that the node's agent had to say of a pod."""
    ours = [event for event in events if event.get("reportingComponent") == AGENT]
    ours.sort(
        key=lambda event: str(event.get("eventTime") or event["metadata"]["creationTimestamp"])
    )
    return [f"The agent says {event['reason']}: {event['message']}" for event in ours[-NEWEST:]]
