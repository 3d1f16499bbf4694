"""Sets the scene of the CLI's tests on a real API server, and clears it away."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.api import ApiClient, ApiError, wait_for
from tests.cluster.cluster import Cluster

Object = dict[str, Any]
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OURS = "/apis/elasticgpu.io/v1alpha1"
NAMESPACED = {
    "ElasticGPUClaim": (OURS, "elasticgpuclaims"),
    "ElasticGPUClaimTemplate": (OURS, "elasticgpuclaimtemplates"),
    "Pod": ("/api/v1", "pods"),
    "Event": ("/apis/events.k8s.io/v1", "events"),
}
CLUSTER = {
    "GPU": f"{OURS}/gpus",
    "ElasticGPU": f"{OURS}/elasticgpus",
    "ElasticGPUClass": f"{OURS}/elasticgpuclasses",
}


class Scene:
    """The objects of `scene.yaml`; `later` is the time at which all ages are a hundred days."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.api: ApiClient = cluster.api
        began = datetime.now(UTC)
        self.now = _stamp(began)
        self.later = _stamp(began + timedelta(days=100, hours=12))
        self.uids: dict[str, str] = {}

    def set(self) -> None:
        """Install the kinds, clear what others left, create everything."""
        self.cluster.kubectl("apply", "--server-side", "-f", str(ROOT / "crds"))
        wait_for(self._served, 60, "our kinds served")
        self.clear()
        for namespace in ("team", "other", "empty"):
            body = {"metadata": {"name": namespace}}
            if not self.api.exists(f"/api/v1/namespaces/{namespace}"):
                self.api.create("/api/v1/namespaces", body)
            account = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
            wait_for(lambda path=account: self.api.exists(path), 60, "a ServiceAccount")  # type: ignore[misc]
        for obj in yaml.safe_load_all((HERE / "scene.yaml").read_text()):
            self.put(obj)

    def put(self, obj: Object) -> Object:
        """Create the object, or only its status if it is there; placeholders filled in."""
        obj = yaml.safe_load(self._filled(yaml.safe_dump(obj)))
        status = obj.pop("status", None)
        path = self.path(obj["kind"], obj["metadata"]["name"], obj["metadata"].get("namespace", ""))
        if "spec" in obj or obj["kind"] == "Event":
            made = self.api.create(path.rpartition("/")[0], obj)
            self.uids[f"{obj['kind']}/{obj['metadata']['name']}"] = made["metadata"]["uid"]
        if status:
            self.api.patch(f"{path}/status", {"status": status})
        return self.api.get(path)

    def path(self, kind: str, name: str, namespace: str = "") -> str:
        """Where an object is served."""
        if kind in CLUSTER:
            return f"{CLUSTER[kind]}/{name}"
        root, plural = NAMESPACED[kind]
        return f"{root}/namespaces/{namespace}/{plural}/{name}"

    def clear(self) -> None:
        """Remove all of our kinds and the scene's pods, whoever made them and keeps them."""
        for collection in CLUSTER.values():
            self._remove(collection)
        for root, plural in NAMESPACED.values():
            if root == OURS:
                self._remove(f"{root}/{plural}")
        for name in ("trainer", "next", "starved", "both"):
            self.remove(f"/api/v1/namespaces/team/pods/{name}")
        for name in ("starved.1", "starved.2"):
            self.remove(f"/apis/events.k8s.io/v1/namespaces/team/events/{name}")

    def _remove(self, collection: str) -> None:
        root, _, plural = collection.rpartition("/")
        for item in self.api.list(collection):
            meta = item["metadata"]
            where = f"{root}/namespaces/{meta['namespace']}" if "namespace" in meta else root
            path = f"{where}/{plural}/{meta['name']}"
            self.remove(path)

    def remove(self, path: str) -> None:
        """Delete what is there, whatever would keep it."""
        try:
            if self.api.get(path)["metadata"].get("finalizers"):
                self.api.patch(path, {"metadata": {"finalizers": None}})
            self.api.delete(path, grace=0)
        except ApiError as error:
            if error.status != 404:
                raise

    def _filled(self, text: str) -> str:
        text = text.replace("$now", f"'{self.now}'")
        text = text.replace("$micro", f"'{self.now.replace('Z', '.000000Z')}'")
        return re.sub(r"\$uid:([A-Za-z]+/[a-z0-9-]+)", lambda m: self.uids[m[1]], text)

    def _served(self) -> bool:
        ours = [f"{OURS}/{plural}" for root, plural in NAMESPACED.values() if root == OURS]
        return all(self.api.list(path) is not None for path in (*CLUSTER.values(), *ours))


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
