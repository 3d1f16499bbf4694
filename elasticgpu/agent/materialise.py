"""Steps 2 to 8 of Prepare: from "this pod may have this device" to "a container sees it".

`prepare` says why the order is what it is. The caller holds the device's lock.
"""

from __future__ import annotations

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.names import NODE_FINALIZER
from elasticgpu.api.quantity import format_bytes
from elasticgpu.errors import NotFound, Refused
from elasticgpu.rules.holders import holds

from . import judge
from .edits import made, undisputed
from .ledger import Record
from .node import Node
from .ports import get_same, revise
from .resolve import Asked, check_device, held_by
from .settle import finish, release


async def materialise(node: Node, asked: Asked) -> Record:
    """Make it real, and the ledger say `ready`. Raises Refused, Retry or ApiError.

    Withdrawn again if the claim turns out not to be the pod's; after any other failure the record
    stays `preparing`, and the kubelet asks again or says Unprepare.
    """
    record = await _admit(node, asked)
    try:
        device = await _mark(node, asked, record)
        await _still_handed(node, asked)
    except Refused:
        await finish(node, await release(node, record))
        raise
    edits = await made(node, record, _as_judged(device, record))
    # Of two claims of one pod, the later one has to see what the earlier one brings.
    async with node.pods.of(record.pod.uid):
        undisputed(node, asked, edits)
        node.folder.write(record.uid, edits)
        return await node.ledger.put(record.but(state="ready", edits=edits))


async def _admit(node: Node, asked: Asked) -> Record:
    """Steps 2 and 3 under one lock: devices that race for a card are judged one by one."""
    device = asked.device
    node.plugin(device)  # who could not make it could not undo it either
    async with node.judging:
        judge.same_name(node.ledger.live(), device)
        listed = [one async for one in node.listing()]
        crowded = judge.overcommits(node.cards(), node.ledger.all(), listed, device)
        if crowded is None:
            record = await node.ledger.put(_record(node, asked))
            await _supersede(node, record)
            return record
        # Under the lock: whoever is judged next must not count this one any more.
        await judge.fail(node.api, device, crowded)
    raise Refused(f"ElasticGPU {device.name} does not fit: {crowded}")


def _record(node: Node, asked: Asked) -> Record:
    """The record of this use. A device that is here already keeps the size that it was judged by,
    until `resize` has judged again."""
    record = asked.record(node.ledger.boot_id)
    there = (one.device for one in node.ledger.live() if one.device.uid == asked.device.uid)
    return record.but(device=next(there, record.device))


def _as_judged(device: ElasticGPU, record: Record) -> ElasticGPU:
    source = record.device.spec.source
    return device.but(spec=device.spec.but(source=source))


async def _supersede(node: Node, record: Record) -> None:
    """Forget what was stranded of the same use: now it has its proper record."""
    for other in node.ledger.sharing(record):
        if other.state == "stranded" and other.pod.uid == record.pod.uid:
            await node.ledger.drop(other.uid)


async def _mark(node: Node, asked: Asked, record: Record) -> ElasticGPU:
    """Step 4. Raises Refused if the device is not the claim's any more.

    A device that is on no node gets no mark: nothing of it is here, and an agent writes only what
    belongs to its node.
    """
    grows = node.plugin(asked.device).grows

    def finalized(device: ElasticGPU) -> ElasticGPU:
        check_device(device, asked.claim)
        there = NODE_FINALIZER in device.metadata.finalizers
        return device if there else device.with_finalizers(NODE_FINALIZER)

    def prepared(device: ElasticGPU) -> ElasticGPU:
        check_device(device, asked.claim)
        rows, uid = device.status.prepared_for, asked.pod.uid
        if uid in rows:
            return device
        marked = device.with_status(prepared_for=[*rows, uid])
        if rows or not grows:
            return marked
        return marked.with_status(prepared_memory=format_bytes(record.device.memory_bytes))

    try:
        # Read once more: `resolve` read before we had the lock, and a pod that left meanwhile took
        # its row and perhaps the finalizer along.
        now = await get_same(node.api, asked.device)
        if not now.spec.node_name:
            check_device(now, asked.claim)
            return now
        device = await revise(node.api, now, finalized)
        return await revise(node.api, device, prepared, "status")
    except NotFound as error:
        raise Refused(f"ElasticGPU {asked.device.name} is gone") from error


async def _still_handed(node: Node, asked: Asked) -> None:
    """Step 5, the agent's half of the handing-over; the other is in `rules.holders`.

    We wrote the pod into `preparedFor` and read `status.users` only now. The controller removes a
    pod from `status.users` and reads `preparedFor` only then, before it lets another pod in. So if
    it removed this pod before our read, we see it here and withdraw; if after, it sees our row and
    waits. In no order do two holders overlap.
    """
    try:
        claim = await node.api.get(ElasticGPUClaim, asked.claim.key)
    except NotFound as error:
        raise Refused(f"ElasticGPUClaim {asked.claim.name} is gone") from error
    if claim.uid != asked.claim.uid or not holds(claim, asked.pod.uid):
        raise Refused(f"ElasticGPUClaim {claim.name} was taken from this pod: {held_by(claim)}")
