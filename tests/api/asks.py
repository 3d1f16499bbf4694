"""What may be asked for: the table that API server and vocabulary both keep to."""

from __future__ import annotations

from typing import Any, NamedTuple

Object = dict[str, Any]

GPU, CORE, MEMORY = "elasticgpu.io/gpu", "elasticgpu.io/gpu-core", "elasticgpu.io/gpu-memory"
SHARE, COUNT, TFLOPS = f"{MEMORY}-percentage", "elasticgpu.io/gpu-count", "elasticgpu.io/tflops"
MIG = "elasticgpu.io/mig-1g.10gb"

UNCHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was "
    "invalid; correct the existing errors to complete validation"
)
"""What Kubernetes adds where its own look at the fields has refused something."""


class Ask(NamedTuple):
    """Requests, and what is said against them: each error with its place; none: accepted."""

    what: str
    requests: Object
    errors: tuple[str, ...] = ()


def wrong(what: str, requests: Object, *sentences: str) -> Ask:
    """Requests that the rules of their map refuse with these sentences."""
    errors = (f"resources.requests: Invalid value: {sentence}" for sentence in sentences)
    return Ask(what, requests, tuple(errors))


def no_quantity(what: str, value: str) -> Ask:
    """A value that the rule of the value itself refuses."""
    sentence = "this is not a quantity: write a number such as 10, 4Gi or 3k"
    place = f"resources.requests[{MEMORY}]"
    return Ask(what, {MEMORY: value}, (f'{place}: Invalid value: "{value}": {sentence}',))


NAMES = f"{GPU}, {CORE}, {MEMORY}, {SHARE}, {COUNT}, {TFLOPS}, elasticgpu.io/mig-<profile>"
WHOLE = (
    f"{GPU} asks for whole cards, the others for a part of one: "
    f"keep either {GPU} or {CORE}, {MEMORY}, {SHARE}, {TFLOPS}"
)
PERCENT = f"{CORE} is percent of one card: write 1 to 100, or a multiple of 100 for whole cards"
CARDS = f"{CORE} above 100 asks for whole cards: leave the other names out, or write at most 100"
PART = f"{SHARE} is percent of one card's memory: write 1 to 100"
POSITIVE = "an amount is zero or less: write how much is asked for, or leave the name out"
UNKNOWN = f"a name under elasticgpu.io/ is not known: write one of {NAMES}"
COUNTED = f"{GPU} says how many cards already: leave {COUNT} out"
ALONE = f"{COUNT} alone asks for no part of any card: write beside it what is asked of them"
INSTANCE = (
    "one elasticgpu.io/mig-<profile> is all that a claim asks for: write 1, leave other names out, "
    "and make a claim for each instance"
)
EVENLY = (
    f"{CORE}, {MEMORY}, {TFLOPS} are of all cards together and do not divide evenly by {COUNT}: "
    "write multiples of it"
)
NOTHING = f"nothing is requested: name at least one resource, such as {CORE}: 10 or {GPU}: 1"
LONG = "a key is longer than 253 characters: shorten it"


def integer(name: str) -> str:
    """What is said of a broken amount of what is counted."""
    return f"{name} is broken or too large: write a whole number"


def too_many(name: str, most: int) -> str:
    """What is said of more cards than a claim can have."""
    return f"{name} asks for more than the 16 cards that one claim can have: write at most {most}"


