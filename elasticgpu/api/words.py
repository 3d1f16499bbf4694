"""The words people ask in: one ordered table, each row with who defined them.

One name means several things (`aliyun.com/gpu-mem` alone, beside `gpu-core.percentage`, under a
label): a row is about all names and labels together, and the order of the rows is part of what they
say. `vocabulary.py` reads by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from .canonical import CORE, COUNT, GPU, MEMORY, MEMORY_PERCENTAGE, MIG_PREFIX, TFLOPS
from .meta import GROUP
from .quantity import MI

GI = 1 << 30

PRIORITY = "nvidia.com/priority"
"""The one name whose amount may be 0: that is the highest priority, not nothing."""

HAMI = "hami"
"""The mode of a namespace in which a lone `nvidia.com/gpu` is HAMi's and not NVIDIA's."""

Dimension = Literal[
    "gpus", "core", "memory", "memory_percentage", "count", "tflops", "priority", "mig", "share"
]


@dataclass(frozen=True, slots=True)
class Word:
    """What one name says within a rule.

    `unit`: what a memory value below 1Mi counts. `each`: it is the amount of each card, else of all
    cards together. `tells`: seeing it is enough to know that the rule is meant.
    """

    dimension: Dimension
    unit: int = MI
    each: bool = False
    tells: bool = True


@dataclass(frozen=True, slots=True)
class Rule:
    """One way of asking: who defined it, which backend is meant, and its words.

    A word's name that ends in "-" stands for all that begin so. `label`: the rule applies only
    under this label, whose value is the number of cards. `mode`: only in this mode. `unsized`: no
    amount need be named, the class has one. `apart`: each name is a claim by itself, and its amount
    says how many of them. `refusal`: understood, but not to be served, and why.
    """

    source: str
    backend: str
    words: Mapping[str, Word]
    label: str = ""
    mode: str = ""
    unsized: bool = False
    apart: bool = False
    refusal: str = ""

    def word(self, name: str) -> Word | None:
        """What the name says in this rule; None: nothing."""
        if name.endswith("-"):
            return None
        head, dash, _ = name.partition("-")
        return self.words.get(name) or self.words.get(head + dash)

    def applies(self, names: Iterable[str], labels: Mapping[str, str], mode: str) -> bool:
        """Whether these names, under these labels and in this mode, are asked for by this rule."""
        if (self.label and self.label not in labels) or self.mode not in ("", mode):
            return False
        return any(word.tells for name in names if (word := self.word(name)))


CANONICAL = {
    GPU: Word("gpus"),
    CORE: Word("core"),
    MEMORY: Word("memory"),
    MEMORY_PERCENTAGE: Word("memory_percentage"),
    COUNT: Word("count"),
    TFLOPS: Word("tflops"),
}
"""Our own names. They may complete any vendor's, as gpu-count does `aliyun.com/gpu-mem`."""

RULES: tuple[Rule, ...] = (
    Rule(
        "Alibaba Cloud ACK, multi-GPU sharing: memory is isolated, compute is not allocated",
        f"{GROUP}/cgpu",
        {"aliyun.com/gpu-core.percentage": Word("core", each=True)},
        label="aliyun.com/gpu-count",
        refusal="aliyun.com/gpu-core.percentage is of one card, and under the label "
        "aliyun.com/gpu-count there are several, whose compute is shared: leave one of both out",
    ),
    Rule(
        "Alibaba Cloud ACK, multi-GPU sharing: N GiB over M cards of one node, N/M of each",
        f"{GROUP}/cgpu",
        {"aliyun.com/gpu-mem": Word("memory", GI)},
        label="aliyun.com/gpu-count",
    ),
    Rule(
        "Alibaba Cloud ACK, cGPU: percent of one card's compute, GiB of its memory",
        f"{GROUP}/cgpu",
        {
            "aliyun.com/gpu-core.percentage": Word("core", each=True),
            "aliyun.com/gpu-mem": Word("memory", GI, tells=False),
        },
    ),
    Rule(
        "AliyunContainerService/gpushare-scheduler-extender: GiB of one card's memory",
        f"{GROUP}/gpushare",
        {"aliyun.com/gpu-mem": Word("memory", GI)},
    ),
    Rule(
        "Tencent TKE, qGPU: percent of a card's compute (200: two whole cards), GiB of its memory",
        f"{GROUP}/qgpu",
        {
            "tke.cloud.tencent.com/qgpu-core": Word("core"),
            "tke.cloud.tencent.com/qgpu-memory": Word("memory", GI),
        },
    ),
    Rule(
        "HAMi, NVIDIA devices: gpu cards and, of each, MiB or percent of memory, percent of cores",
        f"{GROUP}/vcuda",
        {
            "nvidia.com/gpu": Word("count", tells=False),
            "nvidia.com/gpumem": Word("memory", MI, each=True),
            "nvidia.com/gpumem-percentage": Word("memory_percentage"),
            "nvidia.com/gpucores": Word("core", each=True),
            PRIORITY: Word("priority"),
        },
        unsized=True,
    ),
    Rule(
        "HAMi, NVIDIA devices: gpu alone, its memory and cores are HAMi's configured defaults",
        f"{GROUP}/vcuda",
        {"nvidia.com/gpu": Word("count")},
        mode=HAMI,
        unsized=True,
    ),
    Rule(
        "NVIDIA k8s-device-plugin, sharing.mps with renameByDefault: one replica of a card each",
        f"{GROUP}/mps",
        {"nvidia.com/gpu.shared": Word("share")},
        apart=True,
    ),
    Rule(
        "NVIDIA k8s-device-plugin, migStrategy mixed: instances of a profile",
        f"{GROUP}/mig",
        {"nvidia.com/mig-": Word("mig")},
        apart=True,
    ),
    Rule(
        "NVIDIA k8s-device-plugin: whole cards",
        f"{GROUP}/whole",
        {"nvidia.com/gpu": Word("gpus")},
    ),
    Rule(
        "elastic-ai/elastic-gpu, README: claims of gpushare, percent and GiB of a card",
        f"{GROUP}/gpushare",
        {
            f"gpushare.provisioner.{GROUP}/gpu-core": Word("core"),
            f"gpushare.provisioner.{GROUP}/gpu-memory": Word("memory", GI),
        },
    ),
    Rule(
        "elastic-ai/elastic-gpu-scheduler, mode gpushare: percent (200: two whole cards), MiB",
        f"{GROUP}/gpushare",
        {"elasticgpu.com/gpu-core": Word("core"), "elasticgpu.com/gpu-memory": Word("memory", MI)},
    ),
    Rule(
        "this project: MIG instances of a profile",
        f"{GROUP}/mig",
        {MIG_PREFIX: Word("mig")},
        apart=True,
    ),
    Rule(
        "this project: whole cards, or percent, MiB and TFLOPS of one card or of several together",
        "",
        CANONICAL,
    ),
)
"""All ways of asking, in the order in which they are tried."""
