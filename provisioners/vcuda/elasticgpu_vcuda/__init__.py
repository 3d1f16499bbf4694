"""vCUDA: shares of cards, kept by HAMi-core's library between a program and the CUDA driver."""

from __future__ import annotations

from dataclasses import replace

from elasticgpu.provisioner import (
    ContainerEdits,
    Demand,
    ElasticGPU,
    Host,
    NodeView,
    Provisioner,
    Refused,
    Slice,
    shares,
)

from . import container
from .container import MIB, Cards, Place
from .parameters import VCUDAParameters

PRIORITY = "priority"
"""Attribute of a device whose claim named one."""


class VCUDA(Provisioner):
    """A share of each of some cards of a node, its memory and compute kept by interception."""

    name = "elasticgpu.io/vcuda"
    parameters: VCUDAParameters = VCUDAParameters()
    grows = True

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        """Shares of the best cards that are not cut into as many as the class allows."""
        if want.gpus or want.mig:
            raise Refused(
                "vCUDA cuts shares of cards, and whole ones never get its library: a class of "
                "provisioner elasticgpu.io/whole serves elasticgpu.io/gpu, one of "
                "elasticgpu.io/mig MIG profiles"
            )
        if 0 < want.memory < want.count * MIB:
            raise Refused("vCUDA limits memory by the MiB: ask for at least 1Mi of each card")
        if want.priority not in (None, 0, 1):
            raise Refused(f"priority {want.priority} is not known: write 0, which goes first, or 1")
        most = self.parameters.device_split_count
        cards = tuple(card for card in node.cards if len(card.held) < most)
        cut = shares(self._sized(want), replace(node, cards=cards))
        if cut is None or want.priority is None:
            return cut
        return replace(cut, attributes={PRIORITY: str(want.priority)})

    def _sized(self, want: Demand) -> Demand:
        """The demand with the class's amounts for what it leaves open: memory never stays so."""
        if not want.memory and not want.memory_percentage:
            each = self.parameters.default_mem * MIB
            want = replace(want, memory=each * want.count, memory_percentage=0 if each else 100)
        if not want.core and not want.tflops:
            want = replace(want, core=self.parameters.default_cores * want.count)
        return want

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        """The cards in PCI order and, if there is anything to limit, the library and its region.

        Raises Refused if the node does not have the library.
        """
        cards = Cards.of(device, host)
        env = {
            host.variable("UUID"): ",".join(cards.uuids),
            "NVIDIA_VISIBLE_DEVICES": "void",
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        }
        mounts = []
        if not cards.whole:
            container.has_library(self.parameters, host)
            place = Place.of(device, host)
            priority = int(device.spec.source.attributes.get(PRIORITY, "1"))
            container.materialise(place, cards, priority, host)
            env |= container.environment(place, cards, self.parameters, priority)
            mounts = list(place.mounts(self.parameters.library))
        return ContainerEdits(
            env=[f"{name}={value}" for name, value in env.items()],
            device_nodes=host.nodes(*(part.gpu for part in cards.parts)),
            mounts=mounts,
        )

    async def resize(self, device: ElasticGPU, host: Host) -> None:
        """The limits in the region are read at each allocation: new ones act at once.

        Raises Refused if the region cannot be understood any more.
        """
        place = Place.of(device, host)
        if host.files.exists(place.region):
            container.allow(place, Cards.of(device, host), host)

    async def unprepare(self, device: ElasticGPU, host: Host) -> None:
        """The region goes, with the directory it is in."""
        host.files.remove(Place.of(device, host).own)
