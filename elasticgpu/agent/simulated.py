"""The management library of made-up cards: it keeps what it is told, and there is nothing else.

The agent of a fleet file has it instead of NVIDIA's; a plugin cannot tell.
"""

from __future__ import annotations

from collections.abc import Iterable

from elasticgpu.api.gpu import GPU
from elasticgpu.host import ComputeMode

from .simulated_mig import SimulatedMig


class SimulatedNvml(SimulatedMig):
    """An `Nvml` that remembers, until its process ends; nothing ever computes on its cards."""

    def __init__(self, cards: Iterable[GPU] = ()) -> None:
        super().__init__(cards)
        self._modes: dict[str, ComputeMode] = {}

    async def compute_mode(self, gpu: str) -> ComputeMode:
        """See `Nvml`."""
        return self._modes.get(gpu, "DEFAULT")

    async def set_compute_mode(self, gpu: str, mode: ComputeMode) -> None:
        """See `Nvml`."""
        self._modes[gpu] = mode

    def reload(self) -> None:
        """The driver begins anew, as after a reboot: what it was told is forgotten."""
        super().reload()
        self._modes.clear()
