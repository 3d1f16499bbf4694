"""What may be asked for: the table that API server and vocabulary both keep to."""

from __future__ import annotations

from typing import Any, NamedTuple

Object = dict[str, Any]

NAMES = (
    "elasticgpu.io/gpu, elasticgpu.io/gpu-core, elasticgpu.io/gpu-memory, "
    "elasticgpu.io/gpu-memory-percentage, elasticgpu.io/gpu-count, elasticgpu.io/tflops"
)


class Ask(NamedTuple):
    """Requests, and what is said against them where; nothing: accepted."""

    what: str
    requests: Object
    sentence: str = ""
    where: str = "resources.requests: Invalid value: "


WHOLE = (
    "elasticgpu.io/gpu asks for whole cards, the others for a part of one: keep either "
    "elasticgpu.io/gpu or elasticgpu.io/gpu-core, elasticgpu.io/gpu-memory, "
    "elasticgpu.io/gpu-memory-percentage, elasticgpu.io/tflops"
)
PERCENT = (
    "elasticgpu.io/gpu-core is percent of one card: "
    "write 1 to 100, or a multiple of 100 for whole cards"
)
SHARE = "elasticgpu.io/gpu-memory-percentage is percent of one card's memory: write 1 to 100"
POSITIVE = "an amount is zero or less: write how much is asked for, or leave the name out"
INTEGER = (
    "an amount of elasticgpu.io/gpu, elasticgpu.io/gpu-core, elasticgpu.io/gpu-memory-percentage, "
    "elasticgpu.io/gpu-count, elasticgpu.io/tflops is broken or too large: write a whole number"
)
UNKNOWN = (
    f"a name under elasticgpu.io/ is not known: write one of {NAMES}, elasticgpu.io/mig-<profile>"
)
ASKS = [
    Ask("a slice", {"elasticgpu.io/gpu-core": 10, "elasticgpu.io/gpu-memory": "4Gi"}),
    Ask("whole cards", {"elasticgpu.io/gpu": 2}),
    Ask("whole cards as core", {"elasticgpu.io/gpu-core": 200}),
    Ask("the API server's own spelling of 1000", {"elasticgpu.io/gpu-core": "1k"}),
    Ask("a MIG instance", {"elasticgpu.io/mig-1g.10gb": 1}),
    Ask("split over cards", {"elasticgpu.io/gpu-memory": "8Gi", "elasticgpu.io/gpu-count": 2}),
    Ask("a vendor's names", {"aliyun.com/gpu-mem": 3, "nvidia.com/gpumem": "3k"}),
    Ask(
        "a vendor's names in our domain",
        {"gpushare.provisioner.elasticgpu.io/gpu-memory": 1},
    ),
    Ask(
        "nothing",
        {},
        "nothing is requested: name at least one resource, such as "
        "elasticgpu.io/gpu-core: 10 or elasticgpu.io/gpu: 1",
    ),
    Ask("whole and core", {"elasticgpu.io/gpu": 1, "elasticgpu.io/gpu-core": 10}, WHOLE),
    Ask("whole and memory", {"elasticgpu.io/gpu": 1, "elasticgpu.io/gpu-memory": "1Gi"}, WHOLE),
    Ask(
        "whole and percentage",
        {"elasticgpu.io/gpu": 1, "elasticgpu.io/gpu-memory-percentage": 5},
        WHOLE,
    ),
    Ask("whole and tflops", {"elasticgpu.io/gpu": 1, "elasticgpu.io/tflops": 5}, WHOLE),
    Ask("one and a half cards", {"elasticgpu.io/gpu-core": 150}, PERCENT),
    Ask("no core", {"elasticgpu.io/gpu-core": 0}, POSITIVE),
    Ask("less than no memory", {"elasticgpu.io/gpu-memory": "-1Gi"}, POSITIVE),
    Ask("half a percent", {"elasticgpu.io/gpu-core": "500m"}, INTEGER),
    Ask("a broken card", {"elasticgpu.io/gpu": "1.5"}, INTEGER),
    Ask("more than the memory", {"elasticgpu.io/gpu-memory-percentage": 101}, SHARE),
    Ask(
        "two MIG instances",
        {"elasticgpu.io/mig-1g.10gb": 2},
        "an amount of elasticgpu.io/mig-<profile> is not 1: write 1, and a claim for each instance",
    ),
    Ask("an unknown name", {"elasticgpu.io/memory": "1Gi"}, UNKNOWN),
    Ask(
        "no quantity",
        {"elasticgpu.io/gpu-memory": "4GB"},
        "an amount is not a quantity: write a number such as 10, 4Gi or 3k",
    ),
    Ask(
        "an endless quantity",
        {"elasticgpu.io/gpu-memory": "1" * 33},
        "may not be more than 32",
        "resources.requests.elasticgpu.io/gpu-memory: Too long: ",
    ),
    Ask(
        "an endless exponent",
        {"elasticgpu.io/gpu-memory": "1e999999999"},
        "should match",
        'resources.requests.elasticgpu.io/gpu-memory: Invalid value: "1e999999999": ',
    ),
    Ask(
        "too many names",
        {f"a.example/{n}": 1 for n in range(17)},
        "must have at most 16 items",
        "resources.requests: Too many: 17: ",
    ),
    Ask("an endless name", {"x" * 254: 1}, "a key is longer than 253 characters: shorten it"),
]
