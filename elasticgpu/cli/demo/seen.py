"""The objects of the demo, as its watches know them."""

from __future__ import annotations

from typing import Any

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Event, Pod
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.gpu import GPU
from elasticgpu.cli.forest import Forest, grow
from elasticgpu.cluster.client import Client
from elasticgpu.cluster.informer import Informer


class Seen:
    """All of them."""

    def __init__(self, client: Client) -> None:
        self.cards = Informer(client, GPU)
        self.devices = Informer(client, ElasticGPU)
        self.claims = Informer(client, ElasticGPUClaim)
        self.pods = Informer(client, Pod)
        self.events = Informer(client, Event)

    @property
    def informers(self) -> list[Informer[Any]]:
        """Their caches."""
        return [self.cards, self.devices, self.claims, self.pods, self.events]

    def claim(self, name: str) -> ElasticGPUClaim | None:
        """The claim of that name."""
        return self.claims.get(("default", name))

    def pod(self, name: str) -> Pod | None:
        """The pod of that name."""
        return self.pods.get(("default", name))

    def device_of(self, name: str) -> ElasticGPU | None:
        """The device of the claim of that name."""
        claim = self.claim(name)
        return self.devices.get(("", claim.spec.elastic_gpu_name)) if claim else None

    def forest(self) -> Forest:
        """Who holds what."""
        cards = sorted(self.cards.values(), key=lambda gpu: (gpu.spec.node_name, gpu.status.index))
        devices = sorted(self.devices.values(), key=lambda one: one.metadata.creation_timestamp)
        return grow(cards, devices, sorted(self.claims.values(), key=lambda one: one.key))
