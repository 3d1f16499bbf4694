"""One case: a namespace of its own, and words to write manifests and read the world with."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from tests.auditor import audit
from tests.cases.ours import Ours
from tests.cluster.api import ApiClient, ApiError, wait_for
from tests.cluster.cluster import Cluster

Object = dict[str, Any]
OURS = "/apis/elasticgpu.io/v1alpha1"
DRA = "/apis/resource.k8s.io/v1"
CLASS = "shares"
WINDOW = 10.0
"""Seconds of quiet that are listened to."""
STAY = "trap 'exit 0' TERM; sleep 86400 & wait"


class Case:
    """A namespace and what happens in it."""

    def __init__(self, ours: Ours, namespace: str) -> None:
        self.ours = ours
        self.cluster: Cluster = ours.cluster
        self.api: ApiClient = ours.cluster.api
        self.namespace = namespace
        self.api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        account = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
        wait_for(lambda: self.api.exists(account), 20, "the namespace's ServiceAccount")

    # -- paths ------------------------------------------------------------------------------

    def pod_path(self, name: str = "") -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods" + (f"/{name}" if name else "")

    def claim_path(self, name: str = "") -> str:
        tail = f"/{name}" if name else ""
        return f"{OURS}/namespaces/{self.namespace}/elasticgpuclaims{tail}"

    def device_path(self, name: str) -> str:
        return f"{OURS}/elasticgpus/{name}"

    def resource_claim_path(self, resource_claim: Object) -> str:
        name = resource_claim["metadata"]["name"]
        return f"{DRA}/namespaces/{self.namespace}/resourceclaims/{name}"

    # -- manifests --------------------------------------------------------------------------

    def claim(
        self,
        name: str,
        core: int = 10,
        memory: str = "1Gi",
        *,
        node: str = "node-0",
        class_name: str = CLASS,
        **spec: Any,
    ) -> Object:
        """Create a claim, on this node's cards."""
        requests = {"elasticgpu.io/gpu-core": core, "elasticgpu.io/gpu-memory": memory}
        body: Object = {
            "apiVersion": "elasticgpu.io/v1alpha1",
            "kind": "ElasticGPUClaim",
            "metadata": {"name": name},
            "spec": {
                "elasticGPUClassName": class_name,
                "resources": {"requests": requests},
                **({"gpuSelector": {"nodeName": node}} if node else {}),
                **spec,
            },
        }
        return self.api.create(self.claim_path(), body)

    def pod(
        self,
        name: str,
        claims: Mapping[str, str],
        *,
        containers: Sequence[Object] = ({"name": "test"},),
        metadata: Mapping[str, Any] | None = None,
        **spec: Any,
    ) -> Object:
        """Create a pod; `claims` are the annotations: container name → claims."""
        return self.api.create(
            self.pod_path(), self.pod_manifest(name, claims, containers, metadata, **spec)
        )

    def pod_manifest(
        self,
        name: str,
        claims: Mapping[str, str],
        containers: Sequence[Object] = ({"name": "test"},),
        metadata: Mapping[str, Any] | None = None,
        **spec: Any,
    ) -> Object:
        annotations = {f"elasticgpu.io/egpuc-{c}": claim for c, claim in claims.items()}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": annotations, **(metadata or {})},
            "spec": {
                "terminationGracePeriodSeconds": 1,
                "containers": [container(**one) for one in containers],
                **spec,
            },
        }

    # -- waiting ----------------------------------------------------------------------------

    def running(self, name: str, timeout: float = 60) -> Object:
        """Wait until the pod runs with all containers ready; the pod."""

        def check() -> Object | None:
            pod = self.api.get(self.pod_path(name))
            ready = [c["ready"] for c in pod["status"].get("containerStatuses", [])]
            up = pod["status"]["phase"] == "Running" and ready and all(ready)
            assert up, (pod["status"], self.events(name))
            return pod

        return wait_for(check, timeout, f"pod {name} Running") or {}

    def bound(self, name: str, timeout: float = 30) -> Object:
        """Wait until the claim is Bound; the claim."""

        def check() -> Object | None:
            claim = self.api.get(self.claim_path(name))
            assert claim.get("status", {}).get("phase") == "Bound", claim
            return claim

        return wait_for(check, timeout, f"claim {name} Bound") or {}

    def phase(self, path: str) -> str:
        """`status.phase` of what is there; empty before anybody wrote one."""
        return str(self.api.get(path).get("status", {}).get("phase", ""))

    def device(self, claim: str) -> Object:
        """The device of a bound claim."""
        name = self.api.get(self.claim_path(claim))["spec"]["elasticGPUName"]
        return self.api.get(self.device_path(name))

    def told(self, name: str, words: str, timeout: float = 30) -> str:
        """Wait for an event on this object that contains these words; its message."""

        def check() -> str | None:
            notes = self.events(name)
            found = next((note for note in notes if words in note), None)
            assert found, notes
            return found

        return wait_for(check, timeout, f"an event on {name} that says {words!r}") or ""

    def events(self, name: str) -> list[str]:
        """Messages of the events on an object of this namespace."""
        items = self.api.list(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")
        return [e.get("note", "") for e in items if e.get("regarding", {}).get("name") == name]

    def users(self, claim: str) -> list[str]:
        """Names of the pods that hold the claim."""
        rows = self.api.get(self.claim_path(claim)).get("status", {}).get("users", [])
        return [row["podName"] for row in rows]

    def gone(self, path: str, timeout: float = 60) -> None:
        """Wait until nothing is there."""
        wait_for(lambda: not self.api.exists(path), timeout, f"{path} gone")

    def delete_pod(self, name: str) -> None:
        """Delete a pod and wait until it is gone."""
        self.api.delete(self.pod_path(name), grace=1)
        self.gone(self.pod_path(name))

    def resource_claims(self, pod: str) -> list[Object]:
        """The ResourceClaims made for a pod."""
        items = self.api.list(f"{DRA}/namespaces/{self.namespace}/resourceclaims")
        return [
            rc
            for rc in items
            if any(o["name"] == pod for o in rc["metadata"].get("ownerReferences", []))
        ]

    def allocated(self, pod: str, timeout: float = 30) -> Object:
        """Wait until the pod's ResourceClaim has its allocation; the ResourceClaim."""

        def check() -> Object | None:
            found = [rc for rc in self.resource_claims(pod) if rc["status"].get("allocation")]
            assert found, self.resource_claims(pod)
            return found[0]

        return wait_for(check, timeout, f"pod {pod} allocated") or {}

    def env(self, pod: str, container_name: str = "test") -> dict[str, str]:
        """Environment of the container's first process, as the kernel has it."""
        text = self.cluster.kubectl(
            "exec", "-n", self.namespace, pod, "-c", container_name, "--", "cat", "/proc/1/environ"
        )
        return dict(item.split("=", 1) for item in text.split("\0") if "=" in item)

    # -- the end ----------------------------------------------------------------------------

    def settled(self) -> None:
        """Wait until the auditor has nothing to say."""

        def check() -> bool:
            findings = audit(self.api.list, self.cluster.cdi_dir)
            assert not findings, findings
            return True

        wait_for(check, 30, "a world the auditor has nothing to say about")

    def remove(self) -> None:
        """Delete all that is in the namespace; the empty one goes with the cluster, for emptying
        it costs some forty writes that would not be quiet."""
        for path in (self.pod_path(), self.claim_path()):
            for obj in self.api.list(path):
                try:
                    self.api.delete(f"{path}/{obj['metadata']['name']}", grace=1)
                except ApiError as error:
                    if error.status != 404:
                        raise
        for path in (self.pod_path(), self.claim_path()):
            wait_for(lambda path=path: not self.api.list(path), 60, f"{path} empty")  # type: ignore[misc]
        wait_for(self._no_devices, 30, "all devices of the case gone")

    def _no_devices(self) -> bool:
        left = [
            d["metadata"]["name"]
            for d in self.api.list(f"{OURS}/elasticgpus")
            if (d["spec"].get("claimRef") or {}).get("namespace") == self.namespace
            and d["spec"]["reclaimPolicy"] == "Delete"
        ]
        assert not left, left
        return True


def container(name: str, command: str | None = STAY, **more: Any) -> Object:
    """A busybox container; without a command it does what the image does by itself."""
    run = {} if command is None else {"command": ["sh", "-c", command]}
    return {
        "name": name,
        "image": "localhost/busybox:1",
        "imagePullPolicy": "Never",
        **run,
        **more,
    }


def assert_quiet(cluster: Cluster) -> None:
    """Fewer than ten writes in ten seconds, leases not counted, by the server's own metrics."""
    before = writes(cluster)
    time.sleep(WINDOW)
    after = writes(cluster)
    new = {what: count - before.get(what, 0) for what, count in after.items()}
    loud = {what: count for what, count in new.items() if count > 0}
    assert sum(loud.values()) < 10, f"not quiet: {loud}"


def writes(cluster: Cluster) -> dict[str, int]:
    """Writing requests so far by verb, resource and subresource."""
    counted: dict[str, int] = {}
    for request, count in cluster.api.metrics().items():
        writing = request.verb in {"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}
        if writing and request.resource not in ("leases", "tokenreviews", "subjectaccessreviews"):
            name = f"{request.verb} {request.resource}/{request.subresource}"
            counted[name] = counted.get(name, 0) + count
    return counted
