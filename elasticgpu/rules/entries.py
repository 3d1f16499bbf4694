"""What a pod names: its entries, the claims behind them, and the templates they need.

Admission calls entries `egpu-<n>`; a person may have written one by hand under another name.

Only `pod.spec` is read here: admission wrote it, nobody can change it later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Pod, ResourceClaimTemplate
from elasticgpu.api.meta import Key, ObjectMeta, OwnerReference
from elasticgpu.api.names import (
    CLAIM_ANNOTATION,
    CLAIM_TEMPLATE_PREFIX,
    DEVICE_REQUEST,
    DRIVER,
    ENTRY_PREFIX,
    OLD_CLAIM_ANNOTATION,
    PODS_LABEL,
    TEMPLATE_ANNOTATION,
    TEMPLATE_TEMPLATE_PREFIX,
)

LABELS = {PODS_LABEL: "true", "app.kubernetes.io/managed-by": "elasticgpu"}
SPEC: dict[str, Any] = {
    "metadata": {"labels": LABELS},
    "spec": {
        "devices": {
            "requests": [
                {
                    "name": DEVICE_REQUEST,
                    "exactly": {
                        "deviceClassName": DRIVER,
                        "allocationMode": "ExactCount",
                        "count": 1,
                    },
                }
            ]
        }
    },
}
"""Spec of every ResourceClaimTemplate of ours, the server's defaults written out, so that
comparing tells whose it is."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One claim a pod uses: the entry's name, the claim, and the containers that see the device.

    `claim_template` is set when the claim is made for this pod from an ElasticGPUClaimTemplate.
    """

    name: str
    namespace: str
    template: str
    claim: str
    claim_template: str = ""
    containers: tuple[str, ...] = ()

    @property
    def tag(self) -> str:
        """How the entry is called in variables: `egpu-0` → `0`, a person's `my.gpu` → `MY_GPU`."""
        return re.sub(r"[^A-Z0-9]", "_", self.name.removeprefix(ENTRY_PREFIX).upper())

    @property
    def key(self) -> Key:
        """(namespace, name) of the ElasticGPUClaim."""
        return (self.namespace, self.claim)

    @property
    def template_key(self) -> Key:
        """(namespace, name) of the ResourceClaimTemplate."""
        return (self.namespace, self.template)


def entries(pod: Pod) -> list[Entry]:
    """The pod's entries that are ours, in the order of its spec."""
    return list(_entries(pod))


def _entries(pod: Pod) -> Iterator[Entry]:
    for item in pod.spec.resource_claims:
        template = item.resource_claim_template_name or ""
        users = tuple(
            c.name
            for c in (*pod.spec.init_containers, *pod.spec.containers)
            if any(claim.name == item.name for claim in c.resources.claims)
        )
        if template.startswith(CLAIM_TEMPLATE_PREFIX):
            claim, made_from = template.removeprefix(CLAIM_TEMPLATE_PREFIX), ""
        elif template.startswith(TEMPLATE_TEMPLATE_PREFIX):
            claim = f"{pod.name}-{item.name}"
            made_from = template.removeprefix(TEMPLATE_TEMPLATE_PREFIX)
        else:
            continue
        yield Entry(item.name, pod.namespace, template, claim, made_from, users)


def annotated(pod: Pod) -> bool:
    """Whether the pod asks for claims, whether or not admission acted on it."""
    prefixes = (CLAIM_ANNOTATION, TEMPLATE_ANNOTATION, OLD_CLAIM_ANNOTATION)
    return any(name.startswith(prefixes) for name in pod.metadata.annotations)


def missed(pod: Pod) -> bool:
    """Whether it asks for claims but admission never saw it."""
    return annotated(pod) and not entries(pod)


def resource_claim_name(pod: Pod, entry: Entry) -> str:
    """Name of the ResourceClaim made for the entry; empty until kube-controller-manager made it."""
    made = (s for s in pod.status.resource_claim_statuses if s.name == entry.name)
    return next((s.resource_claim_name or "" for s in made), "")


def made_for(claim: ElasticGPUClaim) -> OwnerReference | None:
    """The pod for which a claim was made from a claim template; None if a person made it."""
    owners = claim.metadata.owner_references
    return next((owner for owner in owners if owner.controller and owner.kind == "Pod"), None)


def template(key: Key) -> ResourceClaimTemplate:
    """The ResourceClaimTemplate of this name, as we make it."""
    namespace, name = key
    return ResourceClaimTemplate(
        metadata=ObjectMeta(namespace=namespace, name=name, labels=LABELS), spec=SPEC
    )


def has_our_name(name: str) -> bool:
    """Whether a ResourceClaimTemplate of this name would be ours; others are never touched."""
    return name.startswith((CLAIM_TEMPLATE_PREFIX, TEMPLATE_TEMPLATE_PREFIX))


def is_ours(found: ResourceClaimTemplate) -> bool:
    """Whether a template of our name also is what we would have made."""
    return has_our_name(found.name) and found.spec == SPEC
