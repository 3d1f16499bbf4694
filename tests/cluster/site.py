"""Where one cluster lives: its folder, addresses, ports and credentials."""

import base64
import json
import secrets
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.certs import Authority, Credential, signing_pair
from tests.cluster.scratch import Scratch

# 198.18.0.0/15 is set aside for bench tests (RFC 2544): no real network uses it.
NODE_ADDRESS = "198.18.0.1"
SERVICE_ADDRESS = "198.18.1.1"
SERVICE_RANGE = "198.18.1.0/24"
POD_RANGE = "198.18.2.0/24"
NODE = "node-0"


@dataclass
class Site:
    """The facts that the components of one cluster share."""

    scratch: Scratch
    with_node: bool
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    api_server_args: Sequence[str] = ()
    authority: Authority = field(default_factory=Authority)
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    ports: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Write what every component reads."""
        self.file("pki/ca.crt", self.authority.credential.certificate)
        self.file("pki/ca.key", self.authority.credential.key, private=True)
        private, public = signing_pair()
        self.file("pki/sa.key", private, private=True)
        self.file("pki/sa.pub", public)
        self.file("pki/tokens.csv", f"{self.token},admin,admin,system:masters\n", private=True)
        self.kubeconfig("admin")

    @property
    def root(self) -> Path:
        """The scratch folder."""
        return self.scratch.path

    @property
    def address(self) -> str:
        """Where the API server listens.

        With a node it is the cluster address of the `kubernetes` Service, put on a bridge of ours:
        containers reach it as in any cluster, though no kube-proxy runs.
        """
        return SERVICE_ADDRESS if self.with_node else "127.0.0.1"

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return f"https://{self.address}:{self.port('kube-apiserver')}"

    def port(self, name: str) -> int:
        """A port of that name's own, free when first asked for."""
        if name not in self.ports:
            is_service = self.with_node and name == "kube-apiserver"
            self.ports[name] = 443 if is_service else _free_port()
        return self.ports[name]

    def file(self, name: str, text: str, *, private: bool = False) -> Path:
        """A file in the scratch folder."""
        return self.scratch.file(name, text, private=private)

    def pair(
        self, name: str, user: str, *, groups: Sequence[str] = (), hosts: Sequence[str] = ()
    ) -> tuple[Path, Path]:
        """Certificate and key files for that user."""
        credential = self.authority.issue(user, groups=groups, hosts=hosts)
        return self._store(name, credential)

    def kubeconfig(self, name: str, user: str | None = None, groups: Sequence[str] = ()) -> Path:
        """A self-contained kubeconfig: by client certificate, for the admin by token."""
        if user is None:
            identity = {"token": self.token}
        else:
            credential = self.authority.issue(user, groups=groups)
            identity = {
                "client-certificate-data": _base64(credential.certificate),
                "client-key-data": _base64(credential.key),
            }
        text = json.dumps(self._config(name, identity), indent=1)
        return self.file(f"{name}.kubeconfig", text, private=True)

    def _config(self, name: str, identity: Mapping[str, str]) -> dict[str, object]:
        ca = _base64(self.authority.credential.certificate)
        cluster = {"server": self.server, "certificate-authority-data": ca}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": name, "user": identity}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
            "current-context": "test",
        }

    def _store(self, name: str, credential: Credential) -> tuple[Path, Path]:
        return (
            self.file(f"pki/{name}.crt", credential.certificate),
            self.file(f"pki/{name}.key", credential.key, private=True),
        )


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
