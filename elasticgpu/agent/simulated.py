"""The management library of made-up cards: it keeps what it is told, and there is nothing else.

The agent of a fleet file has it instead of NVIDIA's; a plugin cannot tell.
"""

from __future__ import annotations

from elasticgpu.host import ComputeMode


class SimulatedNvml:
    """An `Nvml` that remembers, until its process ends."""

    def __init__(self) -> None:
        self._modes: dict[str, ComputeMode] = {}

    async def compute_mode(self, gpu: str) -> ComputeMode:
        """See `Nvml`."""
        return self._modes.get(gpu, "DEFAULT")

    async def set_compute_mode(self, gpu: str, mode: ComputeMode) -> None:
        """See `Nvml`."""
        self._modes[gpu] = mode

    async def processes(self, gpu: str) -> list[int]:
        """See `Nvml`: nothing ever computes on a made-up card."""
        return []

    def reload(self) -> None:
        """The driver begins anew, as after a reboot: what it was told is forgotten."""
        self._modes.clear()
