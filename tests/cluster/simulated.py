"""Nodes that exist only as objects: kept Ready, with a kubelet's manners towards deleted pods.

The scheduler binds pods to them and nothing runs there. One thread renews their leases; another
ends pods that are being deleted, as a kubelet does when their containers have stopped.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from tests.cluster.api import ApiClient, ApiError, Object
from tests.cluster.site import NODE

_CAPACITY = {"cpu": "8", "memory": "16Gi", "pods": "110"}
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_RENEWAL = 5.0


class SimulatedNodes:
    """Node objects of those names, alive between `start` and `stop`."""

    def __init__(self, api: ApiClient, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._api = api
        self._silent: set[str] = set()
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Create the nodes and keep them Ready."""
        for name in self.names:
            self._create(name)
        for work in (self._renew_forever, self._finish_forever) if self.names else ():
            thread = threading.Thread(target=work, daemon=True, name=f"simulated-{work.__name__}")
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Let the nodes fall silent; the objects stay."""
        self._over.set()

    def join(self) -> None:
        """Wait for the threads; once the API server is gone, nothing holds them."""
        for thread in self._threads:
            thread.join(_RENEWAL)

    def silence(self, name: str) -> None:
        """Stop one node's heartbeat: after 50 s the controller manager calls it lost."""
        self._silent.add(name)

    def revive(self, name: str) -> None:
        """Let a silenced node speak again, Ready."""
        self._silent.discard(name)
        self._renew(name)
        self._api.patch(f"/api/v1/nodes/{name}/status", {"status": _status()}, kind="strategic")

    def _create(self, name: str) -> None:
        labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": _status(),
        }
        self._renew(name)
        _tolerating(409, lambda: self._api.create("/api/v1/nodes", node))

    def _renew(self, name: str) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now}
        lease: Object = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": "kube-node-lease"},
            "spec": spec,
        }
        try:
            self._api.patch(f"{_LEASES}/{name}", {"spec": spec})
        except ApiError as error:
            if error.status != 404:
                raise
            self._api.create(_LEASES, lease)

    def _renew_forever(self) -> None:
        while not self._over.wait(_RENEWAL):
            for name in self.names:
                if name not in self._silent:
                    with suppress(OSError, ApiError):
                        self._renew(name)

    def _finish_forever(self) -> None:
        while not self._over.is_set():
            try:
                self._finish_deleted()
            except Exception:
                # The API server was stopped or killed by a test: look again when it is back.
                time.sleep(0.2)

    def _finish_deleted(self) -> None:
        """Force the end of each deleted pod of ours, until the watch ends."""
        ours = f"spec.nodeName!=,spec.nodeName!={NODE}"
        for event in self._api.watch("/api/v1/pods", seconds=30, fieldSelector=ours):
            if self._over.is_set():
                return
            if event["type"] in ("ADDED", "MODIFIED"):
                self._finish(event["object"])

    def _finish(self, pod: Object) -> None:
        meta = pod["metadata"]
        simulated = pod["spec"].get("nodeName") in self.names
        if simulated and pod["spec"]["nodeName"] not in self._silent and _is_ending(meta):
            path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
            _tolerating(404, lambda: self._api.delete(path, grace=0))


def _status() -> Object:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    states = {"Ready": "True", "MemoryPressure": "False", "DiskPressure": "False"}
    conditions = [
        {
            "type": kind,
            "status": status,
            "reason": "Simulated",
            "message": "kept by the test cluster",
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }
        for kind, status in states.items()
    ]
    return {"capacity": _CAPACITY, "allocatable": _CAPACITY, "conditions": conditions}


def _is_ending(meta: Object) -> bool:
    return meta.get("deletionTimestamp") is not None and meta.get("deletionGracePeriodSeconds") != 0


def _tolerating(status: int, call: Callable[[], Object]) -> None:
    try:
        call()
    except ApiError as error:
        if error.status != status:
            raise
