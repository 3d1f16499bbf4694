"""What a bound claim says besides being bound: that its request grew, that its pods cannot run.

Nothing of this changes what it has. Nodes that were tried for it in vain are forgotten here too,
once no pod waits for it any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.meta import Condition, merge_condition
from elasticgpu.api.vocabulary import demand

from .fitting import Candidate, falls_short
from .transaction import forgotten

RESIZED, COLOCATED = "Resized", "Colocated"
"""Types of the conditions. They are there only while something is wrong."""


@dataclass(frozen=True, slots=True)
class UpkeepView:
    """A bound claim with its device.

    `beside` are the claims that pods use together with it or that it is to be colocated with, each
    with the node of its device and who wants both. `awaited`: a pod without node names it.
    """

    claim: ElasticGPUClaim
    device: Candidate
    beside: Mapping[str, tuple[str, str]]
    awaited: bool = False


def kept(view: UpkeepView, *, now: str) -> ElasticGPUClaim:
    """The claim with a status that says all this; itself, if nothing changed."""
    claim = _said(view.claim, RESIZED, "DeviceTooSmall", _grown(view), now)
    claim = _said(claim, COLOCATED, "Apart", _apart(view), now)
    if claim.status.excluded_nodes and not view.awaited:
        claim = forgotten(claim)
    return claim


def _grown(view: UpkeepView) -> str | None:
    """That the claim asks for more than it has, and what to do; None if it does not."""
    spec, name = view.claim.spec, view.device.device.name
    try:
        want = demand(spec.resources.requests, view.claim.metadata.labels)
    except ValueError as error:
        return str(error)
    short = falls_short(want, view.device)
    return short and (
        f"{name} {short}: a bound claim keeps its device. For more, make a new claim and let the "
        "pods use that"
    )


def _apart(view: UpkeepView) -> str | None:
    """Whose device lies on another node, and who wants both; None if nobody's does."""
    own = view.device.device.spec.node_name
    for name, (node, who) in sorted(view.beside.items()):
        if own and node and node != own:
            return f"it is on node {own} and {name} on node {node}, but {who} wants them on one"
    return None


def _said(
    claim: ElasticGPUClaim, kind: str, reason: str, message: str | None, now: str
) -> ElasticGPUClaim:
    """The claim with this condition False, or without it."""
    have = claim.status.conditions
    if message is None:
        rest = [condition for condition in have if condition.type != kind]
        return claim.with_status(conditions=rest) if len(rest) < len(have) else claim
    condition = Condition(type=kind, status="False", reason=reason, message=message[:1024])
    return claim.with_status(conditions=merge_condition(have, condition, now=now))
