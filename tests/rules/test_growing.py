"""A bound claim that asks for more: the device grows by memory, or the claim hears why not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Condition
from elasticgpu.api.vocabulary import (
    CORE,
    COUNT,
    GPU,
    MEMORY,
    MEMORY_PERCENTAGE,
    MIG_PREFIX,
    TFLOPS,
)
from elasticgpu.rules.fitting import Candidate
from elasticgpu.rules.fleet import CardView
from elasticgpu.rules.growing import Grow, GrowthView, Short, decide

from .build import DRIVER, GI, card, claim, device, free, part, ref

Requests = dict[str, int | str]
KEEPS = "a bound claim keeps its device"
OTHERWISE = "For more, make a new claim and let the pods use that"
HAS = device(of=ref(claim()), phase="Bound")
"""10% and 10Gi of a card of 80Gi."""
TWO = device(
    of=ref(claim()),
    phase="Bound",
    core=20,
    memory="20Gi",
    parts=[part("card-0", 10, "10Gi"), part("card-1", 10, 10 * GI)],
)


def view(
    requests: Requests,
    of: ElasticGPU = HAS,
    *,
    grows: bool = True,
    known: bool = True,
    cards: Mapping[str, CardView] | None = None,
) -> GrowthView:
    """The claim asks for this. `known`: its cards are, and nobody else has any of them."""
    gpus = tuple(card(p.gpu, tflops=100) for p in of.spec.source.devices) if known else ()
    rooms = {gpu.name: free(gpu, mode=DRIVER) for gpu in gpus} if cards is None else cards
    asking = claim(requests=requests, named=of.name, completed=True)
    return GrowthView(asking, Candidate(of, gpus), grows, rooms)


def grown(of: GrowthView) -> tuple[Mapping[str, int | str], list[int]] | None:
    """The larger device: its capacity, and the GiB of each part; None if it does not grow."""
    match decide(of):
        case Grow(larger):
            parts = larger.spec.source.devices
            assert larger.but(spec=of.device.device.spec) == of.device.device
            return larger.spec.capacity, [p.memory_bytes // GI for p in parts]
        case _:
            return None


GROWS: list[tuple[str, Requests, ElasticGPU, str, list[int]]] = [
    ("more-memory", {CORE: 10, MEMORY: "12Gi"}, HAS, "12Gi", [12]),
    ("less-core-is-kept", {CORE: 5, MEMORY: "12Gi"}, HAS, "12Gi", [12]),
    ("half-of-the-card", {MEMORY_PERCENTAGE: 50}, HAS, "40Gi", [40]),
    ("over-two-cards", {CORE: 20, MEMORY: "24Gi", COUNT: 2}, TWO, "24Gi", [12, 12]),
    ("all-of-it", {MEMORY: "80Gi"}, HAS, "80Gi", [80]),
]


@pytest.mark.parametrize(
    ("requests", "of", "memory", "parts"), [pytest.param(*row, id=name) for name, *row in GROWS]
)
def test_grows(requests: Requests, of: ElasticGPU, memory: str, parts: list[int]) -> None:
    """Its memory, part by part, and nothing else of it."""
    capacity = {**of.spec.capacity, MEMORY: memory}
    assert grown(view(requests, of)) == (capacity, parts)


def test_parts_that_are_large_enough_stay() -> None:
    """One was cut larger than it had to be."""
    uneven = device(
        of=ref(claim()),
        phase="Bound",
        core=20,
        memory="25Gi",
        parts=[part("card-0", 10, "10Gi"), part("card-1", 10, "15Gi")],
    )
    requests: Requests = {CORE: 20, MEMORY: "24Gi", COUNT: 2}
    assert grown(view(requests, uneven)) == ({CORE: 20, MEMORY: "27Gi"}, [12, 15])


@pytest.mark.parametrize("known", [True, False])
def test_large_enough(known: bool) -> None:
    """Nothing to do; a percentage of cards that are not known is not judged."""
    assert decide(view({CORE: 10, MEMORY: "10Gi"}, known=known)) is None
    assert decide(view({MEMORY_PERCENTAGE: 50}, known=False)) is None


STAYS: list[tuple[str, Requests, str]] = [
    ("core", {CORE: 20, MEMORY: "10Gi"}, "has 10% core, not 20%"),
    ("core-and-memory", {CORE: 20, MEMORY: "12Gi"}, "has 10% core, not 20%"),
    ("tflops", {TFLOPS: 20}, "has less than 20 TFLOPS"),
    ("whole-cards", {GPU: 1}, "is 0 whole cards, not 1"),
    ("mig", {f"{MIG_PREFIX}1g.10gb": 1}, "is no MIG 1g.10gb"),
    ("more-cards", {CORE: 10, MEMORY: "10Gi", COUNT: 2}, "lies on 1 cards, not 2"),
]


@pytest.mark.parametrize(
    ("requests", "short"), [pytest.param(*row, id=name) for name, *row in STAYS]
)
def test_what_does_not_grow(requests: Requests, short: str) -> None:
    """Only memory does; not even that, if it would not be enough."""
    said = Short("DeviceTooSmall", f"egpu-a {short}: {KEEPS}, but for its memory. {OTHERWISE}")
    assert decide(view(requests)) == said


MORE: Requests = {CORE: 10, MEMORY: "12Gi"}
SMALL = "egpu-a has 10737418240 bytes of memory, not 12884901888"


def test_a_provisioner_that_cannot() -> None:
    """The device stays as it is."""
    said = Short("DeviceTooSmall", f"{SMALL}: {KEEPS}. {OTHERWISE}")
    assert decide(view(MORE, grows=False)) == said


@pytest.mark.parametrize(
    "of",
    [
        HAS.with_status(phase="Failed"),
        HAS.with_metadata(deletion_timestamp="now"),
        HAS.but(spec=HAS.spec.but(capacity={CORE: 10})),
    ],
    ids=["failed", "deleted", "without-memory"],
)
def test_a_device_that_cannot(of: ElasticGPU) -> None:
    """One that is lost or going, and one whose capacity says nothing of memory."""
    said = decide(view(MORE, of))
    assert isinstance(said, Short)
    assert said.reason == "DeviceTooSmall"


@pytest.mark.parametrize(
    ("requests", "of", "message"),
    [
        ({CORE: 0}, HAS, f"{CORE} is 0: ask for more than nothing"),
        (
            MORE,
            device(of=ref(claim()), phase="Bound", parts=[part(memory="much")]),
            "'much' is not a quantity: write a number such as 10, 4Gi or 3k",
        ),
    ],
)
def test_nonsense(requests: Requests, of: ElasticGPU, message: str) -> None:
    """Said in the words of who found it."""
    assert decide(view(requests, of)) == Short("DeviceTooSmall", message)


GPU_0 = card()
FULL: list[tuple[str, Mapping[str, CardView], str]] = [
    (
        "held-by-others",
        {"card-0": free(GPU_0, memory=11 * GI, mode=DRIVER)},
        "card-0: 11Gi of 80Gi memory free, 12Gi wanted",
    ),
    ("gone", {}, "there is no GPU object card-0"),
    (
        "sick",
        {"card-0": free(card(health="Unhealthy", health_message="Xid 79"))},
        "card-0: health is Unhealthy: Xid 79",
    ),
    (
        "overcommitted-core",
        {"card-0": free(GPU_0, core=5)},
        "card-0: 5% of 100% core free, 10% wanted",
    ),
]


@pytest.mark.parametrize(("cards", "lack"), [pytest.param(*row, id=name) for name, *row in FULL])
def test_no_room(cards: Mapping[str, CardView], lack: str) -> None:
    """What its card lacks, the device's own part counted as free."""
    assert decide(view(MORE, cards=cards)) == Short("NoRoom", f"{SMALL}: {lack}")


