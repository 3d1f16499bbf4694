"""What `kubectl get` prints of our kinds and chooses them by, as data for `schema.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Column:
    """One column of `kubectl get`; `wide` ones only with `-o wide`."""

    name: str
    path: str
    type: Literal["string", "integer", "boolean", "date"] = "string"
    wide: bool = False


CATEGORY = "elastic-gpu"
"""`kubectl get elastic-gpu` lists all kinds. No category may be called `gpu`: kubectl would read
`kubectl get gpu card-0` as a question to all five kinds and refuse it."""

_AGE = Column("Age", ".metadata.creationTimestamp", "date")
_ACCEPTED = '.status.conditions[?(@.type=="ParametersAccepted")]'
_BOUND = '.status.conditions[?(@.type=="Bound")].message'

COLUMNS: dict[str, list[Column]] = {
    "ElasticGPUClaim": [
        Column("Phase", ".status.phase"),
        Column("Class", ".status.className"),
        Column("Device", ".spec.elasticGPUName"),
        Column("Shared", ".spec.shared", "boolean"),
        Column("Used-By", ".status.usedBy"),
        _AGE,
        Column("Message", _BOUND, wide=True),
    ],
    "ElasticGPUClaimTemplate": [Column("Class", ".spec.spec.elasticGPUClassName"), _AGE],
    "ElasticGPU": [
        Column("Phase", ".status.phase"),
        Column("Class", ".spec.elasticGPUClassName"),
        Column("Claim-Namespace", ".spec.claimRef.namespace"),
        Column("Claim", ".spec.claimRef.name"),
        Column("Node", ".spec.nodeName"),
        Column("Reclaim", ".spec.reclaimPolicy"),
        _AGE,
        Column("Reason", ".status.reason", wide=True),
        Column("Message", ".status.message", wide=True),
    ],
    "GPU": [
        Column("Node", ".spec.nodeName"),
        Column("Index", ".status.index", "integer"),
        Column("Model", ".status.model"),
        Column("Memory", ".status.memory"),
        Column("Mode", ".status.mode"),
        Column("Health", ".status.health"),
        _AGE,
        Column("Unschedulable", ".spec.unschedulable", "boolean", wide=True),
        Column("UUID", ".status.uuid", wide=True),
        Column("Driver", ".status.driverVersion", wide=True),
    ],
    "ElasticGPUClass": [
        Column("Provisioner", ".spec.provisioner"),
        Column("ReclaimPolicy", ".spec.reclaimPolicy"),
        Column("BindingMode", ".spec.eGPUBindingMode"),
        Column("Default", r".metadata.annotations.elasticgpu\.io/is-default-class"),
        Column("Accepted", f"{_ACCEPTED}.status"),
        _AGE,
        Column("Verified", '.status.conditions[?(@.type=="Verified")].status', wide=True),
        Column("Message", f"{_ACCEPTED}.message", wide=True),
    ],
}

SELECTABLE: dict[str, list[str]] = {"GPU": [".spec.nodeName"], "ElasticGPU": [".spec.nodeName"]}
"""Fields by which `kubectl get --field-selector` and the agent's watch choose objects."""
