"""How the steps of the script are done, and told."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from elasticgpu.api.core import Pod
from elasticgpu.api.meta import KubeObject
from elasticgpu.api.schema import KINDS
from elasticgpu.cluster.client import Client
from elasticgpu.errors import ApiError

from .expecting import Expected
from .following import Follower
from .screen import Screen
from .script import Apply, Delete, Refuse, Step

HERE = Path(str(files(__package__ or "")))
"""The folder of fleet and manifests."""
PATIENCE = 30.0
"""Seconds for what has to come of one step."""
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KINDS: tuple[type[KubeObject], ...] = (*KINDS, Pod)
_RESOURCES = {kind.resource.kind: kind.resource for kind in _KINDS}


class Steps:
    """Does one after the other, as a person with kubectl would."""

    def __init__(self, screen: Screen, client: Client, follower: Follower) -> None:
        self._screen = screen
        self._client = client
        self._follower = follower

    async def do(self, step: Step) -> list[str]:
        """Do one step; what did not come of it."""
        await self._screen.rest()
        self._screen.title(step.title)
        match step:
            case Apply(manifest=manifest, expected=expected):
                await self._apply(manifest)
                return await self._await(expected)
            case Delete(pod=pod, expected=expected):
                self._screen.line(f"$ kubectl delete pod {pod}")
                await self._client.raw("DELETE", Pod.resource.path("default", pod))
                return await self._await(expected)
            case Refuse(manifest=manifest, saying=saying):
                return await self._refused(manifest, saying)

    async def _await(self, expected: Iterable[Expected]) -> list[str]:
        missing = await self._follower.missing(expected, PATIENCE)
        for one in missing:
            self._screen.line(f"  missing: {one}")
        return missing

    async def _apply(self, manifest: str) -> None:
        """Create what the manifest holds, as kubectl does."""
        self._screen.line(f"$ kubectl apply -f {manifest}")
        for body in yaml.safe_load_all((HERE / "manifests" / manifest).read_text("utf-8")):
            resource = _RESOURCES[body["kind"]]
            namespace = "default" if resource.namespaced else ""
            made = _applied(body, namespace)
            await self._client.raw("POST", resource.path(namespace), body=made)
            group = f".{resource.group}" if resource.group else ""
            name = f"{resource.kind.lower()}{group}/{body['metadata']['name']}"
            self._screen.line(f"{name} created")

    async def _refused(self, manifest: str, saying: str) -> list[str]:
        try:
            await self._apply(manifest)
        except ApiError as error:
            self._screen.line(f"The API server refuses it: {error.message}")
            return [] if saying in error.message else [f"a refusal saying “{saying}”"]
        return [f"a refusal of {manifest}"]


def _applied(body: dict[str, Any], namespace: str) -> dict[str, Any]:
    """The object as `kubectl apply` makes it, so that it can be applied again."""
    home = {"namespace": namespace} if namespace else {}
    meta = {"annotations": {}, **body["metadata"], **home}
    last = json.dumps({**body, "metadata": meta}, separators=(",", ":"), sort_keys=True)
    notes = {**meta["annotations"], LAST_APPLIED: f"{last}\n"}
    return {**body, "metadata": {**meta, "annotations": notes}}
