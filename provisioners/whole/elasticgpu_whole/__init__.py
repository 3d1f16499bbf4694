"""Whole cards: one, or several of a node that are best joined, for nobody else."""

from elasticgpu.provisioner import (
    ContainerEdits,
    Demand,
    ElasticGPU,
    Host,
    NodeView,
    Provisioner,
    Refused,
    Slice,
    whole_cards,
)


class Whole(Provisioner):
    """Untouched cards, each with all of its compute and memory."""

    name = "elasticgpu.io/whole"

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        """The cards of the node with the fastest links between them."""
        if not want.gpus:
            raise Refused(
                "this class gives whole cards: ask for elasticgpu.io/gpu; a share of a card, MIG "
                "and TFLOPS need a class of another provisioner"
            )
        return whole_cards(want, node)

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        """The cards' device files, and their uuids by PCI bus, as CUDA then counts them."""
        cards = [host.card(part.gpu) for part in device.spec.source.devices]
        cards.sort(key=lambda card: card.status.pci_bus_id)
        uuids = ",".join(card.status.uuid for card in cards)
        return ContainerEdits(
            env=[f"{host.variable('UUID')}={uuids}", "NVIDIA_VISIBLE_DEVICES=void"],
            device_nodes=host.nodes(*(card.name for card in cards)),
        )
