"""A pool of cards on hosts outside the cluster, reached over the network by rCUDA's client.

The class names the servers; their cards are counted like those of nodes. A device is on no node:
the pod runs anywhere, and its container is told where its cards are (rCUDA User's Guide):

- `RCUDA_DEVICE_COUNT` and, for each, `RCUDA_DEVICE_<n>=<server>[@<port>]:<card>`; without a port
  the client takes 8308.
- The client's libraries stand in for CUDA's: they have to be found before them, which is what
  `LD_LIBRARY_PATH` is for.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from elasticgpu.api.elasticgpu import CardSlice
from elasticgpu.api.gpu import GPU, GPUSpec, GPUStatus
from elasticgpu.api.meta import ObjectMeta
from elasticgpu.api.quantity import memory_bytes
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
    whole_cards,
)

LABEL = "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
SERVER = re.compile(
    rf"(?P<host>{LABEL}(\.{LABEL})*)\.?(@(?P<port>\d{{1,5}}))?(:(?P<card>\d{{1,3}}))?", re.ASCII
)
LONGEST = 128
"""Characters of a server's name; with port and card it is the name of a card."""
PORT = 8308
MOST = 256
"""Cards of a pool, at most: each decision about a claim looks at all of them."""


class RemoteParameters(Parameters):
    """`servers`, separated by commas, each `<host>[@<port>][:<card>]`; one without a card has
    `count` of them. `memory` is that of each card, `library` a directory of the node with the
    client's libraries; without it the image brings them."""

    servers: str = ""
    count: Annotated[int, Field(ge=1, le=16)] = 1
    memory: str = ""
    model: Annotated[str, StringConstraints(max_length=128)] = ""
    library: Annotated[str, StringConstraints(pattern=r"^(/[\w+-][\w.+-]*)*$")] = ""

    @field_validator("memory")
    @classmethod
    def _amount(cls, value: str) -> str:
        memory_bytes(value)
        return value

    @model_validator(mode="after")
    def _complete(self) -> Self:
        cards = self.cards()
        if not cards:
            raise ValueError("servers: name at least one, <host>[@<port>][:<card>]")
        if len(cards) > MOST:
            raise ValueError(f"servers: {len(cards)} cards, at most {MOST} are served by one class")
        if not self.memory or memory_bytes(self.memory) <= 0:
            raise ValueError("memory: say how much each card has, such as 16Gi")
        return self

    def cards(self) -> list[str]:
        """The cards, each once, in the client's words: `<host>[@<port>]:<card>`."""
        named = (part.strip() for part in self.servers.split(",") if part.strip())
        return list(dict.fromkeys(card for part in named for card in self._of(part)))

    def _of(self, server: str) -> Iterator[str]:
        found = SERVER.fullmatch(server)
        if found is None or len(found["host"]) > LONGEST:
            raise ValueError(f"servers: {server!r} is not <host>[@<port>][:<card>]")
        port = int(found["port"] or PORT)
        if not 0 < port < 1 << 16:
            raise ValueError(f"servers: {server!r} names no port: write 1 to 65535")
        where = found["host"].lower() + (f"@{port}" if port != PORT else "")
        numbers = [found["card"]] if found["card"] else map(str, range(self.count))
        return (f"{where}:{int(number)}" for number in numbers)


class Remote(Provisioner):
    """Shares of the pool's cards, or whole ones."""

    name = "elasticgpu.io/remote"
    parameters: RemoteParameters = RemoteParameters.model_construct()

    def pool(self) -> Sequence[GPU]:
        """The cards of the class's servers."""
        own = self.parameters
        return [_card(name, index, own) for index, name in enumerate(own.cards())]

    def place(self, want: Demand, node: NodeView) -> Slice | None:
        """The first cards of the pool, best first, on which what is asked is not yet booked."""
        if not self.parameters.servers:
            raise Refused("its class names no servers: make one with parameter servers")
        if want.unsized or want.mig or want.tflops:
            raise Refused(
                "a pool gives whole cards, or books shares of them: ask for gpu, or for gpu-memory "
                "and gpu-core; MIG and TFLOPS need another provisioner"
            )
        return whole_cards(want, node) if want.gpus else shares(want, node)

    async def prepare(self, device: ElasticGPU, host: Host) -> ContainerEdits:
        """Where the client finds the cards, and the client itself if the class says where it is."""
        parts = device.spec.source.devices
        if not parts:
            raise Refused(f"ElasticGPU {device.name} names no card of a server in source.devices")
        env = [
            f"RCUDA_DEVICE_COUNT={len(parts)}",
            *(f"RCUDA_DEVICE_{n}={part.gpu}" for n, part in enumerate(parts)),
            *_share(parts, host),
            "NVIDIA_VISIBLE_DEVICES=void",
        ]
        library = self.parameters.library
        if not library:
            return ContainerEdits(env=env)
        if not host.files.exists(Path(library)):
            raise Refused(
                f"node {host.node_name} has no rCUDA client: there is no {library}. Install it "
                "there, or leave parameter library out of the class if images bring it"
            )
        mount = Mount(host_path=library, container_path=library, options=["ro", "rbind"])
        return ContainerEdits(env=[*env, f"LD_LIBRARY_PATH={library}"], mounts=[mount])


def _card(name: str, index: int, own: RemoteParameters) -> GPU:
    size = memory_bytes(own.memory)
    status = GPUStatus(index=index, model=own.model, memory=size, health="Healthy")
    return GPU(metadata=ObjectMeta(name=name), spec=GPUSpec(node_name=""), status=status)


def _share(parts: Sequence[CardSlice], host: Host) -> Iterator[str]:
    """What is booked of the cards, which nobody enforces."""
    yield f"{host.variable('CORE')}={sum(part.core for part in parts)}"
    yield f"{host.variable('MEMORY')}={sum(part.memory_bytes for part in parts)}"
    yield f"{host.variable('ENFORCED')}=no"