ASKS = [
    Ask("a slice", {CORE: 10, MEMORY: "4Gi"}),
    Ask("whole cards", {GPU: 2}),
    Ask("whole cards as core", {CORE: 200}),
    Ask("the API server's own spelling of 1000", {CORE: "1k"}),
    Ask("all that one claim can have", {CORE: 1600}),
    Ask("bytes beyond 64 bits", {MEMORY: "99Ei"}),
    Ask("a MIG instance", {MIG: 1}),
    Ask("split over cards", {MEMORY: "8Gi", COUNT: 2, CORE: 60, TFLOPS: 100}),
    Ask("a MiB over two cards", {MEMORY: 1, COUNT: 2}),
    Ask("bytes and percent of the memory", {MEMORY: "8Gi", SHARE: 10}),
    Ask("a vendor's names", {"aliyun.com/gpu-mem": 3, "aliyun.com/gpu-core.percentage": 30}),
    Ask("a vendor's name and ours", {"tke.cloud.tencent.com/qgpu-core": 10, MEMORY: "4Gi"}),
    Ask("a vendor's names in our domain", {"gpushare.provisioner.elasticgpu.io/gpu-memory": 1}),
    Ask("the highest priority", {"nvidia.com/gpu": 1, "nvidia.com/priority": 0}),
    wrong("nothing", {}, NOTHING),
    wrong("cards of nothing", {COUNT: 2}, ALONE),
    wrong("whole and core", {GPU: 1, CORE: 10}, WHOLE),
    wrong("whole and memory", {GPU: 1, MEMORY: "1Gi"}, WHOLE),
    wrong("whole and percentage", {GPU: 1, SHARE: 5}, WHOLE),
    wrong("whole and tflops", {GPU: 1, TFLOPS: 5}, WHOLE),
    wrong("whole and count", {GPU: 2, COUNT: 2}, COUNTED),
    wrong("whole as core and memory", {CORE: 200, MEMORY: "8Gi"}, CARDS),
    wrong("whole as core and count", {CORE: 200, COUNT: 2}, CARDS),
    wrong("whole as core and a vendor's", {CORE: 200, "aliyun.com/gpu-mem": 3}, CARDS),
    wrong("one and a half cards", {CORE: 150}, PERCENT),
    wrong("one and a half over two", {CORE: 150, COUNT: 2}, PERCENT, CARDS),
    wrong("more cards than there are", {GPU: 17}, too_many(GPU, 16)),
    wrong("as core", {CORE: "1700"}, too_many(CORE, 1600)),
    wrong("over more cards than there are", {CORE: 34, COUNT: 17}, too_many(COUNT, 16)),
    wrong("no core", {CORE: 0}, POSITIVE),
    wrong("no card to split over", {CORE: 10, COUNT: 0}, POSITIVE),
    wrong("less than no memory", {MEMORY: "-1Gi"}, POSITIVE),
    wrong("nothing of a vendor", {"nvidia.com/gpu": 0}, POSITIVE),
    wrong("half a percent", {CORE: "500m"}, integer(CORE)),
    wrong("a broken card", {GPU: "1.5"}, integer(GPU)),
    wrong("half a card to split over", {CORE: 10, COUNT: "0.5"}, integer(COUNT)),
    wrong("half a percent of memory", {SHARE: "0.5"}, integer(SHARE)),
    wrong("half a TFLOPS", {TFLOPS: "1500m"}, integer(TFLOPS)),
    wrong("more than the memory", {SHARE: 101}, PART),
    wrong("uneven core", {CORE: 61, COUNT: 2}, EVENLY),
    wrong("uneven memory", {MEMORY: "8Gi", COUNT: 3}, EVENLY),
    wrong("uneven MiB", {MEMORY: 1000, COUNT: 3}, EVENLY),
    wrong("uneven TFLOPS", {TFLOPS: 100, COUNT: 3}, EVENLY),
    wrong("two MIG instances", {MIG: 2}, INSTANCE),
    wrong("two MIG profiles", {MIG: 1, "elasticgpu.io/mig-2g.20gb": 1}, INSTANCE),
    wrong("a MIG instance and core", {MIG: 1, CORE: 10}, INSTANCE),
    wrong("no MIG profile", {"elasticgpu.io/mig-": 1}, UNKNOWN),
    wrong("an unknown name", {"elasticgpu.io/memory": "1Gi"}, UNKNOWN),
    wrong("an endless name", {"x" * 254: 1}, LONG),
    no_quantity("no quantity", "4GB"),
    no_quantity("no number", "much"),
    no_quantity("an endless exponent", "1e999999999"),
    Ask(
        "an endless quantity",
        {MEMORY: "1" * 33},
        (f"resources.requests.{MEMORY}: Too long: may not be more than 32 bytes", UNCHECKED),
    ),
    Ask(
        "too many names",
        {f"a.example/{n}": 1 for n in range(17)},
        ("resources.requests: Too many: 17: must have at most 16 items", UNCHECKED),
    ),
]
