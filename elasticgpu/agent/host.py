"""The node as a provisioner's plugin sees it while a device is prepared or undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from elasticgpu.api.gpu import GPU
from elasticgpu.errors import Refused


@dataclass(frozen=True)
class NodeHost:
    """A `Host` for one entry of one pod: this node's cards, and the entry's variables.

    `tag` tells the entry's variables from those of the pod's other entries.
    """

    node_name: str
    cards: Mapping[str, GPU]
    tag: str

    def card(self, gpu: str) -> GPU:
        """The card of this GPU name. Raises Refused if this node does not have it."""
        if gpu not in self.cards:
            raise Refused(f"node {self.node_name} has no card {gpu}")
        return self.cards[gpu]

    def variable(self, name: str) -> str:
        """The environment variable of this entry: `CORE` of `egpu-0` → `ELASTICGPU_0_CORE`.

        >>> NodeHost("node-0", {}, tag="0").variable("CORE")
        'ELASTICGPU_0_CORE'
        """
        return f"ELASTICGPU_{self.tag}_{name}"
