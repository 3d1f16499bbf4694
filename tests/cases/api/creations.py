"""Manifests beside their requests, and the errors that refuse them."""

from __future__ import annotations

from typing import NamedTuple

from tests.api.asks import MEMORY, TFLOPS, UNCHECKED, integer

from .asking import PATHS, REQUESTS, SOURCE, Object, new


class Creation(NamedTuple):
    """A manifest, and the errors that refuse it; none: it is made."""

    what: str
    body: Object
    errors: tuple[str, ...] = ()


def make(what: str, kind: str, spec: Object, *errors: str, name: str = "") -> Creation:
    return Creation(what, new(kind, spec, name), errors)


def claim(what: str, spec: Object, *errors: str, name: str = "") -> Creation:
    return make(what, "ElasticGPUClaim", REQUESTS | spec, *errors, name=name)


def device(what: str, spec: Object, *errors: str, name: str = "") -> Creation:
    return make(what, "ElasticGPU", {"source": SOURCE} | spec, *errors, name=name)


def without_spec(kind: str) -> Creation:
    head = {"apiVersion": "elasticgpu.io/v1alpha1", "kind": kind, "metadata": {"name": "none"}}
    return Creation(f"no spec: {kind}", head, ("spec: Required value", UNCHECKED))


def too_long(place: str, most: int) -> tuple[str, str]:
    return f"{place}: Too long: may not be more than {most} bytes", UNCHECKED


LONG = (
    "metadata.name: Invalid value: the name is longer than 240 characters: choose a shorter one, "
    "for the names of what is made"
)
LABEL = (
    "metadata.name: Invalid value: the name is the device's name on its node too: "
    "write at most 63 lower-case letters, digits and '-', and no '.'"
)
TWO_CLASSES = (
    "spec.storageClassName: Invalid value: storageClassName is another name of "
    "elasticGPUClassName and the two differ: keep one of them"
)
CREATIONS = [
    *map(without_spec, PATHS),
    claim("two classes", {"elasticGPUClassName": "a", "storageClassName": "b"}, TWO_CLASSES),
    claim("a class and none", {"elasticGPUClassName": "", "storageClassName": "b"}, TWO_CLASSES),
    claim("the class under both names", {"elasticGPUClassName": "a", "storageClassName": "a"}),
    claim("a claim of 240 characters", {}, name="x" * 240),
    claim(
        "a claim of 241 characters",
        {},
        f"{LONG} for the claim contain it",
        name="x" * 241,
    ),
    make(
        "a template of 241 characters",
        "ElasticGPUClaimTemplate",
        {"spec": REQUESTS},
        f"{LONG} from the template contain it",
        name="x" * 241,
    ),
    claim(
        "the same claim twice",
        {"colocateWith": ["a", "a"]},
        'spec.colocateWith[1]: Duplicate value: "a"',
    ),
    claim(
        "an endless device name", {"elasticGPUName": "x" * 64}, *too_long("spec.elasticGPUName", 63)
    ),
    claim(
        "a card of no size",
        {"gpuSelector": {"memory": "4GB"}},
        'spec.gpuSelector.memory: Invalid value: "4GB": this is not a quantity: '
        "write a number such as 10, 4Gi or 3k",
    ),
    claim(
        "TFLOPS beyond 64 bits",
        {"resources": {"requests": {TFLOPS: "99E"}}},
        f"spec.resources.requests: Invalid value: {integer(TFLOPS)}",
    ),
    device("a device of 63 characters", {}, name="x" * 63),
    device("a device of 64", {}, LABEL, name="x" * 64),
    device("a device with a dot", {}, LABEL, name="a.b"),
    device(
        "a card twice in a device",
        {"source": SOURCE | {"devices": [{"gpu": "a"}, {"gpu": "a"}]}},
        'spec.source.devices[1]: Duplicate value: {"gpu":"a"}',
    ),
    device(
        "less than no memory",
        {"source": SOURCE | {"devices": [{"gpu": "a", "memory": "-3"}]}},
        'spec.source.devices[0].memory: Invalid value: "-3": this is not a number of bytes: '
        "write a whole one such as 4294967296 or 4Gi",
    ),
    device(
        "a capacity of no size",
        {"capacity": {MEMORY: "4 Gi"}},
        f'spec.capacity[{MEMORY}]: Invalid value: "4 Gi": this is not a quantity: '
        "write a number such as 10, 4Gi or 3k",
    ),
    device(
        "a device of nobody",
        {"source": {"devices": []}},
        "spec.source.driver: Required value",
        UNCHECKED,
    ),
    make("a card of no node", "GPU", {}, "spec.nodeName: Required value", UNCHECKED),
    make(
        "a policy of one's own",
        "ElasticGPUClass",
        {"provisioner": "p", "reclaimPolicy": "Recycle"},
        'spec.reclaimPolicy: Unsupported value: "Recycle": supported values: "Retain", "Delete"',
        UNCHECKED,
    ),
    make(
        "a binding mode of one's own",
        "ElasticGPUClass",
        {"provisioner": "p", "eGPUBindingMode": "Later"},
        'spec.eGPUBindingMode: Unsupported value: "Later": '
        'supported values: "Immediate", "WaitForFirstConsumer"',
        UNCHECKED,
    ),
    make(
        "a class of nobody",
        "ElasticGPUClass",
        {"reclaimPolicy": "Retain"},
        "spec.provisioner: Required value",
        UNCHECKED,
    ),
]