def test_exactly_enough_room() -> None:
    """The last byte of the card."""
    cards = {"card-0": free(GPU_0, core=10, memory=12 * GI, mode=DRIVER)}
    assert grown(view(MORE, cards=cards)) is not None
    cards = {"card-0": free(GPU_0, core=10, memory=12 * GI - 1, mode=DRIVER)}
    assert grown(view(MORE, cards=cards)) is None


def test_every_card_must_have_room() -> None:
    """Each that lacks some is named."""
    cards = {name: free(card(name), memory=11 * GI) for name in ("card-0", "card-1")}
    said = decide(view({CORE: 20, MEMORY: "24Gi", COUNT: 2}, TWO, cards=cards))
    assert isinstance(said, Short)
    assert said.message.count("11Gi of 80Gi memory free, 12Gi wanted") == 2


UNDERWAY = "egpu-a has 10Gi memory, the pods that use it have 8Gi of it"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({"prepared_for": ["pod"], "prepared_memory": "8Gi"}, f"{UNDERWAY}: node node-a is asked"),
        (
            {
                "prepared_for": ["pod"],
                "prepared_memory": 8 * GI,
                "conditions": [Condition(type="Resized", status="False", message="it is full")],
            },
            f"{UNDERWAY}: it is full",
        ),
        ({"prepared_for": ["pod"], "prepared_memory": "10Gi"}, ""),
        ({"prepared_for": ["pod"]}, ""),
        ({"prepared_memory": "8Gi"}, ""),
    ],
    ids=["asked", "refused", "done", "never-changes", "nobody-uses-it"],
)
def test_until_the_pods_have_it(status: dict[str, object], message: str) -> None:
    """As long as the node has not said so, and if it does not, why."""
    said = decide(view({MEMORY: "10Gi"}, HAS.with_status(**status)))
    assert said == (Short("Resizing", message) if message else None)
