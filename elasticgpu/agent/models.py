"""What is known of card models, so that a fleet file need only name them.

Memory is what `nvidia-smi --query-gpu=memory.total` shows, in MiB; the rest is from NVIDIA's data
sheets and architecture white papers. TFLOPS are of the tensor cores, FP16 with FP32 accumulation,
without sparsity.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CardModel:
    """One model: its short name, what NVML calls it, and its figures."""

    short: str
    name: str
    memory_mib: int
    architecture: str
    compute_capability: str
    tflops: int


MODELS = (
    # Ampere: A100, A30 and A10 data sheets
    CardModel("A100-40GB", "NVIDIA A100-SXM4-40GB", 40960, "ampere", "8.0", 312),
    CardModel("A100-80GB", "NVIDIA A100-SXM4-80GB", 81920, "ampere", "8.0", 312),
    CardModel("A30", "NVIDIA A30", 24576, "ampere", "8.0", 165),
    CardModel("A10", "NVIDIA A10", 23028, "ampere", "8.6", 125),
    # Hopper: H100 and H200 data sheets (1,979 and 1,979 with sparsity)
    CardModel("H100-80GB", "NVIDIA H100 80GB HBM3", 81559, "hopper", "9.0", 989),
    CardModel("H200", "NVIDIA H200", 143771, "hopper", "9.0", 989),
    # Turing: T4 data sheet; its 65 are the mixed-precision figure
    CardModel("T4", "Tesla T4", 15360, "turing", "7.5", 65),
    # Ada: L4 data sheet (242 with sparsity), Ada white paper for the GeForce
    CardModel("L4", "NVIDIA L4", 23034, "ada", "8.9", 121),
    CardModel("RTX-4090", "NVIDIA GeForce RTX 4090", 24564, "ada", "8.9", 165),
)

_BY_NAME = {_name.lower(): _m for _m in MODELS for _name in (_m.short, _m.name)}


def known(name: str) -> CardModel | None:
    """The model of this name, short or NVML's, in any case; None if it is not in the table."""
    return _BY_NAME.get(name.lower())
