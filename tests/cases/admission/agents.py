"""What an agent tries to write, and the sentence it reads if that is refused."""

from __future__ import annotations

from typing import NamedTuple

from elasticgpu.api.names import NODE_FINALIZER

from .pods import Object

OURS = "/apis/elasticgpu.io/v1alpha1"
NODES = ("admission-a", "admission-b")


def gpu(name: str, node: str) -> Object:
    """A card."""
    head = {"apiVersion": "elasticgpu.io/v1alpha1", "kind": "GPU"}
    return {**head, "metadata": {"name": name}, "spec": {"nodeName": node}}


def device(name: str, node: str) -> Object:
    """A device that nobody uses."""
    return {
        "apiVersion": "elasticgpu.io/v1alpha1",
        "kind": "ElasticGPU",
        "metadata": {"name": name, "finalizers": ["tests/keep"]},
        "spec": {
            **({"nodeName": node} if node else {}),
            "capacity": {"elasticgpu.io/gpu-core": 10},
            "source": {"driver": "elasticgpu.io/qgpu"},
        },
    }


class Write(NamedTuple):
    """What an agent tries, and the sentence it reads if that is refused."""

    why: str
    path: str
    change: Object
    sentence: str = ""


A, B = NODES
FOREIGN = f'the agent of node "{A}" may not write'
ONLY = f"an agent may change only finalizer {NODE_FINALIZER}"
SPEC = "that is for admins and the controller"
WRITES = [
    Write("its card's label", f"gpus/{A}-0", {"metadata": {"labels": {"model": "h200"}}}),
    Write("its card's status", f"gpus/{A}-0/status", {"status": {"model": "H200"}}),
    Write(
        "what the controller writes of its card",
        f"gpus/{A}-0/status",
        {"status": {"allocated": [{"elasticGPU": "x"}]}},
        f"an agent may not change status.allocated of GPU {A}-0, which only the controller writes",
    ),
    Write(
        "what the admin writes of its card",
        f"gpus/{A}-0",
        {"spec": {"unschedulable": True}},
        f"an agent may not change the spec of GPU {A}-0: {SPEC}",
    ),
    Write(
        "another node's card",
        f"gpus/{B}-0",
        {"metadata": {"labels": {"model": "h200"}}},
        f'{FOREIGN} GPU {B}-0, which is on node "{B}"',
    ),
    Write(
        "another node's card's status",
        f"gpus/{B}-0/status",
        {"status": {"health": "Unhealthy"}},
        f'{FOREIGN} GPU {B}-0, which is on node "{B}"',
    ),
    Write(
        "its device's finalizer",
        f"elasticgpus/{A}-device",
        {"metadata": {"finalizers": ["tests/keep", NODE_FINALIZER]}},
    ),
    Write(
        "its device's status", f"elasticgpus/{A}-device/status", {"status": {"preparedFor": ["u"]}}
    ),
    Write(
        "another finalizer of its device",
        f"elasticgpus/{A}-device",
        {"metadata": {"finalizers": [NODE_FINALIZER]}},
        f"of the metadata of ElasticGPU {A}-device {ONLY}",
    ),
    Write(
        "its device's labels",
        f"elasticgpus/{A}-device",
        {"metadata": {"labels": {"a": "b"}}},
        f"of the metadata of ElasticGPU {A}-device {ONLY}",
    ),
    Write(
        "whose its device is",
        f"elasticgpus/{A}-device",
        {"spec": {"claimRef": {"namespace": "x", "name": "y"}}},
        f"an agent may not change the spec of ElasticGPU {A}-device: {SPEC}",
    ),
    Write(
        "another node's device",
        f"elasticgpus/{B}-device",
        {"metadata": {"finalizers": ["tests/keep", NODE_FINALIZER]}},
        f'{FOREIGN} ElasticGPU {B}-device, which is on node "{B}"',
    ),
    Write(
        "another node's device's status",
        f"elasticgpus/{B}-device/status",
        {"status": {"phase": "Failed"}},
        f'{FOREIGN} ElasticGPU {B}-device, which is on node "{B}"',
    ),
    Write(
        "a device on no node",
        "elasticgpus/admission-remote/status",
        {"status": {"phase": "Failed"}},
        f"{FOREIGN} ElasticGPU admission-remote, which is on no node",
    ),
]


def merged(before: Object, change: Object) -> Object:
    """`before` with the change in it, mapping by mapping."""
    both = {**before, **change}
    for key in before.keys() & change.keys():
        if isinstance(before[key], dict) and isinstance(change[key], dict):
            both[key] = merged(before[key], change[key])
    return both
