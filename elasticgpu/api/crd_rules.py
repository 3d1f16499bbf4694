"""What the API server itself enforces and prints for our kinds, as data.

`schema.py` writes it into `crds/`. A key names a model, or one of its fields by wire name:
`"ClaimSpec"` holds wherever a claim's spec stands, in a template too; `"ElasticGPUClaim.spec"` only
in claims. The expressions are CEL and need Kubernetes 1.30 or newer.

A rule about change sits on the object that always exists and never on the field it is about: there
it would not run when the field is taken away, and so a name could be removed and set anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .canonical import (
    CORE,
    COUNT,
    GPU,
    MEMORY,
    MEMORY_PERCENTAGE,
    MIG_PREFIX,
    MOST_CARDS,
    TFLOPS,
    WHOLE,
)
from .meta import GROUP
from .quantity import BYTES_PATTERN, MI, PATTERN
from .words import PRIORITY


@dataclass(frozen=True, slots=True)
class Rule:
    """What must hold, and the sentence that a person reads if it does not.

    `at` is the field that the sentence is about, below the object that the rule stands on. The
    sentence is fixed: one that quotes a key of a map costs too much, keys having no bound in CEL.
    """

    holds: str
    message: str
    at: str = ""

    @property
    def reason(self) -> Literal["FieldValueInvalid", "FieldValueForbidden"]:
        """A value may be wrong by itself, or right but forbidden after what was there before."""
        return "FieldValueForbidden" if "oldSelf" in self.holds else "FieldValueInvalid"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of `kubectl get`; `wide` ones only with `-o wide`."""

    name: str
    path: str
    type: Literal["string", "integer", "boolean", "date"] = "string"
    wide: bool = False


def _fixed(field: str, message: str) -> Rule:
    """The field never changes, appears or goes."""
    return Rule(_equal(f"self.{field}", f"oldSelf.{field}"), message, f".{field}")


def _once(field: str, message: str) -> Rule:
    """The field goes from empty to a value once, and then never changes."""
    was, now = f"oldSelf.?{field}.orValue('')", f"self.?{field}.orValue('')"
    return Rule(f"{was} in ['', {now}]", message, f".{field}")


def _while_bound(field: str) -> Rule:
    """The field does not change while the claim is bound."""
    same = _equal(f"self.spec.{field}", f"oldSelf.spec.{field}")
    return Rule(
        f"oldSelf.?status.?phase.orValue('') != 'Bound' || ({same})",
        f"{field} says how the device was chosen, and the claim is bound: "
        "delete the claim and make a new one",
        f".spec.{field}",
    )


def _equal(now: str, was: str) -> str:
    """Both absent or both the same. Comparing the optional values would cost without bound."""
    return f"has({now}) ? has({was}) && {now} == {was} : !has({was})"


# Never `quantity()` or `isQuantity()` on what a user wrote: 1e999999999 keeps the server busy for
# minutes, and every rule runs whatever another one has refused.
_IS_QUANTITY = "{0}.matches(r'" + PATTERN.replace("{", "{{").replace("}", "}}") + "')"


def _amount(name: str, of: str = "self") -> str:
    """The quantity of that name; 1 where it is none, which is for its own rule to say."""
    text = f"string({of}[{name}])"
    return f"quantity({_IS_QUANTITY.format(text)} ? {text} : '1')"


def _where(name: str, holds: str, message: str) -> Rule:
    """What holds of that name's amount `q`, if it is asked for.

    A list of one is how CEL gives a value a name.
    """
    amount = _amount(f"'{name}'")
    return Rule(f"!('{name}' in self) || [{amount}].all(q, {holds})", message)


def _at_most(most: int) -> str:
    return f"q.compareTo(quantity('{most}')) <= 0"


def _in_bytes(total: str) -> str:
    """The whole number of what is asked under name `n`, the unit rule of memory applied."""
    number = f"{total}.asInteger()"
    return f"(n == '{MEMORY}' && {number} < {MI} ? {number} * {MI} : {number})"


