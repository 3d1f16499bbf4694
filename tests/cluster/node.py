"""The real node: what it needs of the machine, and how its kubelet is started.

Everything that can be moved lies in the scratch folder. Fixed are the kubelet's
`/var/lib/kubelet/device-plugins` and `/var/log/containers`: hence one kubelet a machine.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path

from tests.cluster.network import POD_BRIDGE
from tests.cluster.process import Process
from tests.cluster.runtime import accepts
from tests.cluster.scratch import Busy, acquire, base
from tests.cluster.site import NODE, NODE_ADDRESS, Site

_REMINDER = 15.0
_DEVICE_PLUGINS = "/var/lib/kubelet/device-plugins"
_FIXED = (
    "/var/lib/kubelet",
    f"{_DEVICE_PLUGINS}/kubelet_internal_checkpoint",
    "/var/log/containers",
    "/var/lib/cni",
)


def claim_machine(patience: float, say: Callable[[str], None]) -> int:
    """Take the one place for a kubelet on this machine; `Busy` if it is not free in time."""
    base().mkdir(parents=True, exist_ok=True)
    deadline, spoken = time.monotonic() + patience, -_REMINDER
    while True:
        try:
            return acquire(base() / "node.lock")
        except Busy as busy:
            now = time.monotonic()
            if now > deadline:
                raise
            if now - spoken >= _REMINDER:
                say(f"another cluster with a node runs on this machine; waiting ({busy})")
                spoken = now
            time.sleep(0.2)


def cgroup_name(site: Site) -> str:
    """The cgroup below which all containers of this cluster run."""
    return f"elasticgpu-{site.root.name}"


def prepare(site: Site) -> None:
    """Folders and the cgroup that the node needs; what lies outside the scratch is recorded."""
    if accepts(Path(_DEVICE_PLUGINS) / "kubelet.sock"):
        raise Busy(f"a kubelet that is not of a test cluster serves {_DEVICE_PLUGINS}")
    site.scratch.state.paths = [path for path in _FIXED if not Path(path).exists()]
    site.scratch.state.paths.append(f"/var/lib/cni/results/{POD_BRIDGE}-*")
    site.scratch.state.cgroups = [cgroup_name(site)]
    site.scratch.save()
    for name in ("cdi", "cni", "kubelet", "s", "volume-plugins"):
        site.scratch.folder(name)
    for hierarchy in _hierarchies():
        (hierarchy / cgroup_name(site)).mkdir(exist_ok=True)


def kubelet(site: Site, binary: Path) -> Process:
    """The kubelet of `node-0`, known to the API server as `system:node:node-0`."""
    kubeconfig = site.kubeconfig("kubelet", f"system:node:{NODE}", ["system:nodes"])
    config = site.file("kubelet.json", json.dumps(_kubelet_config(site), indent=1))
    argv: list[Path | str] = [
        binary,
        f"--config={config}",
        f"--kubeconfig={kubeconfig}",
        f"--root-dir={site.root / 'kubelet'}",
        f"--cert-dir={site.root / 'pki'}",
        f"--hostname-override={NODE}",
        f"--node-ip={NODE_ADDRESS}",
    ]
    log = site.scratch.folder("logs") / "kubelet.log"
    return Process("kubelet", argv, log=log, on_start=site.scratch.process)


def _kubelet_config(site: Site) -> dict[str, object]:
    certificate, key = site.pair("kubelet", f"system:node:{NODE}", hosts=[NODE, NODE_ADDRESS])
    gates = {"featureGates": dict(site.feature_gates)} if site.feature_gates else {}
    return gates | {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": NODE_ADDRESS,
        "port": site.port("kubelet"),
        "readOnlyPort": 0,
        "healthzBindAddress": "127.0.0.1",
        "healthzPort": site.port("kubelet-health"),
        "tlsCertFile": str(certificate),
        "tlsPrivateKeyFile": str(key),
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True, "cacheTTL": "10s"},
            "x509": {"clientCAFile": str(site.root / "pki" / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": f"unix://{site.root}/containerd.sock",
        "podLogsDir": str(site.root / "pod-logs"),
        "volumePluginDir": str(site.root / "volume-plugins"),
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cgroup_name(site)}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "localStorageCapacityIsolation": False,
        "enforceNodeAllocatable": [],
        "makeIPTablesUtilChains": False,
        "evictionHard": {
            "memory.available": "1%",
            "nodefs.available": "1%",
            "imagefs.available": "1%",
        },
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "maxPods": 110,
        # Quicker than a production kubelet: a test should not wait for a timer.
        "syncFrequency": "5s",
        "nodeStatusUpdateFrequency": "2s",
        "nodeStatusReportFrequency": "1m",
        "fileCheckFrequency": "5s",
        "volumeStatsAggPeriod": "-1s",
        "runtimeRequestTimeout": "30s",
        "registryPullQPS": 0,
        "eventRecordQPS": 0,
        "kubeAPIQPS": 200,
        "kubeAPIBurst": 400,
        "shutdownGracePeriod": "0s",
    }


def _hierarchies() -> list[Path]:
    """The mounted cgroup hierarchies: one for v2, one a controller for v1."""
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return [Path(line.split()[1]) for line in lines if line.split()[2] in ("cgroup", "cgroup2")]
