"""Which node a pod goes to, as far as the simulated scheduler knows: the one that its allocations
name, or the emptiest that suits it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from elasticgpu.api.core import Node, NodeSelector, Pod, ResourceClaim
from elasticgpu.rules.consumer import Consumer, fits, unsuited
from elasticgpu.rules.nodes import ready
from elasticgpu.rules.occupancy import Amounts, requests


def choose(
    pod: Pod, claims: Sequence[ResourceClaim], nodes: Iterable[Node], pods: Iterable[Pod]
) -> tuple[str, Node | None]:
    """The node; without one, why there is none."""
    there = sorted((node for node in nodes if ready(node)), key=lambda node: node.name)
    if any(claim.status.allocation is None for claim in claims):
        return f"{len(there)} cannot allocate all claims", None
    running = [one for one in pods if one.spec.node_name and not one.finished]
    found = {node.name: _against(pod, claims, node, running) for node in there}
    count = Counter(one.spec.node_name for one in running)
    fitting = [node for node in there if not found[node.name]]
    emptiest = min(fitting, key=lambda node: count[node.name], default=None)
    return "; ".join(f"{name}: {why}" for name, why in found.items() if why), emptiest


def _against(
    pod: Pod, claims: Iterable[ResourceClaim], node: Node, running: Iterable[Pod]
) -> str | None:
    """What speaks against the node."""
    if not all(_selects(claim, node) for claim in claims):
        return "it does not match the allocated devices"
    taken = _sum(requests(one) for one in running if one.spec.node_name == node.name)
    return unsuited(Consumer.of(pod), node.name, node, taken)


def _selects(claim: ResourceClaim, node: Node) -> bool:
    """Whether the allocation can be used on the node."""
    selector = (claim.status.allocation and claim.status.allocation.node_selector) or {}
    terms = NodeSelector.model_validate(selector).node_selector_terms
    return not selector or any(fits(term, node) for term in terms)


def _sum(parts: Iterable[Amounts]) -> Amounts:
    found: Counter[str] = Counter()
    for part in parts:
        found.update(part)
    return found