QUANTITY = Rule(
    _IS_QUANTITY.format("string(self)"),
    "this is not a quantity: write a number such as 10, 4Gi or 3k",
)
"""Stands on every quantity: a `pattern` would be read aloud to the person."""

BYTES = Rule(
    f"string(self).matches(r'{BYTES_PATTERN}')",
    "this is not a number of bytes: write a whole one such as 4294967296 or 4Gi",
)
"""The same for what is bytes."""

_KNOWN = [GPU, CORE, MEMORY, MEMORY_PERCENTAGE, COUNT, TFLOPS]
_PARTS = [CORE, MEMORY, MEMORY_PERCENTAGE, TFLOPS]
_TOTALS = [CORE, MEMORY, TFLOPS]
_INTEGERS = [GPU, CORE, MEMORY_PERCENTAGE, COUNT, TFLOPS]
_OLD, _NEW = "oldSelf.resources.requests", "self.resources.requests"

RULES: dict[str, list[Rule]] = {
    "ResourceRequests.requests": [
        Rule(
            f"self.all(n, n == '{PRIORITY}' || {_amount('n')}.compareTo(quantity('0')) > 0)",
            "an amount is zero or less: write how much is asked for, or leave the name out",
        ),
        Rule(
            f"self.all(n, !n.startsWith('{GROUP}/') || n in {_KNOWN} || "
            f"n.startsWith('{MIG_PREFIX}') && n != '{MIG_PREFIX}')",
            f"a name under {GROUP}/ is not known: write one of {', '.join(_KNOWN)}, "
            f"{MIG_PREFIX}<profile>",
        ),
        *(
            _where(
                name,
                "q.isInteger()",
                f"{name} is broken or too large: write a whole number",
            )
            for name in _INTEGERS
        ),
        Rule(
            f"!self.exists(n, n.startsWith('{MIG_PREFIX}')) || size(self) == 1 && "
            f"self.all(n, {_amount('n')}.compareTo(quantity('1')) == 0)",
            f"one {MIG_PREFIX}<profile> is all that a claim asks for: write 1, leave other names "
            "out, and make a claim for each instance",
        ),
        Rule(
            f"!('{GPU}' in self) || !{_PARTS}.exists(n, n in self)",
            f"{GPU} asks for whole cards, the others for a part of one: keep either {GPU} "
            f"or {', '.join(_PARTS)}",
        ),
        Rule(
            f"!('{COUNT}' in self) || size(self) > 1",
            f"{COUNT} alone asks for no part of any card: write beside it what is asked of them",
        ),
        Rule(
            f"!('{GPU}' in self) || !('{COUNT}' in self)",
            f"{GPU} says how many cards already: leave {COUNT} out",
        ),
        _where(
            CORE,
            f"{_at_most(WHOLE)} || !q.isInteger() || q.asInteger() % {WHOLE} == 0",
            f"{CORE} is percent of one card: write 1 to {WHOLE}, or a multiple of {WHOLE} for "
            "whole cards",
        ),
        _where(
            CORE,
            f"{_at_most(WHOLE)} || size(self) == 1",
            f"{CORE} above {WHOLE} asks for whole cards: leave the other names out, or write at "
            f"most {WHOLE}",
        ),
        _where(
            MEMORY_PERCENTAGE,
            _at_most(100),
            f"{MEMORY_PERCENTAGE} is percent of one card's memory: write 1 to 100",
        ),
        *(
            _where(
                name,
                _at_most(most),
                f"{name} asks for more than the {MOST_CARDS} cards that one claim can have: "
                f"write at most {most}",
            )
            for name, most in ((GPU, MOST_CARDS), (COUNT, MOST_CARDS), (CORE, MOST_CARDS * WHOLE))
        ),
        _where(
            COUNT,
            f"!q.isInteger() || q.asInteger() < 1 || {_TOTALS}.all(n, !(n in self) || "
            f"[{_amount('n')}].all(total, !total.isInteger() || {_in_bytes('total')} "
            "% q.asInteger() == 0))",
            f"{', '.join(_TOTALS)} are of all cards together and do not divide evenly by {COUNT}: "
            "write multiples of it",
        ),
    ],
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
        _once(
            "elasticGPUClassName",
            "the class does not change once it is set: "
            "delete the claim and make a new one of the other class",
        ),
        _once(
            "storageClassName",
            "the class does not change once it is set: "
            "delete the claim and make a new one of the other class",
        ),
        Rule(
            "!has(oldSelf.resources) || !has(oldSelf.resources.requests) || "
            f"(has(self.resources) && has({_NEW}) && {_OLD}.all(n, n in {_NEW} && "
            f"{_amount('n', _NEW)}.compareTo({_amount('n', _OLD)}) >= 0))",
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
        *map(_while_bound, ("selector", "gpuSelector", "shared", "colocateWith")),
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
        _fixed("source", "a device stays what it is: make another ElasticGPU"),
        _fixed("capacity", "a device stays as large as it is: make another ElasticGPU"),
        _fixed("nodeName", "a device stays on its node: make another ElasticGPU"),
        _fixed("elasticGPUClassName", "a device stays in its class: make another ElasticGPU"),
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
        _fixed("nodeName", "a card stays on the node that reported it: let the other node report"),
    ],
    "ElasticGPUClass.spec": [
        _fixed("provisioner", "devices of the class rely on it: make another class"),
        _fixed("parameters", "devices of the class rely on them: make another class"),
        _fixed("reclaimPolicy", "claims of the class rely on it: make another class"),
        _fixed("eGPUBindingMode", "claims of the class rely on it: make another class"),
    ],
}

