"""What a bound claim says besides being bound: what it has, that it asked for more, that its pods
cannot run.

Nodes that were tried for it in vain are forgotten here too, once no pod waits for it any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Condition, merge_condition

from .growing import RESIZED, Short
from .transaction import forgotten

COLOCATED = "Colocated"
"""Type of a condition that is there only while something is wrong."""


@dataclass(frozen=True, slots=True)
class UpkeepView:
    """A bound claim with its device, and in what that falls short of it.

    `beside` are the claims that pods use together with it or that it is to be colocated with, each
    with the node of its device and who wants both. `awaited`: a pod without node names it.
    """

    claim: ElasticGPUClaim
    device: ElasticGPU
    beside: Mapping[str, tuple[str, str]]
    awaited: bool = False
    short: Short | None = None


def kept(view: UpkeepView, *, now: str) -> ElasticGPUClaim:
    """The claim with a status that says all this; itself, if nothing changed."""
    claim, short, apart = view.claim, view.short, _apart(view)
    small = (short.reason, short.message) if short is not None else None
    if claim.status.capacity != view.device.spec.capacity:
        claim = claim.with_status(capacity=dict(view.device.spec.capacity))
    claim = _said(claim, RESIZED, small, now)
    claim = _said(claim, COLOCATED, None if apart is None else ("Apart", apart), now)
    if claim.status.excluded_nodes and not view.awaited:
        claim = forgotten(claim)
    return claim


def _apart(view: UpkeepView) -> str | None:
    """Whose device lies on another node, and who wants both; None if nobody's does."""
    own = view.device.spec.node_name
    for name, (node, who) in sorted(view.beside.items()):
        if own and node and node != own:
            return f"it is on node {own} and {name} on node {node}, but {who} wants them on one"
    return None


def _said(
    claim: ElasticGPUClaim, kind: str, said: tuple[str, str] | None, now: str
) -> ElasticGPUClaim:
    """The claim with this condition False for that reason, in those words; or without it."""
    have = claim.status.conditions
    if said is None:
        rest = [condition for condition in have if condition.type != kind]
        return claim.with_status(conditions=rest) if len(rest) < len(have) else claim
    reason, message = said
    condition = Condition(type=kind, status="False", reason=reason, message=message[:1024])
    return claim.with_status(conditions=merge_condition(have, condition, now=now))
