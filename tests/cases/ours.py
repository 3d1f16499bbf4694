"""elasticgpu on the test cluster: the chart installed, controller and agents as processes.

Every process runs with the token of the chart's ServiceAccount, the agents' bound to their node,
never as admin.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

from tests.cases.standins import StandIns
from tests.cluster.api import wait_for
from tests.cluster.cluster import Cluster
from tests.cluster.process import Process

HERE = Path(__file__).parent
CHART = HERE.parents[1] / "helm" / "elasticgpu"
FLEET = HERE / "fleet.yaml"
NAMESPACE = "elasticgpu-system"
GPUS = "/apis/elasticgpu.io/v1alpha1/gpus"
DAY = 86_400


class Ours:
    """The processes under test and how to restart them."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.root = cluster.site.root
        self.processes: dict[str, Process] = {}
        self.stand_ins = StandIns(cluster.site)

    def install(self, *values: str) -> None:
        """Install the chart without its workloads."""
        sets = [f"--set={value}" for value in ("controller.enabled=false", "agent.enabled=false")]
        sets += [f"--set={value}" for value in values]
        self.cluster.helm(
            "upgrade", "--install", "elasticgpu", str(CHART), "--namespace", NAMESPACE,
            "--create-namespace", *sets,
        )  # fmt: skip
        wait_for(self.policies_act, 30, "the admission policies at work")

    def policies_act(self) -> bool:
        """Whether a pod's annotations already have their effect: it takes a second or so."""
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"generateName": "x-", "annotations": {"elasticgpu.io/egpuc-x": "x"}},
            "spec": {"containers": [{"name": "x", "image": "x"}]},
        }
        made = self.cluster.api.create("/api/v1/namespaces/default/pods?dryRun=All", pod)
        return bool(made["spec"].get("resourceClaims"))

    def start(self, nodes: tuple[str, ...] = ("node-0", "node-1", "node-2")) -> None:
        """Start one controller and an agent a node; wait until all cards are published."""
        self.launch_controller("controller")
        for node in nodes:
            self.launch_agent(node)
        fleet = yaml.safe_load(FLEET.read_text())["nodes"]
        cards = sum(row.get("count", 1) for node in nodes for row in fleet[node])
        wait_for(
            lambda: [g for g in self.cluster.api.list(GPUS) if self._published(g)][cards - 1 :],
            60,
            f"{cards} cards published",
        )
        wait_for(self.registered, 60, "the driver registered with the kubelet")

    def stop(self) -> None:
        """End all processes."""
        for process in self.processes.values():
            process.stop()

    def launch_controller(self, name: str) -> Process:
        """Start a controller process under this name."""
        config = self.kubeconfig(name, "elasticgpu-controller")
        return self._launch(name, "controller", "--kubeconfig", str(config))

    def launch_agent(self, node: str) -> Process:
        """Start a node's agent; on node-0 it serves the real kubelet."""
        name = f"agent-{node}"
        home = self.root / name
        home.mkdir(exist_ok=True)
        kubelet = self.cluster.kubelet_dir if node == "node-0" else home / "kubelet"
        for folder in ("plugins", "plugins_registry"):
            (kubelet / folder).mkdir(parents=True, exist_ok=True)
        return self._launch(
            name, "agent", "--kubeconfig", str(self.kubeconfig(name, "elasticgpu-agent", node)),
            "--node-name", node, "--simulate", str(FLEET), "--kubelet-dir", str(kubelet),
            "--cdi-dir", str(self.cluster.cdi_dir if node == "node-0" else home / "cdi"),
            "--state-dir", str(home / "state"), "--run-dir", str(home / "run"),
            env=self.stand_ins.make() if node == "node-0" else {},
        )  # fmt: skip

    def _launch(self, name: str, *args: str, env: Mapping[str, str] | None = None) -> Process:
        if name not in self.processes:
            argv = [sys.executable, "-m", "elasticgpu", *args]
            self.processes[name] = Process(
                name,
                argv,
                log=self.cluster.logs_dir / f"{name}.log",
                env=env,
                on_start=self.cluster.site.scratch.process,
            )
        return self.processes[name].start()

    def restart(self, name: str) -> None:
        """`kill -9` and start again."""
        self.processes[name].restart()

    def pause(self, name: str) -> None:
        """SIGSTOP: the process hangs, whichever it is."""
        self._signal(name, signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """SIGCONT."""
        self._signal(name, signal.SIGCONT)

    def _signal(self, name: str, number: signal.Signals) -> None:
        process = self.processes.get(name) or self.cluster.processes[name]
        if process.pid is None:
            raise AssertionError(f"{name} does not run")
        os.kill(process.pid, number)

    def registered(self) -> bool:
        """Whether node-0's agent serves both of its sockets."""
        root = self.cluster.kubelet_dir
        return (root / "plugins" / "elasticgpu.io" / "dra.sock").exists() and (
            root / "plugins_registry" / "elasticgpu.io-reg.sock"
        ).exists()

    def kubeconfig(self, name: str, account: str, node: str = "") -> Path:
        """A kubeconfig with a token of that ServiceAccount, bound to the node if one is given."""
        body: dict[str, object] = {"expirationSeconds": DAY}
        if node:
            uid = self.cluster.api.get(f"/api/v1/nodes/{node}")["metadata"]["uid"]
            body["boundObjectRef"] = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": body}
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
        token = self.cluster.api.create(path, request)["status"]["token"]
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [
                {
                    "name": "test",
                    "cluster": {
                        "server": self.cluster.server,
                        "certificate-authority": str(self.cluster.ca_file),
                    },
                }
            ],
            "users": [{"name": account, "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": account}}],
        }
        file = self.root / f"{name}.kubeconfig"
        file.touch(mode=0o600)
        file.write_text(yaml.safe_dump(config))
        return file

    @staticmethod
    def _published(gpu: dict[str, object]) -> bool:
        status = gpu.get("status")
        return isinstance(status, dict) and "uuid" in status
