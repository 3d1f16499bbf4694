"""What a test uses of a running cluster: addresses, files, clients, kubectl, versions."""

import http.client
import os
import re
import shutil
import ssl
import subprocess
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from tests.cluster import binaries
from tests.cluster.api import ApiClient
from tests.cluster.site import NODE, Site

_BUILD = re.compile(r'^kubernetes_build_info\{.*git_version="([^"]+)"', re.MULTILINE)


class Access:
    """A cluster seen from outside; `cluster.Cluster` starts and stops it."""

    site: Site
    api: ApiClient

    def __init__(self) -> None:
        self._clients: list[ApiClient] = []

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return self.site.server

    @property
    def ca_file(self) -> Path:
        """The authority that signed every certificate here."""
        return self.site.root / "pki" / "ca.crt"

    @property
    def token(self) -> str:
        """A bearer token of the admin."""
        return self.site.token

    @property
    def kubeconfig(self) -> Path:
        """The admin's kubeconfig."""
        return self.site.root / "admin.kubeconfig"

    @property
    def cdi_dir(self) -> Path:
        """Where containerd looks for CDI specifications."""
        return self.site.root / "cdi"

    @property
    def kubelet_dir(self) -> Path:
        """The kubelet's root folder, with `plugins` and `plugins_registry`."""
        return self.site.root / "kubelet"

    @property
    def logs_dir(self) -> Path:
        """The components' logs, one file each."""
        return self.site.root / "logs"

    def save_logs(self, folder: Path) -> Path:
        """Copy the logs into that folder, for they go with the cluster."""
        return Path(shutil.copytree(self.logs_dir, folder, dirs_exist_ok=True))

    def client(self, token: str) -> ApiClient:
        """A client with another identity, such as a ServiceAccount's token; closed at the end."""
        self._clients.append(ApiClient(self.server, ca_file=self.ca_file, token=token))
        return self._clients[-1]

    def close_clients(self) -> None:
        """Close the connections of every client made here."""
        while self._clients:
            self._clients.pop().close()

    def kubectl(
        self, *args: str, input: str | None = None, check: bool = True, timeout: float = 30
    ) -> str:
        """Run kubectl as admin; its standard output, or with `check=False` both outputs."""
        return self._tool("kubectl", args, input, check, timeout)

    def helm(
        self, *args: str, input: str | None = None, check: bool = True, timeout: float = 120
    ) -> str:
        """Run helm as admin, likewise."""
        return self._tool("helm", args, input, check, timeout)

    def load_image(self, archive: Path) -> None:
        """Import an image tar into the node's runtime."""
        words = ("--address", str(self.site.root / "containerd.sock"), "--namespace", "k8s.io")
        self._tool("ctr", [*words, "image", "import", "--local", str(archive)], None, True, 120)

    def node_ready(self, name: str) -> bool:
        """Whether that node is Ready and free of the not-ready taint."""
        found = self.api.get(f"/api/v1/nodes/{name}")
        conditions = found["status"].get("conditions", [])
        ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
        return ready and not found["spec"].get("taints")

    def lease_renewed(self, name: str, since: float) -> bool:
        """Whether that node has renewed its lease since then (seconds since the epoch)."""
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        renewed = self.api.get(f"{path}/{name}")["spec"]["renewTime"]
        return datetime.fromisoformat(renewed).timestamp() > since

    def versions(self) -> dict[str, str]:
        """Each component's version, asked from the running thing."""
        found = {
            "etcd": self._etcd_version(),
            "kube-apiserver": self.api.get("/version")["gitVersion"],
        }
        for name in ("kube-controller-manager", "kube-scheduler"):
            found[name] = self._build_version(name)
        if self.site.with_node:
            info = self.api.get(f"/api/v1/nodes/{NODE}")["status"]["nodeInfo"]
            found["kubelet"] = info["kubeletVersion"]
            found["containerd"] = info["containerRuntimeVersion"].removeprefix("containerd://")
            found["kernel"] = info["kernelVersion"]
        return found

    def _etcd_version(self) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self.site.port("etcd"), timeout=10)
        try:
            connection.request("GET", "/version")
            match = re.search(rb'"etcdserver":"([^"]+)"', connection.getresponse().read())
            return match[1].decode() if match else "unknown"
        finally:
            connection.close()

    def _build_version(self, name: str) -> str:
        tls = ssl.create_default_context(cafile=str(self.ca_file))
        port = self.site.port(name)
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=tls)
        try:
            connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {self.token}"})
            match = _BUILD.search(connection.getresponse().read().decode())
            return match[1] if match else "unknown"
        finally:
            connection.close()

    def _tool(
        self, name: str, args: Sequence[str], text: str | None, check: bool, timeout: float
    ) -> str:
        home = str(self.site.scratch.folder("home"))
        done = subprocess.run(
            [binaries.find(name), *args],
            input=text,
            env=os.environ | {"KUBECONFIG": str(self.kubeconfig), "HOME": home},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if check and done.returncode:
            words = " ".join([name, *args])
            raise RuntimeError(f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout if check else done.stdout + done.stderr
