"""Simulates a kubelet: pods of its node get their devices through the agent's real socket, then are
called Running. No container is started; what one would have got from the CDI files is remembered.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from elasticgpu.api.core import Pod, ResourceClaim
from elasticgpu.api.meta import Key
from elasticgpu.cluster.client import Client
from elasticgpu.cluster.clock import timestamp
from elasticgpu.cluster.events import Recorder
from elasticgpu.cluster.informer import Informer
from elasticgpu.cluster.workqueue import WorkQueue
from elasticgpu.errors import Retry

from . import loop
from .socket import Driver

NAME = "kubelet"


class Kubelet:
    """The loop of one node; one key is one pod.

    `environments` tells, by pod uid and container, the variables that CDI files gave it.
    """

    def __init__(self, client: Client, node: str, cdi_dir: Path, recorder: Recorder) -> None:
        self.environments: dict[str, dict[str, list[str]]] = {}
        self._client = client
        self._cdi_dir = cdi_dir
        self._recorder = recorder
        self._queue: WorkQueue[Key] = WorkQueue(f"simulated kubelet of {node}")
        self._pods = Informer(client, Pod, field_selector=f"spec.nodeName={node}")
        self._asked: dict[str, tuple[Key, list[ResourceClaim]]] = {}
        """By pod uid, until the driver has undone it, whatever it answered: whose, and what."""

    async def run(self, driver: Driver) -> None:
        """Run pods, until cancelled."""
        self._driver = driver
        self._pods.subscribe(loop.by_key(self._queue))
        await loop.run([self._pods], self._queue, self._reconcile)

    async def _reconcile(self, key: Key) -> None:
        pod = self._pods.get(key)
        with loop.soon():
            for orphan in self._orphans(key, pod.uid if pod else ""):
                await self._undo(orphan)
            if pod is None:
                return
            if pod.terminating or pod.finished:
                await self._stop(pod)
            elif pod.status.phase != "Running":
                await self._start(pod)

    def _orphans(self, key: Key, uid: str) -> list[str]:
        """Pods of this name that were deleted by force, and are still to be undone."""
        return [one for one, (whose, _) in self._asked.items() if whose == key and one != uid]

    async def _start(self, pod: Pod) -> None:
        claims = [await self._claim(pod, name) for name in _claim_names(pod)]
        if claims:
            # Written down before the driver is asked: it may have done a part of what it refuses.
            self._asked[pod.uid] = (pod.key, claims)
            try:
                ids = await self._driver.prepare(claims)
            except Retry as error:
                reason = "FailedPrepareDynamicResources"
                self._recorder.event(pod, "Warning", reason, str(error), "Prepare")
                raise
            self.environments[pod.uid] = self._environment(pod, claims, ids)
        body = {"status": _running(pod)}
        self._pods.observed(await self._client.patch(Pod, pod.key, body, subresource="status"))
        said = f"Container(s) {', '.join(c.name for c in pod.spec.containers)} started (simulated)"
        self._recorder.event(pod, "Normal", "Started", said, "Start")

    async def _claim(self, pod: Pod, name: str) -> ResourceClaim:
        """The ResourceClaim, reserved for this pod. Raises Retry while it is not."""
        claim = await self._client.get(ResourceClaim, (pod.namespace, name))
        if all(one.uid != pod.uid for one in claim.status.reserved_for):
            raise Retry(f"ResourceClaim {name} is not reserved for pod {pod.name}", after=1.0)
        return claim

    async def _stop(self, pod: Pod) -> None:
        """As a kubelet does when the last container has ended: undo, then let the pod go."""
        await self._undo(pod.uid)
        if pod.terminating:
            await self._client.delete(pod, grace=0)

    async def _undo(self, uid: str) -> None:
        if uid in self._asked:
            _, claims = self._asked[uid]
            await self._driver.unprepare(claims)
            del self._asked[uid]

    def _environment(
        self, pod: Pod, claims: list[ResourceClaim], ids: dict[str, list[str]]
    ) -> dict[str, list[str]]:
        """What the container runtime would set, from the files that the device ids lead to."""
        names = {s.resource_claim_name: s.name for s in pod.status.resource_claim_statuses}
        by_entry = {
            names[claim.name]: [line for one in ids[claim.uid] for line in self._variables(one)]
            for claim in claims
        }
        return {
            container.name: [
                line for used in container.resources.claims for line in by_entry.get(used.name, ())
            ]
            for container in pod.spec.containers
        }

    def _variables(self, device_id: str) -> list[str]:
        kind, _, name = device_id.partition("=")
        file = self._cdi_dir / f"{kind.replace('/', '-')}_{name}.json"
        spec = json.loads(file.read_text(encoding="utf-8"))
        return [
            line
            for device in spec["devices"]
            if device["name"] == name
            for line in device["containerEdits"].get("env", ())
        ]


def _claim_names(pod: Pod) -> list[str]:
    return [
        s.resource_claim_name for s in pod.status.resource_claim_statuses if s.resource_claim_name
    ]


def _running(pod: Pod) -> dict[str, Any]:
    """The status of a pod whose containers run."""
    now = timestamp()
    facts = ("Initialized", "Ready", "ContainersReady")
    conditions = [c.wire() for c in pod.status.conditions if c.type not in facts]
    conditions += [{"type": one, "status": "True", "lastTransitionTime": now} for one in facts]
    containers = [
        {
            "name": container.name,
            "image": (container.model_extra or {}).get("image", ""),
            "imageID": "",
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": now}},
        }
        for container in pod.spec.containers
    ]
    return {
        "phase": "Running",
        "startTime": now,
        "conditions": conditions,
        "containerStatuses": containers,
    }
