"""Changes of what is there, and the errors that refuse them."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.api.asks import CORE, MEMORY, NOTHING

from .asking import REQUESTS, SOURCE, TEN, Object
from .creations import TWO_CLASSES


class Change(NamedTuple):
    """From this spec, in that phase, by a merge patch of the spec; no error: it goes through."""

    what: str
    kind: str
    spec: Object
    patch: Object
    error: str = ""
    phase: str = ""
    also: tuple[str, ...] = ()


CLASS = (
    "the class does not change once it is set: "
    "delete the claim and make a new one of the other class"
)
NAMED = (
    "spec.elasticGPUName: Forbidden: elasticGPUName does not change once it is set, and is emptied "
    "only while the claim is Pending: to use another device, delete the claim and make a new one"
)
GROW = (
    "spec.resources.requests: Forbidden: requests may grow, but not shrink or lose a name: "
    "delete the claim and make a smaller one"
)
CHOSEN = (
    "says how the device was chosen, and the claim is bound: delete the claim and make a new one"
)
BOTH = {CORE: 10, MEMORY: "4Gi"}
HELD = {"namespace": "default", "name": "c", "uid": "u1"}
OWNED = (
    "spec.claimRef: Forbidden: the device belongs to a claim: "
    "remove claimRef first, then name another claim"
)
ONLY_MEMORY = "only its memory may grow: make another ElasticGPU"
SIZED = [{"gpu": "a", "core": 10, "memory": "4Gi"}]
DEVICE = {
    "source": SOURCE,
    "capacity": {CORE: 10},
    "nodeName": "node-1",
    "elasticGPUClassName": "shares",
}


def claim_change(
    what: str, before: Object, patch: Object, error: str = "", phase: str = ""
) -> Change:
    return Change(what, "ElasticGPUClaim", REQUESTS | before, patch, error, phase)


def grow(what: str, before: Object, requests: Object, error: str = "", phase: str = "") -> Change:
    patch = {"resources": {"requests": requests}}
    return claim_change(what, {"resources": {"requests": before}}, patch, error, phase)


def device_change(what: str, patch: Object, error: str = "", **before: Any) -> Change:
    return Change(what, "ElasticGPU", DEVICE | before, patch, error)


CHANGES = [
    claim_change("a class is named", {}, {"elasticGPUClassName": "a"}),
    claim_change(
        "a class replaces none", {"elasticGPUClassName": ""}, {"elasticGPUClassName": "a"}
    ),
    claim_change("the old name is filled", {"storageClassName": "a"}, {"elasticGPUClassName": "a"}),
    claim_change(
        "the old name is contradicted",
        {"storageClassName": "a"},
        {"elasticGPUClassName": "b"},
        TWO_CLASSES,
    ),
    claim_change(
        "the class changes",
        {"elasticGPUClassName": "a"},
        {"elasticGPUClassName": "b"},
        f"spec.elasticGPUClassName: Forbidden: {CLASS}",
    ),
    claim_change(
        "the class goes",
        {"elasticGPUClassName": "a"},
        {"elasticGPUClassName": None},
        f"spec.elasticGPUClassName: Forbidden: {CLASS}",
    ),
    claim_change(
        "the class under its old name goes",
        {"storageClassName": "a"},
        {"storageClassName": None, "elasticGPUClassName": "b"},
        f"spec.storageClassName: Forbidden: {CLASS}",
    ),
    claim_change("a device is named", {}, {"elasticGPUName": "d"}, phase="Pending"),
    claim_change("a device is named at once", {}, {"elasticGPUName": "d"}),
    claim_change(
        "the device changes", {"elasticGPUName": "d"}, {"elasticGPUName": "e"}, NAMED, "Pending"
    ),
    claim_change(
        "the device is withdrawn", {"elasticGPUName": "d"}, {"elasticGPUName": ""}, "", "Pending"
    ),
    claim_change(
        "the device is taken away", {"elasticGPUName": "d"}, {"elasticGPUName": None}, "", "Pending"
    ),
    claim_change(
        "the device goes, bound", {"elasticGPUName": "d"}, {"elasticGPUName": None}, NAMED, "Bound"
    ),
    claim_change(
        "the device goes, lost", {"elasticGPUName": "d"}, {"elasticGPUName": ""}, NAMED, "Lost"
    ),
    claim_change(
        "the device goes, no phase yet", {"elasticGPUName": "d"}, {"elasticGPUName": ""}, NAMED
    ),
    grow("core grows", BOTH, {CORE: 20}),
    grow("memory grows in another unit", BOTH, {MEMORY: "4097Mi"}),
    grow("the same in another unit", BOTH, {MEMORY: 4 << 30}),
    grow("a name joins", TEN, BOTH, "", "Bound"),
    grow("core shrinks", BOTH, {CORE: 9}, GROW),
    grow("core shrinks, as text", BOTH, {CORE: "9"}, GROW, "Bound"),
    grow("memory shrinks in another unit", BOTH, {MEMORY: "4G"}, GROW),
    grow("a name goes", BOTH, {MEMORY: None}, GROW),
    claim_change("all requests go", {}, {"resources": None}, GROW)._replace(
        also=(f"spec.resources.requests: Invalid value: {NOTHING}",)
    ),
    *[
        claim_change(f"{field} changes, unbound", {field: before}, {field: after}, "", "Pending")
        for field, before, after in [
            ("selector", {"matchLabels": {"a": "b"}}, {"matchLabels": {"a": "c"}}),
            ("gpuSelector", {"model": "h200"}, {"model": "h100"}),
            ("shared", False, True),
            ("colocateWith", ["a"], ["b"]),
        ]
    ],
    *[
        claim_change(
            f"{field} changes, bound",
            {} if before is None else {field: before},
            {field: after},
            f"spec.{field}: Forbidden: {field} {CHOSEN}",
            "Bound",
        )
        for field, before, after in [
            ("selector", {"matchLabels": {"a": "b"}}, {"matchLabels": {"a": "c"}}),
            ("selector", {"matchLabels": {"a": "b"}}, None),
            ("gpuSelector", None, {"model": "h100"}),
            ("shared", False, True),
            ("colocateWith", ["a"], ["b"]),
        ]
    ],
    claim_change("priority changes, bound", {}, {"priorityClassName": "p"}, "", "Bound"),
    device_change(
        "the source changes",
        {"source": {"handle": "h"}},
        f"spec.source: Forbidden: a device stays what it is, {ONLY_MEMORY}",
    ),
    *[
        device_change(
            f"the device's {what}",
            {"source": {"devices": parts}},
            said and f"spec.source: Forbidden: a device stays what it is, {ONLY_MEMORY}",
            source=SOURCE | {"devices": SIZED},
        )
        for what, parts, said in [
            ("memory grows", [{"gpu": "a", "core": 10, "memory": "5Gi"}], ""),
            ("memory grows in bytes", [{"gpu": "a", "core": 10, "memory": 5 << 30}], ""),
            ("memory shrinks", [{"gpu": "a", "core": 10, "memory": "3Gi"}], "no"),
            ("memory goes", [{"gpu": "a", "core": 10}], "no"),
            ("core grows", [{"gpu": "a", "core": 11, "memory": "4Gi"}], "no"),
            ("card changes", [{"gpu": "b", "core": 10, "memory": "4Gi"}], "no"),
            ("card goes", [], "no"),
            ("cards are more", [*SIZED, {"gpu": "b"}], "no"),
        ]
    ],
    device_change(
        "the capacity changes",
        {"capacity": {CORE: 20}},
        f"spec.capacity: Forbidden: a device stays as large as it is, {ONLY_MEMORY}",
    ),
    *[
        device_change(
            f"the capacity's {what}",
            {"capacity": now},
            said and f"spec.capacity: Forbidden: a device stays as large as it is, {ONLY_MEMORY}",
            capacity=BOTH,
        )
        for what, now, said in [
            ("memory grows", {MEMORY: "5Gi"}, ""),
            ("memory shrinks", {MEMORY: "3Gi"}, "no"),
            ("memory goes", {MEMORY: None}, "no"),
            ("core grows", {CORE: 11}, "no"),
        ]
    ],
    device_change(
        "the node changes",
        {"nodeName": "node-2"},
        "spec.nodeName: Forbidden: a device stays on its node: make another ElasticGPU",
    ),
    device_change(
        "the node goes",
        {"nodeName": None},
        "spec.nodeName: Forbidden: a device stays on its node: make another ElasticGPU",
    ),
    device_change(
        "the device's class changes",
        {"elasticGPUClassName": "b"},
        "spec.elasticGPUClassName: Forbidden: a device stays in its class: make another ElasticGPU",
    ),
    device_change("the policy changes", {"reclaimPolicy": "Retain"}),
    device_change("it is reserved", {"claimRef": {"namespace": "n", "name": "c"}}),
    device_change("it is bound", {"claimRef": HELD}),
    device_change(
        "a reservation changes",
        {"claimRef": {"name": "other"}},
        claimRef={"namespace": "n", "name": "c"},
    ),
    device_change(
        "a reservation is taken up",
        {"claimRef": {"uid": "u1"}},
        claimRef={"namespace": "n", "name": "c"},
    ),
    device_change("only the uid goes", {"claimRef": {"uid": None}}, claimRef=HELD),
    device_change("it is recycled", {"claimRef": None}, claimRef=HELD),
    device_change("another claim's name", {"claimRef": {"name": "other"}}, OWNED, claimRef=HELD),
    device_change("another namespace", {"claimRef": {"namespace": "n"}}, OWNED, claimRef=HELD),
    device_change("another claim of the name", {"claimRef": {"uid": "u2"}}, OWNED, claimRef=HELD),
    Change(
        "the card moves",
        "GPU",
        {"nodeName": "node-1"},
        {"nodeName": "node-2"},
        "spec.nodeName: Forbidden: a card stays on the node that reported it: "
        "let the other node report",
    ),
    Change("the card is closed", "GPU", {"nodeName": "node-1"}, {"unschedulable": True}),
    *[
        Change(
            f"the class's {field} changes",
            "ElasticGPUClass",
            {"provisioner": "p"},
            {field: value},
            f"spec.{field}: Forbidden: {sentence}: make another class",
        )
        for field, value, sentence in [
            ("provisioner", "q", "devices of the class rely on it"),
            ("parameters", {"a": "b"}, "devices of the class rely on them"),
            ("reclaimPolicy", "Retain", "claims of the class rely on it"),
            ("eGPUBindingMode", "WaitForFirstConsumer", "claims of the class rely on it"),
        ]
    ],
    Change(
        "the class's placement changes",
        "ElasticGPUClass",
        {"provisioner": "p"},
        {"placement": {"node": "spread"}},
    ),
]
