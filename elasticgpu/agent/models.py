"""What is known of card models, so that a fleet file need only name them.

Memory is what `nvidia-smi --query-gpu=memory.total` shows, in MiB; the rest is from NVIDIA's data
sheets and architecture white papers. TFLOPS are of the tensor cores, FP16 with FP32 accumulation,
without sparsity.
"""

from __future__ import annotations

from dataclasses import dataclass

from elasticgpu.api.gpu import MigProfile

from .migtables import TABLES


@dataclass(frozen=True, slots=True)
class CardModel:
    """One model: its short name, what NVML calls it, its figures, and whose MIG table it has."""

    short: str
    name: str
    memory_mib: int
    architecture: str
    compute_capability: str
    tflops: int
    mig_like: str = ""

    @property
    def mig(self) -> tuple[MigProfile, ...]:
        """Its MIG table; empty if it cannot be cut."""
        return TABLES[self.mig_like] if self.mig_like else ()


MODELS = (
    # Ampere: A100, A30 and A10 data sheets. The A800 is an A100 with slower NVLink.
    CardModel("A100-40GB", "NVIDIA A100-SXM4-40GB", 40960, "ampere", "8.0", 312, "A100-40GB"),
    CardModel("A100-80GB", "NVIDIA A100-SXM4-80GB", 81920, "ampere", "8.0", 312, "A100-80GB"),
    CardModel("A100-PCIE-40GB", "NVIDIA A100-PCIE-40GB", 40960, "ampere", "8.0", 312, "A100-40GB"),
    CardModel("A100-PCIE-80GB", "NVIDIA A100 80GB PCIe", 81920, "ampere", "8.0", 312, "A100-80GB"),
    CardModel("A800-40GB", "NVIDIA A800 40GB Active", 40960, "ampere", "8.0", 312, "A100-40GB"),
    CardModel("A800-80GB", "NVIDIA A800-SXM4-80GB", 81920, "ampere", "8.0", 312, "A100-80GB"),
    CardModel("A30", "NVIDIA A30", 24576, "ampere", "8.0", 165, "A30"),
    CardModel("A10", "NVIDIA A10", 23028, "ampere", "8.6", 125),
    CardModel("RTX-3090", "NVIDIA GeForce RTX 3090", 24576, "ampere", "8.6", 71),
    # Hopper: H100 and H200 data sheets (1,979 and 1,979 with sparsity; NVL 1,671). The H800 is an
    # H100 with slower NVLink and FP64; GH200 has an H100 of 96 GB (its data sheet: 1,979).
    CardModel("H100-80GB", "NVIDIA H100 80GB HBM3", 81559, "hopper", "9.0", 989, "H100-80GB"),
    CardModel("H800-80GB", "NVIDIA H800", 81559, "hopper", "9.0", 989, "H100-80GB"),
    CardModel("H100-NVL", "NVIDIA H100 NVL", 95830, "hopper", "9.0", 835, "H100-NVL"),
    CardModel("H100-96GB", "NVIDIA H100 96GB HBM3", 97871, "hopper", "9.0", 989, "H100-96GB"),
    CardModel("GH200", "NVIDIA GH200 480GB", 97871, "hopper", "9.0", 989, "H100-96GB"),
    CardModel("H200", "NVIDIA H200", 143771, "hopper", "9.0", 989, "H200"),
    # Blackwell: HGX B200 data sheet, a card's eighth of it (36 PFLOPS with sparsity)
    CardModel("B200", "NVIDIA B200", 183359, "blackwell", "10.0", 2250, "B200"),
    # Turing: T4 data sheet; its 65 are the mixed-precision figure
    CardModel("T4", "Tesla T4", 15360, "turing", "7.5", 65),
    # Ada: L4 data sheet (242 with sparsity), Ada white paper for the GeForce
    CardModel("L4", "NVIDIA L4", 23034, "ada", "8.9", 121),
    CardModel("RTX-4090", "NVIDIA GeForce RTX 4090", 24564, "ada", "8.9", 165),
)

PCI_DEVICE_IDS = {
    "A100-40GB": "0x20B010DE",
    "A100-80GB": "0x20B210DE",
    "A100-PCIE-40GB": "0x20F110DE",
    "A100-PCIE-80GB": "0x20B510DE",
    "A800-40GB": "0x20F610DE",
    "A800-80GB": "0x20F310DE",
    "A30": "0x20B710DE",
    "A10": "0x223610DE",
    "RTX-3090": "0x220410DE",
    "H100-80GB": "0x233010DE",
    "H800-80GB": "0x232410DE",
    "H100-NVL": "0x232110DE",
    "H100-96GB": "0x233D10DE",
    "GH200": "0x234210DE",
    "H200": "0x233510DE",
    "B200": "0x290110DE",
    "T4": "0x1EB810DE",
    "L4": "0x27B810DE",
    "RTX-4090": "0x268410DE",
}
"""PCI ids of device and vendor by short name. Sources: the pci.ids database (pci-ids.ucw.cz), and
for the cards that MIG cuts the device filters in NVIDIA's mig-parted configurations."""

_BY_NAME = {_name.lower(): _m for _m in MODELS for _name in (_m.short, _m.name)}


def known(name: str) -> CardModel | None:
    """The model of this name, short or NVML's, in any case; None if it is not in the table."""
    return _BY_NAME.get(name.lower())
