"""Step 6 of Prepare: the provisioner makes the device usable, and says what a container needs.

What it refuses is a condition on the device beside the event on the pod: most often the node lacks
something that somebody has to install, for every pod that comes.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Literal

from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import Condition, find_condition, merge_condition
from elasticgpu.cluster.clock import timestamp
from elasticgpu.errors import ElasticGPUError, NotFound, Refused
from elasticgpu.provisioner import ContainerEdits
from elasticgpu.rules.entries import entries, resource_claim_name
from elasticgpu.rules.variables import Brought, clash

from . import cdi
from .ledger import Record
from .node import Node, ask_plugin
from .ports import revise
from .resolve import Asked

PREPARED = "Prepared"
"""Type of the condition. Only a device that was refused ever has it."""

LONGEST = 1024
"""Characters of its message, at most."""


async def made(node: Node, record: Record, device: ElasticGPU) -> ContainerEdits:
    """What the provisioner answers, behind what every container gets.

    Raises what the provisioner raises, and Refused for an answer that is none.
    """
    plugin, host = node.plugin(device), node.host(record)
    try:
        edits = await ask_plugin(plugin.name, plugin.prepare(device, host))
    except Refused as error:
        if device.spec.node_name:  # else it is nobody's to write; the pod hears it all the same
            with suppress(ElasticGPUError):
                await _say(node, device, "False", "Refused", error.reason)
        raise
    if not isinstance(edits, ContainerEdits):
        raise Refused(f"provisioner {plugin.name} answered {type(edits).__name__}, no edits")
    common = {
        "CLAIM": f"{record.claim.namespace}/{record.claim.name}",
        "DEVICE": device.name,
        "PROVISIONER": plugin.name,
    }
    env = [f"{host.variable(name)}={value}" for name, value in common.items()]
    whole = edits.but(env=[*env, *edits.env])
    cdi.spec(record.uid, whole)  # raises Refused for what no runtime would read
    if find_condition(device.status.conditions, PREPARED) is not None:
        await _say(node, device, "True", PREPARED)
    return whole


async def _say(
    node: Node, device: ElasticGPU, status: Literal["True", "False"], reason: str, message: str = ""
) -> None:
    """Have the condition on the device; said already, nothing is written."""
    new = Condition(type=PREPARED, status=status, reason=reason, message=message[:LONGEST])

    def said(now: ElasticGPU) -> ElasticGPU:
        merged = merge_condition(now.status.conditions, new, now=timestamp())
        return now if merged == now.status.conditions else now.with_status(conditions=merged)

    with suppress(NotFound):
        await revise(node.api, device, said, "status")


def undisputed(node: Node, asked: Asked, edits: ContainerEdits) -> None:
    """Refuse what another claim of the pod sets otherwise in the same container."""
    by_name = {resource_claim_name(asked.pod, one): one for one in entries(asked.pod)}
    others = [
        Brought(record.claim.name, by_name[record.resource_claim.name].containers, record.edits.env)
        for record in node.ledger.live()
        if record.pod.uid == asked.pod.uid and record.uid != asked.resource_claim.uid
        if record.edits and record.resource_claim.name in by_name
    ]
    mine = Brought(asked.claim.name, asked.entry.containers, edits.env)
    if said := clash(mine, others):
        raise Refused(said)
