"""etcd, kube-apiserver, kube-controller-manager and kube-scheduler: how each is started.

Controller manager and scheduler come with the user names and RBAC of a real cluster, not as admin.
"""

import http.client
import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cluster.process import Process
from tests.cluster.site import NODE_ADDRESS, SERVICE_ADDRESS, SERVICE_RANGE, Site

_API_SERVER_HOSTS = (
    "127.0.0.1",
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "10.0.0.1",
    SERVICE_ADDRESS,
)


def etcd(site: Site, binary: Path) -> Process:
    """The store; it never syncs its files, as only a machine's crash would lose them."""
    client, peer = (f"http://127.0.0.1:{site.port(name)}" for name in ("etcd", "etcd-peer"))
    flags = {
        "name": "test",
        "data-dir": site.root / "etcd",
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"test={peer}",
        "unsafe-no-fsync": "true",
        "log-level": "warn",
    }
    return _process(site, "etcd", binary, flags)


def api_server(site: Site, binary: Path) -> Process:
    """The API server with Node and RBAC authorization and the NodeRestriction admission plugin."""
    pki = site.root / "pki"
    certificate, key = site.pair("kube-apiserver", "kube-apiserver", hosts=_API_SERVER_HOSTS)
    kubelet_certificate, kubelet_key = site.pair(
        "kube-apiserver-kubelet-client", "kube-apiserver-kubelet-client", groups=["system:masters"]
    )
    flags = {
        "etcd-servers": f"http://127.0.0.1:{site.port('etcd')}",
        "bind-address": site.address,
        "advertise-address": NODE_ADDRESS,
        "secure-port": site.port("kube-apiserver"),
        "tls-cert-file": certificate,
        "tls-private-key-file": key,
        "client-ca-file": pki / "ca.crt",
        "token-auth-file": pki / "tokens.csv",
        "service-account-key-file": pki / "sa.pub",
        "service-account-signing-key-file": pki / "sa.key",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-cluster-ip-range": SERVICE_RANGE,
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "allow-privileged": "true",
        # Webhooks behind a Service are called at their pods' addresses: no kube-proxy needed.
        "enable-aggregator-routing": "true",
        "kubelet-preferred-address-types": "InternalIP",
        "kubelet-certificate-authority": pki / "ca.crt",
        "kubelet-client-certificate": kubelet_certificate,
        "kubelet-client-key": kubelet_key,
        "profiling": "false",
    }
    return _process(site, "kube-apiserver", binary, flags, *site.api_server_args)


def controller_manager(site: Site, binary: Path, *more: str) -> Process:
    """The controllers, each under its own ServiceAccount; `more` flags have the last word."""
    pki = site.root / "pki"
    flags = _serving(site, "kube-controller-manager") | {
        "use-service-account-credentials": "true",
        "root-ca-file": pki / "ca.crt",
        "service-account-private-key-file": pki / "sa.key",
        "cluster-signing-cert-file": pki / "ca.crt",
        "cluster-signing-key-file": pki / "ca.key",
        "node-monitor-period": "1s",  # a node's first Ready counts at once, not after 5 s
        "flex-volume-plugin-dir": site.root / "volume-plugins",
        "kube-api-qps": "200",
        "kube-api-burst": "400",
    }
    return _process(site, "kube-controller-manager", binary, flags, *more)


def scheduler(site: Site, binary: Path, config: Mapping[str, Any] | None = None) -> Process:
    """The scheduler; `config` is merged into its KubeSchedulerConfiguration."""
    serving = _serving(site, "kube-scheduler")
    connection = {"kubeconfig": str(serving.pop("kubeconfig")), "qps": 200, "burst": 400}
    body = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": connection,
    } | dict(config or {})
    serving.pop("leader-elect")
    serving["config"] = site.file("kube-scheduler.json", json.dumps(body))
    return _process(site, "kube-scheduler", binary, serving)


def healthy(site: Site, name: str) -> bool:
    """Whether that component of the control plane says that it is ready."""
    if name == "etcd":
        return answers(f"127.0.0.1:{site.port(name)}", "/health", None)
    path = "/healthz" if name == "kube-controller-manager" else "/readyz"
    tls = ssl.create_default_context(cafile=str(site.root / "pki" / "ca.crt"))
    host = site.address if name == "kube-apiserver" else "127.0.0.1"
    return answers(f"{host}:{site.port(name)}", path, tls)


def answers(address: str, path: str, tls: ssl.SSLContext | None) -> bool:
    """Whether a GET there is answered by 200."""
    connection = (
        http.client.HTTPSConnection(address, timeout=5, context=tls)
        if tls
        else http.client.HTTPConnection(address, timeout=5)
    )
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _serving(site: Site, name: str) -> dict[str, object]:
    certificate, key = site.pair(name, name, hosts=["127.0.0.1", "localhost"])
    config = site.kubeconfig(name, f"system:{name}")
    return {
        "kubeconfig": config,
        "authentication-kubeconfig": config,
        "authorization-kubeconfig": config,
        "leader-elect": "false",
        "bind-address": "127.0.0.1",
        "secure-port": site.port(name),
        "tls-cert-file": certificate,
        "tls-private-key-file": key,
    }


def _process(
    site: Site, name: str, binary: Path, flags: Mapping[str, object], *more: str
) -> Process:
    words = [f"--{flag}={value}" for flag, value in flags.items()]
    if site.feature_gates and name != "etcd":
        gates = ",".join(f"{gate}={str(on).lower()}" for gate, on in site.feature_gates.items())
        words.append(f"--feature-gates={gates}")
    log = site.scratch.folder("logs") / f"{name}.log"
    return Process(name, [binary, *words, *more], log=log, on_start=site.scratch.process)
