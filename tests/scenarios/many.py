"""38 and 39: many claims, and what one of them gets is not another's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .objects import claim, device
from .scenario import Scenario, State, bind, says

WAITS = "Pending NoDevice"


def _reserved(claims: int, *only: int) -> Scenario:
    """One device, reserved for one of so many claims."""
    others = [f"c{number}" for number in range(1, claims)]
    return Scenario(
        38,
        case=f"{claims} claims",
        given=[
            *(claim(name, of_class="") for name in ["train", *others]),
            device("d1", of_class="", reserved="train"),
        ],
        then={
            "claim train": "Bound d1 completed by-controller",
            "device d1": "Bound train",
            **{f"claim {name}": WAITS for name in others},
        },
        writes=[bind("d1"), *(says("Normal", "NoDevice", f"claim {name}") for name in others)],
        events=[f"Normal NoDevice claim {name}" for name in others],
        only=only,
    )


def _one_to_one(pairs: int, *only: int) -> Scenario:
    """As many claims as devices."""
    claims = [f"c{number}" for number in range(pairs)]

    def wrong(state: State) -> Sequence[str]:
        bound = [line for name, line in state.items() if name.startswith("claim c")]
        owned = [line for name, line in state.items() if name.startswith("device d")]
        devices = Counter(line.split()[1] for line in bound if line.startswith("Bound "))
        owners = Counter(line.split()[1] for line in owned if line.startswith("Bound "))
        perfect = all(found == Counter(set(found)) for found in (devices, owners))
        whole = len(devices) == len(owners) == pairs == len(bound) == len(owned)
        return [] if perfect and whole else [f"{name}: {line}" for name, line in state.items()]

    return Scenario(
        39,
        case=f"{pairs} pairs",
        given=[*map(claim, claims), *(device(f"d{number}") for number in range(pairs))],
        then=wrong,
        writes=[bind(f"d{number}", f"c{number}") for number in range(pairs)],
        only=only,
    )


SCENARIOS = [_reserved(4), _reserved(100, 60), _one_to_one(4), _one_to_one(100, 150)]
