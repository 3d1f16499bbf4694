"""The objects of the load, as a client sends them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]

API = "elasticgpu.io/v1alpha1"
OURS = f"/apis/{API}"
SPACE = "bench"
CLASS = "bench"
NODES = "/api/v1/nodes"
GPUS = f"{OURS}/gpus"
DEVICES = f"{OURS}/elasticgpus"
CLAIMS = f"{OURS}/namespaces/{SPACE}/elasticgpuclaims"
VOLUMES = "/api/v1/persistentvolumes"
VOLUME_CLAIMS = f"/api/v1/namespaces/{SPACE}/persistentvolumeclaims"

CORE, MEMORY = 10, "8Gi"
"""What every device has and every claim asks for: a tenth of a card."""
SHARES = 10
"""Devices that fit on a card."""
CARDS = 8
"""Cards of a node."""


def fleet(devices: int) -> list[Json]:
    """The cards that hold so many devices, in whole nodes."""
    nodes = -(-devices // (SHARES * CARDS))
    return [_card(node, index) for node in range(nodes) for index in range(CARDS)]


def homes(cards: Iterable[Json]) -> list[Json]:
    """The nodes of these cards, Ready."""
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    return [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}
        for name in sorted({card["spec"]["nodeName"] for card in cards})
    ]


def _card(node: int, index: int) -> Json:
    name = f"node-{node:03}-{index}"
    return {
        "apiVersion": API,
        "kind": "GPU",
        "metadata": {"name": name},
        "spec": {"nodeName": f"node-{node:03}"},
        "status": {
            "index": index,
            "uuid": f"GPU-{name}",
            "model": "NVIDIA A100-SXM4-80GB",
            "memory": "80Gi",
            "architecture": "ampere",
            "computeCapability": "8.0",
            "health": "Healthy",
            "simulated": True,
        },
    }


def devices(cards: list[Json], count: int) -> list[Json]:
    """So many devices as an admin makes them ahead of time, ten on a card."""
    return [_device(cards[n // SHARES], n) for n in range(count)]


def _device(card: Json, number: int) -> Json:
    gpu = card["metadata"]["name"]
    part = {"gpu": gpu, "uuid": card["status"]["uuid"], "core": CORE, "memory": MEMORY}
    return {
        "apiVersion": API,
        "kind": "ElasticGPU",
        "metadata": {"name": f"egpu-{number:05}"},
        "spec": {
            "capacity": {"elasticgpu.io/gpu-core": CORE, "elasticgpu.io/gpu-memory": MEMORY},
            "elasticGPUClassName": CLASS,
            "nodeName": card["spec"]["nodeName"],
            "source": {"driver": "elasticgpu.io/qgpu", "handle": gpu, "devices": [part]},
        },
    }


def claim(name: str) -> Json:
    """A claim of the class."""
    requests = {"elasticgpu.io/gpu-core": CORE, "elasticgpu.io/gpu-memory": MEMORY}
    return {
        "apiVersion": API,
        "kind": "ElasticGPUClaim",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {"elasticGPUClassName": CLASS, "resources": {"requests": requests}},
    }


def claims(count: int) -> list[Json]:
    """So many claims of the class."""
    return [claim(f"claim-{number:05}") for number in range(count)]


def volumes(count: int) -> list[Json]:
    """So many PersistentVolumes of a class without provisioner."""
    return [_volume(number) for number in range(count)]


def _volume(number: int) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pv-{number:05}"},
        "spec": {
            "capacity": {"storage": "8Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": CLASS,
            "hostPath": {"path": "/tmp/bench"},
        },
    }


def volume_claims(count: int) -> list[Json]:
    """So many PersistentVolumeClaims of that class."""
    return [_volume_claim(number) for number in range(count)]


def _volume_claim(number: int) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": f"claim-{number:05}", "namespace": SPACE},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": CLASS,
            "resources": {"requests": {"storage": "8Gi"}},
        },
    }


def standing() -> list[tuple[str, Json]]:
    """What is there for the whole run, with the path it is created at: namespace and classes."""
    meta = {"name": CLASS}
    ours = {"apiVersion": API, "kind": "ElasticGPUClass", "metadata": meta}
    theirs = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": meta}
    return [
        (
            "/api/v1/namespaces",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}},
        ),
        (
            f"{OURS}/elasticgpuclasses",
            {**ours, "spec": {"provisioner": "elasticgpu.io/qgpu"}},
        ),
        (
            "/apis/storage.k8s.io/v1/storageclasses",
            {**theirs, "provisioner": "kubernetes.io/no-provisioner"},
        ),
    ]
