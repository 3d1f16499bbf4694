"""Cards with lanes: as many devices a card as the class says, each with a ticket to its lane."""

from dataclasses import replace

from pydantic import Field

from elasticgpu.provisioner import (
    ContainerEdits,
    Demand,
    ElasticGPU,
    Host,
    Mount,
    NodeView,
    Parameters,
    Provisioner,
    Refused,
    Slice,
    shares,
)


class LaneParameters(Parameters):
    """What a class may say."""

    lanes: int = Field(default=4, ge=1, le=48)


class Lanes(Provisioner):
    """Shares of cards, of which each has a number of lanes."""

    name = "example.com/lanes"
    parameters: LaneParameters = LaneParameters()

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        """A share of each of the best cards that have a lane left."""
        if want.gpus or want.mig or want.unsized:
            raise Refused(
                "a lane is a share of a card: ask for core, memory or TFLOPS, how much of it; "
                "whole cards and MIG profiles need a class of another provisioner"
            )
        cards = tuple(card for card in node.cards if len(card.held) < self.parameters.lanes)
        return shares(want, replace(node, cards=cards))

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        """The cards, and a ticket: a file that says how much of which card."""
        parts = device.spec.source.devices
        lines = [f"{host.card(p.gpu).status.uuid} {p.core} {p.memory_bytes}\n" for p in parts]
        ticket, inside = host.run_dir / device.name, f"/run/lanes/{device.name}"
        host.files.write(ticket, "".join(lines).encode())
        return ContainerEdits(
            env=[f"{host.variable('TICKET')}={inside}", "NVIDIA_VISIBLE_DEVICES=void"],
            device_nodes=host.nodes(*(part.gpu for part in parts)),
            mounts=[Mount(host_path=str(ticket), container_path=inside, options=["bind", "ro"])],
        )

    async def unprepare(self, device: ElasticGPU, host: Host) -> None:
        """The ticket is void."""
        host.files.remove(host.run_dir / device.name)