CATEGORY = "elastic-gpu"
"""`kubectl get elastic-gpu` lists all kinds. No category may be called `gpu`: kubectl would read
`kubectl get gpu card-0` as a question to all five kinds and refuse it."""

_AGE = Column("Age", ".metadata.creationTimestamp", "date")
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
        _AGE,
    ],
}

SELECTABLE: dict[str, list[str]] = {"GPU": [".spec.nodeName"], "ElasticGPU": [".spec.nodeName"]}
"""Fields by which `kubectl get --field-selector` and the agent's watch choose objects."""

LIST_KEYS = {
    "Condition": "type",
    "ClaimUser": "podUid",
    "Holding": "elasticGPU",
    "CardSlice": "gpu",
}
"""Lists of these have one row a key; several writers may each own rows (server-side apply)."""

SETS = {
    "ClaimSpec.colocateWith",
    "ClaimUser.containers",
    "ElasticGPUStatus.preparedFor",
    "GPUSpec.modes",
    "Holding.pods",
}
"""Lists whose order says nothing and whose values are there once."""

DEFAULTS = {
    "ClassSpec.reclaimPolicy",
    "ClassSpec.eGPUBindingMode",
    "ElasticGPUSpec.reclaimPolicy",
}
"""The only defaults the API server writes into objects: policies that must not change under an
object when a later release thinks otherwise. What a user applies stays as it is in all else."""

_TEXTS: dict[str, Any] = {"type": "object", "maxProperties": 64}

OVERRIDES: dict[str, dict[str, Any]] = {
    "ClaimTemplateSpec.metadata": {
        "type": "object",
        "properties": {
            "labels": {
                "description": "Labels of the claims.",
                **_TEXTS,
                "additionalProperties": {"type": "string", "maxLength": 63},
            },
            "annotations": {
                "description": "Annotations of the claims.",
                **_TEXTS,
                "additionalProperties": {"type": "string", "maxLength": 4096},
            },
        },
    },
}
"""Fields whose schema is not that of their model."""
