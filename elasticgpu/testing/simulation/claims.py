"""Simulates the part of kube-controller-manager that makes ResourceClaims: one for each entry of a
pod that names a template, owned by the pod, and gone when the pod has ended."""

from __future__ import annotations

from typing import Any

from elasticgpu.api.core import Pod, ResourceClaim, ResourceClaimTemplate
from elasticgpu.api.meta import Key, ObjectMeta, OwnerReference
from elasticgpu.cluster.client import Client
from elasticgpu.cluster.informer import Change, Informer
from elasticgpu.cluster.workqueue import WorkQueue

from . import loop

ENTRY = "resource.kubernetes.io/pod-claim-name"
"""Annotation on a ResourceClaim that says for which entry of its pod it was made."""


class Claims:
    """The loop; one key is one pod."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._queue: WorkQueue[Key] = WorkQueue("simulated resourceclaims")
        self._pods = Informer(client, Pod)
        self._claims = Informer(client, ResourceClaim, indexes={"pod": _owners})
        self._templates = Informer(client, ResourceClaimTemplate)

    async def run(self) -> None:
        """Make and clean up, until cancelled."""
        self._pods.subscribe(loop.by_key(self._queue))
        self._claims.subscribe(self._claim_changed)
        self._templates.subscribe(self._template_changed)
        await loop.run([self._pods, self._claims, self._templates], self._queue, self._reconcile)

    def _claim_changed(self, change: Change[ResourceClaim]) -> None:
        claim = change.new or change.old
        for pod in claim.pods if claim else ():
            self._queue.add(pod)

    def _template_changed(self, change: Change[ResourceClaimTemplate]) -> None:
        for pod in self._pods.values():
            if change.new is not None and pod.namespace == change.new.namespace:
                self._queue.add(pod.key)

    async def _reconcile(self, key: Key) -> None:
        with loop.soon():
            pod = self._pods.get(key)
            if pod is None or pod.finished:
                return await self._clean(key, pod)
            if not pod.terminating:
                await self._make(pod)

    async def _make(self, pod: Pod) -> None:
        """Claims for entries that have none, then the pod's word for which is whose."""
        made = {c.metadata.annotations.get(ENTRY, ""): c for c in self._of(pod)}
        for entry in pod.spec.resource_claims:
            template = self._templates.get(
                (pod.namespace, entry.resource_claim_template_name or "")
            )
            if template is not None and entry.name not in made:
                claim = await self._client.create(_claim(pod, entry.name, template))
                self._claims.observed(claim)
                made[entry.name] = claim
        said = [{"name": name, "resourceClaimName": c.name} for name, c in sorted(made.items())]
        if said != [one.wire() for one in pod.status.resource_claim_statuses]:
            body = {"status": {"resourceClaimStatuses": said}}
            self._pods.observed(await self._client.patch(Pod, pod.key, body, subresource="status"))

    async def _clean(self, key: Key, pod: Pod | None) -> None:
        """Take the ended pod out of `reservedFor`, and delete what was made for it."""
        for claim in self._claims.by_index("pod", key):
            reserved = [r for r in claim.status.reserved_for if r.resource != "pods"]
            if reserved != claim.status.reserved_for:
                kept = None if not reserved else claim.status.allocation
                status = claim.status.but(reserved_for=reserved, allocation=kept)
                claim = await self._claims.write(claim.but(status=status), "status")
            if pod is not None and not claim.terminating:
                await self._client.delete(claim)

    def _of(self, pod: Pod) -> list[ResourceClaim]:
        return [c for c in self._claims.by_index("pod", pod.key) if c.pod_uid == pod.uid]


def _owners(claim: ResourceClaim) -> list[Key]:
    return claim.pods


def _claim(pod: Pod, entry: str, template: ResourceClaimTemplate) -> ResourceClaim:
    made: dict[str, Any] = template.spec.get("metadata", {})
    owner = OwnerReference(
        api_version="v1",
        kind="Pod",
        name=pod.name,
        uid=pod.uid,
        controller=True,
        block_owner_deletion=True,
    )
    meta = ObjectMeta(
        namespace=pod.namespace,
        generate_name=f"{pod.name}-{entry}-",
        labels=made.get("labels", {}),
        annotations={**made.get("annotations", {}), ENTRY: entry},
        owner_references=[owner],
    )
    return ResourceClaim(metadata=meta, spec=template.spec["spec"])
