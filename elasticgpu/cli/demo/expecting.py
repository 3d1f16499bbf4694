"""What has to come of a step, each in words and as a question to what is seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from elasticgpu.api.meta import find_condition

from .seen import Seen


@dataclass(frozen=True, slots=True)
class Expected:
    """What has to come, in words, and whether it has."""

    what: str
    holds: Callable[[Seen], bool]


def bound(*names: str) -> Expected:
    """The claims are Bound, and their devices with them."""

    def holds(seen: Seen) -> bool:
        devices = [seen.device_of(name) for name in names]
        return all(
            claim and claim.status.phase == "Bound" and device and device.status.phase == "Bound"
            for claim, device in zip(map(seen.claim, names), devices, strict=True)
        )

    return Expected(f"claim {', '.join(names)} Bound", holds)


def running(*names: str, node: str = "") -> Expected:
    """The pods run, on that node if one is named."""

    def holds(seen: Seen) -> bool:
        pods = [seen.pod(name) for name in names]
        return all(
            pod and pod.status.phase == "Running" and node in ("", pod.spec.node_name)
            for pod in pods
        )

    where = f" on {node}" if node else ""
    return Expected(f"pod {', '.join(names)} Running{where}", holds)


def waiting(name: str, saying: str) -> Expected:
    """The claim is Pending, for a reason in which these words are."""

    def holds(seen: Seen) -> bool:
        claim = seen.claim(name)
        said = find_condition(claim.status.conditions, "Bound") if claim else None
        pending = claim is not None and claim.status.phase == "Pending"
        return bool(pending and said and saying in said.message)

    return Expected(f"claim {name} Pending, saying “{saying}”", holds)


def on_one_node(*names: str) -> Expected:
    """The devices of the claims are on one node."""

    def holds(seen: Seen) -> bool:
        devices = [device for name in names if (device := seen.device_of(name))]
        nodes = {device.spec.node_name for device in devices}
        return len(devices) == len(names) and len(nodes) == 1

    return Expected(f"claims {' and '.join(names)} on one node", holds)


def lies_on(name: str, cards: int) -> Expected:
    """The claim's device is cut from so many cards."""

    def holds(seen: Seen) -> bool:
        device = seen.device_of(name)
        return device is not None and len(device.spec.source.devices) == cards

    return Expected(f"claim {name} on {cards} cards", holds)


def serves(name: str, device: str) -> Expected:
    """This device serves the claim."""
    return Expected(
        f"claim {name} served by {device}",
        lambda seen: (found := seen.device_of(name)) is not None and found.name == device,
    )


def told(kind: str, name: str, reason: str) -> Expected:
    """An event on that object has this reason."""

    def holds(seen: Seen) -> bool:
        events = (event.model_extra or {} for event in seen.events.values())
        return any(e.get("reason") == reason and _about(e) == (kind, name) for e in events)

    return Expected(f"event {reason} on {kind} {name}", holds)


def _about(event: dict[str, dict[str, str]]) -> tuple[str, str]:
    regarding = event.get("regarding", {})
    return regarding.get("kind", ""), regarding.get("name", "")


def gone(pod: str, claim: str) -> Expected:
    """Pod and claim are gone, and every device that is left has a claim that is there."""

    def holds(seen: Seen) -> bool:
        refs = [device.spec.claim_ref for device in seen.devices.values()]
        orphans = [ref for ref in refs if ref and seen.claim(ref.name) is None]
        return not (seen.pod(pod) or seen.claim(claim) or orphans)

    return Expected(f"pod {pod}, claim {claim} and its device gone", holds)


def within_cards(seen: Seen) -> Iterable[str]:
    """Cards of which more is held than there is."""
    for card in seen.forest().cards:
        if card.held.core > card.size.core or card.held.memory > card.size.memory:
            yield card.name
