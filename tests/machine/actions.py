"""What people, admins and machines do, each as one call that is done or refused, as ever."""

from __future__ import annotations

from typing import Any

from elasticgpu.errors import ApiError
from tests.auditor import at

from .town import DEVICES, OURS, PODS, Object, Town

SPACE = "default"
VERSION = "elasticgpu.io/v1alpha1"
CLASSES: dict[str, Object] = {
    "shares": {},
    "kept": {"reclaimPolicy": "Retain"},
    "waits": {"eGPUBindingMode": "WaitForFirstConsumer"},
    "spread": {"placement": {"node": "spread", "card": "spread"}},
}
DEFAULT = "elasticgpu.io/is-default-class"
CLAIM_PATH = f"{OURS}/namespaces/{SPACE}/elasticgpuclaims"
TEMPLATE_PATH = f"{OURS}/namespaces/{SPACE}/elasticgpuclaimtemplates"
POD_PATH = f"/api/v1/namespaces/{SPACE}/pods"
TAINT = {"key": "node.kubernetes.io/out-of-service", "value": "off", "effect": "NoExecute"}


class People:
    """Everybody but the processes themselves. What the API server refuses is not done."""

    def __init__(self, town: Town) -> None:
        self.town = town

    async def ask(self, method: str, path: str, body: Any = None) -> Object:
        """One request; nothing where it is refused."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        try:
            found: Object = await self.town.admin.raw(method, path, body=body, content_type=kind)
        except ApiError:
            return {}
        return found

    # -- users -----------------------------------------------------------------------------------

    async def claim(self, name: str, spec: Object) -> None:
        head = {"apiVersion": VERSION, "kind": "ElasticGPUClaim", "metadata": {"name": name}}
        await self.ask("POST", CLAIM_PATH, {**head, "spec": spec})

    async def template(self, name: str, spec: Object) -> None:
        head = {"apiVersion": VERSION, "kind": "ElasticGPUClaimTemplate"}
        body = {**head, "metadata": {"name": name}, "spec": {"spec": spec}}
        await self.ask("POST", TEMPLATE_PATH, body)

    async def pod(self, name: str, claims: list[str], template: str = "", node: str = "") -> None:
        notes = {"elasticgpu.io/egpuc-main": ",".join(claims)} if claims else {}
        if template:
            notes["elasticgpu.io/egpuct-main"] = template
        meta = {"name": name, "annotations": notes}
        spec: Object = {"containers": [{"name": "main", "image": "busybox"}]}
        if node:
            spec["nodeSelector"] = {"kubernetes.io/hostname": node}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        await self.ask("POST", POD_PATH, body)

    async def delete(self, path: str, grace: int | None = None) -> None:
        options = {} if grace is None else {"gracePeriodSeconds": grace}
        await self.ask("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions", **options})

    async def end_pod(self, name: str, phase: str) -> None:
        """The containers of a pod end by themselves."""
        pod = self.town.see(f"{POD_PATH}/{name}")
        if at(pod, "status.phase") == "Running" and self._machine_lives(pod):
            await self.ask("PATCH", f"{POD_PATH}/{name}/status", {"status": {"phase": phase}})

    def _machine_lives(self, pod: Object) -> bool:
        machine = self.town.nodes.get(at(pod, "spec.nodeName"))
        return machine is not None and machine.running and not machine.kubelet.cut

    # -- admins ----------------------------------------------------------------------------------

    async def make_class(self, name: str, default: bool = False) -> None:
        meta = {"name": name, "annotations": {DEFAULT: "true"} if default else {}}
        head = {"apiVersion": VERSION, "kind": "ElasticGPUClass", "metadata": meta}
        spec = {"provisioner": "elasticgpu.io/qgpu", **CLASSES[name]}
        await self.ask("POST", f"{OURS}/elasticgpuclasses", {**head, "spec": spec})

    async def flip_default(self, name: str) -> None:
        path = f"{OURS}/elasticgpuclasses/{name}"
        now = at(self.town.see(path), "metadata.annotations", {}).get(DEFAULT) == "true"
        body = {"metadata": {"annotations": {DEFAULT: None if now else "true"}}}
        await self.ask("PATCH", path, body)

    async def device(self, name: str, card: Object, core: int, of: str, claim: str) -> None:
        """A device made ahead, perhaps reserved for a claim."""
        part = {"gpu": at(card, "metadata.name"), "core": core, "memory": f"{core // 10}Gi"}
        spec: Object = {
            "capacity": {
                "elasticgpu.io/gpu-core": str(core),
                "elasticgpu.io/gpu-memory": part["memory"],
            },
            "elasticGPUClassName": of,
            "reclaimPolicy": "Retain",
            "nodeName": at(card, "spec.nodeName"),
            "source": {"driver": "elasticgpu.io/qgpu", "devices": [part]},
        }
        if claim:
            spec["claimRef"] = {"namespace": SPACE, "name": claim}
        head = {"apiVersion": VERSION, "kind": "ElasticGPU", "metadata": {"name": name}}
        await self.ask("POST", f"{OURS}/elasticgpus", {**head, "spec": spec})

    async def clear(self, device: str) -> None:
        """Take a device from its claim."""
        await self.ask("PATCH", f"{OURS}/elasticgpus/{device}", {"spec": {"claimRef": None}})

    # -- machines --------------------------------------------------------------------------------

    async def off(self, name: str) -> None:
        """A machine loses power; its node is not heard of any more."""
        self.town.nodes[name].off()
        await self._unheard(name)

    async def _unheard(self, name: str) -> None:
        if self.town.see(f"/api/v1/nodes/{name}"):
            await self.town.ready(name, False)

    async def cut(self, name: str) -> None:
        """A machine's network fails; what runs on it runs on."""
        self.town.nodes[name].cut(True)
        await self._unheard(name)

    async def out_of_service(self, name: str) -> None:
        """An admin says of a machine without power that it stays off; its pods are forced off it,
        as Kubernetes does then."""
        await self.ask("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": [TAINT]}})
        await self._force_off(name)

    async def _force_off(self, name: str) -> None:
        for pod in self.town.all(PODS):
            if at(pod, "spec.nodeName") == name:
                await self.delete(f"{POD_PATH}/{at(pod, 'metadata.name')}", grace=0)

    async def drop_node(self, name: str) -> None:
        """The node of a machine without power is deleted; its pods go with it."""
        await self.delete(f"/api/v1/nodes/{name}")
        await self._force_off(name)

    async def back(self, name: str) -> None:
        """The machine is on and heard of, and nobody says otherwise."""
        machine = self.town.nodes[name]
        machine.cut(False)
        if not machine.running:
            for pod in self.town.all(PODS):
                if at(pod, "spec.nodeName") == name and at(pod, "status.phase") == "Running":
                    path = f"{POD_PATH}/{at(pod, 'metadata.name')}/status"
                    await self.ask("PATCH", path, {"status": {"phase": "Pending"}})
            machine.boot()
        if not self.town.see(f"/api/v1/nodes/{name}"):
            await self.town.make_node(name)
        await self.town.ready(name, True)
        await self.ask("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": None}})

    async def cordon(self, name: str, yes: bool) -> None:
        await self.ask("PATCH", f"/api/v1/nodes/{name}", {"spec": {"unschedulable": yes}})

    # -- the end ---------------------------------------------------------------------------------

    async def mend(self) -> None:
        """All faults stop, everything runs."""
        self.town.server.faults.clear()
        for process in self.town.processes():
            process.fuse, process.cut = None, False
            process.slow.clear()
        for name, machine in self.town.nodes.items():
            machine.cards.out.clear()
            machine.cards.ill.clear()
            await self.back(name)
            await self.cordon(name, False)
        for process in self.town.processes():
            process.start()

    async def empty(self) -> None:
        """Users delete all that is theirs."""
        for path in (POD_PATH, TEMPLATE_PATH, CLAIM_PATH):
            for obj in self.town.read(path):
                await self.delete(f"{path}/{at(obj, 'metadata.name')}")

    def names(self, table: str = DEVICES) -> list[str]:
        """The names of all objects of a kind, in order."""
        return sorted(at(one, "metadata.name") for one in self.town.all(table))
