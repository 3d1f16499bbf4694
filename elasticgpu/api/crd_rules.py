"""What the API server itself enforces for our kinds, as data that `schema.py` writes into `crds/`.

A key names a model, or one of its fields by wire name: `"ClaimSpec"` holds wherever a claim's spec
stands, in a template too; `"ElasticGPUClaim.spec"` only in claims.
"""

from __future__ import annotations

from .canonical import CORE, GPU, MEMORY
from .cel import Rule, alike, amount, fixed, grows, once, size, while_bound
from .request_rules import REQUESTS

_OLD, _NEW = "oldSelf.resources.requests", "self.resources.requests"
_WAS, _NOW = "oldSelf.source", "self.source"
_LARGER_SOURCE = (
    f"{alike(_NOW, _WAS, ('driver', 'handle', 'parameters', 'attributes'))} && "
    f"has({_NOW}.devices) && has({_WAS}.devices) && "
    f"size({_NOW}.devices) == size({_WAS}.devices) && "
    f"{_NOW}.devices.all(d, {_WAS}.devices.exists(o, d.gpu == o.gpu && "
    f"{alike('d', 'o', ('uuid', 'core', 'migProfile', 'migStart'))} && "
    f"{size('d')}.compareTo({size('o')}) >= 0))"
)
_LARGER_CAPACITY = (
    "size(self.capacity) == size(oldSelf.capacity) && "
    "self.capacity.all(n, n in oldSelf.capacity && "
    f"(n == '{MEMORY}' ? {amount('n', 'self.capacity')}.compareTo("
    f"{amount('n', 'oldSelf.capacity')}) >= 0 : self.capacity[n] == oldSelf.capacity[n]))"
)

RULES: dict[str, list[Rule]] = {
    "ResourceRequests.requests": REQUESTS,
    "ClaimSpec": [
        Rule(
            "has(self.resources) && has(self.resources.requests) && "
            "size(self.resources.requests) > 0",
            f"nothing is requested: name at least one resource, such as {CORE}: 10 or {GPU}: 1",
            ".resources.requests",
        ),
        Rule(
            "!has(self.elasticGPUClassName) || !has(self.storageClassName) || "
            "self.elasticGPUClassName == self.storageClassName",
            "storageClassName is another name of elasticGPUClassName and the two differ: "
            "keep one of them",
            ".storageClassName",
        ),
    ],
    "ElasticGPUClaim.spec": [
        once(
            "elasticGPUClassName",
            "the class does not change once it is set: "
            "delete the claim and make a new one of the other class",
        ),
        once(
            "storageClassName",
            "the class does not change once it is set: "
            "delete the claim and make a new one of the other class",
        ),
        Rule(
            "!has(oldSelf.resources) || !has(oldSelf.resources.requests) || "
            f"(has(self.resources) && has({_NEW}) && {_OLD}.all(n, n in {_NEW} && "
            f"{amount('n', _NEW)}.compareTo({amount('n', _OLD)}) >= 0))",
            "requests may grow, but not shrink or lose a name: "
            "delete the claim and make a smaller one",
            ".resources.requests",
        ),
    ],
    "ElasticGPUClaim": [
        Rule(
            "size(self.metadata.name) <= 240",
            "the name is longer than 240 characters: choose a shorter one, "
            "for the names of what is made for the claim contain it",
            ".metadata.name",
        ),
        Rule(
            "oldSelf.spec.?elasticGPUName.orValue('') in ['', self.spec.?elasticGPUName"
            ".orValue('')] || (self.spec.?elasticGPUName.orValue('') == '' && "
            "oldSelf.?status.?phase.orValue('') == 'Pending')",
            "elasticGPUName does not change once it is set, and is emptied only while the claim "
            "is Pending: to use another device, delete the claim and make a new one",
            ".spec.elasticGPUName",
        ),
        *map(while_bound, ("selector", "gpuSelector", "shared", "colocateWith")),
    ],
    "ElasticGPUClaimTemplate": [
        Rule(
            "size(self.metadata.name) <= 240",
            "the name is longer than 240 characters: choose a shorter one, "
            "for the names of what is made from the template contain it",
            ".metadata.name",
        ),
    ],
    "ElasticGPU": [
        Rule(
            "size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')",
            "the name is the device's name on its node too: "
            "write at most 63 lower-case letters, digits and '-', and no '.'",
            ".metadata.name",
        ),
    ],
    "ElasticGPU.spec": [
        grows(
            "source",
            _LARGER_SOURCE,
            "a device stays what it is, only its memory may grow: make another ElasticGPU",
        ),
        grows(
            "capacity",
            _LARGER_CAPACITY,
            "a device stays as large as it is, only its memory may grow: make another ElasticGPU",
        ),
        fixed("nodeName", "a device stays on its node: make another ElasticGPU"),
        fixed("elasticGPUClassName", "a device stays in its class: make another ElasticGPU"),
        Rule(
            "!has(oldSelf.claimRef) || !has(oldSelf.claimRef.uid) || oldSelf.claimRef.uid == '' || "
            "!has(self.claimRef) || "
            "(self.claimRef.__namespace__ == oldSelf.claimRef.__namespace__ && "
            "self.claimRef.name == oldSelf.claimRef.name && "
            "(!has(self.claimRef.uid) || self.claimRef.uid in ['', oldSelf.claimRef.uid]))",
            "the device belongs to a claim: remove claimRef first, then name another claim",
            ".claimRef",
        ),
    ],
    "GPU.spec": [
        fixed("nodeName", "a card stays on the node that reported it: let the other node report"),
    ],
    "ElasticGPUClass.spec": [
        fixed("provisioner", "devices of the class rely on it: make another class"),
        fixed("parameters", "devices of the class rely on them: make another class"),
        fixed("reclaimPolicy", "claims of the class rely on it: make another class"),
        fixed("eGPUBindingMode", "claims of the class rely on it: make another class"),
    ],
}
