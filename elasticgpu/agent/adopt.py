"""What the API server says is prepared here and the ledger does not know: a lost state directory.

A row in `status.preparedFor` means that a container may be running, and only the kubelet knows when
it has ended. So nothing is freed here:

- If the row's pod is still there, its ResourceClaim is found again through claim and pod, and gets
  its record back; it is prepared once more, and its Unprepare will find it.
- Else the record is `stranded`: it goes on taking room, is reported on the device, and ends when
  the node reboots, or when somebody who looked takes the uid out of `status.preparedFor`.
- Our finalizer without any row goes: rows are written before anything is materialised.

Until it is known what the API server says, no Prepare is served, for the node could oversell its
cards; then a device that cannot be compared yet holds up no other, and what it may have prepared
counts. No Unprepare of what the ledger does not know is served before all are compared, for it
would be forgotten.

A pod that is gone while its record stays is no business of ours either: the container may still
run. The kubelet says Unprepare for it within a minute, unless it lost its own state as well
(`dra_manager_state`); then the record ends with the next reboot.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from uuid import NAMESPACE_OID, uuid5

from elasticgpu.api.claim import ElasticGPUClaim
from elasticgpu.api.core import Pod, ResourceClaim
from elasticgpu.api.elasticgpu import ElasticGPU
from elasticgpu.api.meta import ObjectReference
from elasticgpu.cluster.backoff import jittered
from elasticgpu.errors import ElasticGPUError, NotFound
from elasticgpu.rules.entries import entries, resource_claim_name

from .ledger import Record, snapshot
from .node import Node
from .ports import get_same, revise
from .prepare import Preparer
from .resolve import Asked
from .settle import finish, release, unmarked

log = logging.getLogger(__name__)

PERIOD = 60.0
"""Seconds between two looks whether somebody freed what is stranded."""

Report = Callable[[ElasticGPU, str], None]
"""Says on the device what a person has to look at."""


class Adopter:
    """Compares the API server with the ledger: fully once, then only what is stranded."""

    def __init__(self, node: Node, preparer: Preparer, report: Report) -> None:
        self._node = node
        self._preparer = preparer
        self._report = report
        self._adopted: list[Record] = []

    async def run(self) -> None:
        """Compare, however long it takes; then watch over what is stranded, for ever."""
        failures = 0
        while self._node.unsure or not self._node.listed.is_set():
            try:
                await self.compare()
            except (ElasticGPUError, OSError) as error:
                failures += 1
                log.warning("the ledger is not compared with the API server yet: %s", error)
                await asyncio.sleep(jittered(failures, base=0.5, cap=15.0))
        while True:
            await asyncio.sleep(PERIOD)
            await self.look_after_stranded()

    async def compare(self) -> None:
        """Make a record of every row that has none, device by device.

        Raises the last error if some could not be compared; the next call goes on with those.
        """
        await self._list()
        failed: ElasticGPUError | OSError | None = None
        for device in list(self._node.unsure.values()):
            try:
                with suppress(NotFound):
                    await self._compare(device)
                del self._node.unsure[device.uid]
            except (ElasticGPUError, OSError) as error:
                log.warning("ElasticGPU %s is not compared yet: %s", device.name, error)
                failed = error
        while self._adopted:
            ref = self._adopted.pop().resource_claim
            with suppress(ElasticGPUError):  # then it stays `preparing`, and the kubelet asks
                await self._preparer.prepare(ref.key, ref.uid)
        if failed is not None:
            raise failed
        self._sweep()

    async def _list(self) -> None:
        if not self._node.listed.is_set():
            async for device in self._node.listing():
                self._node.unsure[device.uid] = device
            self._node.listed.set()

    def _sweep(self) -> None:
        """Remove CDI files of nobody, once nobody unknown is left who could need one."""
        ledger, folder = self._node.ledger, self._node.folder
        unknown = self._node.unsure or any(r.state == "stranded" for r in ledger.all())
        if not unknown:
            for uid in folder.uids():
                if ledger.get(uid) is None:
                    folder.remove(uid)

    async def _compare(self, listed: ElasticGPU) -> None:
        node = self._node
        # Only under its lock are ledger and API server at one about a device.
        async with node.devices.of(listed.name):
            device = await get_same(node.api, listed)
            known = {r.pod.uid for r in node.ledger.all() if r.device.uid == device.uid}
            lost = [uid for uid in device.status.prepared_for if uid not in known]
            await revise(node.api, device, unmarked)
            for uid in lost:
                await self._adopt(device, uid)

    async def _adopt(self, device: ElasticGPU, pod_uid: str) -> None:
        try:
            asked = await self._find(device, pod_uid)
        except NotFound as error:
            log.debug("ElasticGPU %s, pod %s: %s", device.name, pod_uid, error)
            await self._strand(device, pod_uid)
            return
        log.warning(
            "ElasticGPU %s is in use by pod %s, which the ledger did not know: taken into it",
            *(device.name, asked.pod.name),
        )
        record = asked.record(self._node.ledger.boot_id)
        self._adopted.append(await self._node.ledger.put(record))

    async def _find(self, device: ElasticGPU, pod_uid: str) -> Asked:
        """The use behind a row. Raises NotFound if claim, pod or ResourceClaim is gone."""
        api, ref = self._node.api, device.spec.claim_ref
        if ref is None:
            raise NotFound(404, "NotFound", "the device has no claim")
        claim = await api.get(ElasticGPUClaim, ref.key)
        names = [row.pod_name for row in claim.status.users if row.pod_uid == pod_uid]
        if claim.uid != ref.uid or not names:
            raise NotFound(404, "NotFound", f"claim {claim.name} is not handed to the pod")
        pod = await api.get(Pod, (claim.namespace, names[0]))
        found = [entry for entry in entries(pod) if entry.key == claim.key]
        made = [name for entry in found if (name := resource_claim_name(pod, entry))]
        if pod.uid != pod_uid or not made:
            raise NotFound(404, "NotFound", f"pod {pod.name} was made anew")
        resource_claim = await api.get(ResourceClaim, (pod.namespace, made[0]))
        allocation = resource_claim.status.allocation
        results = allocation.devices.results if allocation else []
        requests = [result.request for result in results if result.device == device.name]
        if not requests:
            raise NotFound(404, "NotFound", f"ResourceClaim {made[0]} is not allocated the device")
        return Asked(resource_claim, requests[0], pod, found[0], claim, device)

    async def _strand(self, device: ElasticGPU, pod_uid: str) -> None:
        node, ref = self._node, device.spec.claim_ref
        namespace = ref.namespace if ref else "unknown"
        nobody = ObjectReference(namespace=namespace, name="unknown")
        record = Record(
            resource_claim=nobody.but(uid=str(uuid5(NAMESPACE_OID, f"{device.uid}/{pod_uid}"))),
            pod=nobody.but(uid=pod_uid),
            claim=ref or nobody,
            device=snapshot(device),
            tag="",
            request="",
            state="stranded",
            boot_id=node.ledger.boot_id,
        )
        await node.ledger.put(record)
        said = (
            f"prepared for pod {pod_uid}, which is gone, and the agent's ledger on node "
            f"{node.name} does not know it (a lost state directory?). It stays taken until the "
            "node reboots; or, once no container uses it, remove the uid from status.preparedFor"
        )
        log.error("ElasticGPU %s is %s", device.name, said)
        self._report(device, said)

    async def look_after_stranded(self) -> None:
        """Forget what is stranded and was freed by hand."""
        for record in self._node.ledger.all():
            if record.state == "stranded":
                try:
                    await self._look_after(record)
                except (ElasticGPUError, OSError) as error:
                    log.warning("ElasticGPU %s is stranded: %s", record.device.name, error)
        self._sweep()

    async def _look_after(self, record: Record) -> None:
        node = self._node
        async with node.claims.of(record.uid), node.devices.of(record.device.name):
            try:
                device = await get_same(node.api, record.device)
                freed = record.pod.uid not in device.status.prepared_for
            except NotFound:
                freed = True
            if freed:
                await finish(node, await release(node, record))
