"""A whole cluster: started, restarted in parts, and stopped without a trace.

    with Cluster() as cluster:
        cluster.kubectl("get", "nodes")
        cluster.restart("kube-apiserver")
        cluster.use_scheduler("1.35")

`Cluster(node=False)` is a control plane alone: it needs no root and many may run side by side.
Of clusters with a node one runs at a time on a machine; the next waits. Logs go with the cluster,
unless `ELASTICGPU_CLUSTER_LOGS` names a folder for them.
"""

import atexit
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any, Self

from tests.cluster import binaries, controlplane, images, leftovers, network, node, runtime
from tests.cluster.access import Access
from tests.cluster.api import wait_for
from tests.cluster.process import Process
from tests.cluster.scratch import Scratch, undisturbed
from tests.cluster.simulated import SimulatedNodes
from tests.cluster.site import NODE, Site

CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
NODE_COMPONENTS = ("containerd", "kubelet")
_STARTERS: Mapping[str, Callable[[Site, Path], Process]] = {
    "etcd": controlplane.etcd,
    "kube-apiserver": controlplane.api_server,
    "kube-controller-manager": controlplane.controller_manager,
    "kube-scheduler": controlplane.scheduler,
}
_serial = count(1)


class Cluster(Access):
    """One cluster; what `Access` offers is good between `start` and `stop`."""

    def __init__(
        self,
        *,
        node: bool = True,
        simulated: Sequence[str] = ("node-1", "node-2"),
        components: Sequence[str] = CONTROL_PLANE,
        feature_gates: Mapping[str, bool] | None = None,
        api_server_args: Sequence[str] = (),
        patience: float = 600,
        say: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__()
        self.with_node = node
        self.processes: dict[str, Process] = {}
        self.seconds: dict[str, float] = {}  # from start to healthy, and to all nodes Ready
        self._simulated = tuple(simulated)
        self._components = tuple(components)
        self._options = (dict(feature_gates or {}), tuple(api_server_args))
        self._patience = patience  # seconds to wait for another cluster with a node to end
        self._say = say or _print
        self._began = time.monotonic()
        self._machine: int | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> Self:
        """Bring everything up: until all components are healthy and all nodes Ready."""
        atexit.register(self.stop)
        try:
            binaries.ensure(map(binaries.tool, self._needed()))
            self._make_site()
            with ThreadPoolExecutor(1) as pool:
                self._bring_up(pool)
        except BaseException:
            self._explain()
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End everything and remove every trace."""
        atexit.unregister(self.stop)
        if hasattr(self, "site"):
            self.simulated.stop()
            for process in reversed(list(self.processes.values())):
                process.kill()
            self.simulated.join()
            if kept := os.environ.get("ELASTICGPU_CLUSTER_LOGS"):
                self.save_logs(Path(kept) / self.site.root.name)
            self.close_clients()
            leftovers.clean(self.site.root, self.site.scratch.state)
            self.site.scratch.remove()
            del self.site
        if self._machine is not None:
            os.close(self._machine)
            self._machine = None

    def restart(self, name: str, *, timeout: float = 60) -> float:
        """`kill -9`, start, wait until healthy; how many seconds that took."""
        began = time.monotonic()
        self.kill(name)
        self.revive(name, timeout=timeout)
        return time.monotonic() - began

    def kill(self, name: str) -> None:
        """`kill -9` and leave it dead, until `revive`."""
        self.processes[name].kill()

    def revive(self, name: str, *, timeout: float = 60) -> None:
        """Start a killed component and wait until it is healthy."""
        before = time.time()
        self.processes[name].start()
        self.wait_healthy(name, timeout=timeout)
        if name == "kubelet":
            wait_for(lambda: self.lease_renewed(NODE, before), timeout, f"{NODE} heard of")
            wait_for(lambda: self.node_ready(NODE), timeout, f"{NODE} Ready")

    def use_scheduler(
        self, version: str = binaries.KUBERNETES, config: Mapping[str, Any] | None = None
    ) -> None:
        """Replace the scheduler by one of that version (such as "1.35"), with `config` merged
        into its KubeSchedulerConfiguration; without arguments: back to the standard one."""
        binary = binaries.find("kube-scheduler", version)
        self.processes["kube-scheduler"].stop()
        self.processes["kube-scheduler"] = controlplane.scheduler(self.site, binary, config)
        self.revive("kube-scheduler")

    def healthy(self, name: str) -> bool:
        """Whether that component runs and says that it is ready."""
        if not self.processes[name].alive:
            raise AssertionError(f"{name} has ended")
        if name == "containerd":
            return runtime.accepts(self.site.root / "containerd.sock")
        if name == "kubelet":
            port = self.site.port("kubelet-health")
            return controlplane.answers(f"127.0.0.1:{port}", "/healthz", None)
        return controlplane.healthy(self.site, name)

    def wait_healthy(self, name: str, *, timeout: float = 60) -> None:
        """Wait until that component is healthy; its log is in the error if it never is."""
        try:
            wait_for(lambda: self.healthy(name), timeout, f"{name} healthy")
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.processes[name].tail()}") from None
        self.seconds.setdefault(name, time.monotonic() - self._began)

    def _needed(self) -> tuple[str, ...]:
        shims = ("containerd-shim-runc-v2", "ctr") if self.with_node else ()
        return (*self._components, "kubectl", *(NODE_COMPONENTS if self.with_node else ()), *shims)

    def _make_site(self) -> None:
        if self.with_node:
            self._machine = node.claim_machine(self._patience, self._say)
        with undisturbed():
            for name in leftovers.sweep():
                self._say(f"cleaned what an earlier run had left ({name})")
            scratch = Scratch(f"{os.getpid()}-{next(_serial)}")
        self._began = time.monotonic()
        gates, arguments = self._options
        self.site = Site(scratch, self.with_node, gates, arguments)
        self.api = self.client(self.site.token)
        self.simulated = SimulatedNodes(self.api, self._simulated)
        if self.with_node:
            node.prepare(self.site)
            network.up(self.site)

    def _bring_up(self, pool: ThreadPoolExecutor) -> None:
        started = pool.submit(self._start_runtime) if self.with_node else _done()
        for name in self._components:
            self._launch(_STARTERS[name](self.site, binaries.find(name)))
            if name == "kube-apiserver":
                self._reach(name)
        started.result(timeout=120)
        if self.with_node:
            self._launch(node.kubelet(self.site, binaries.find("kubelet")))
        self.simulated.start()
        for name in list(self.processes):
            self._reach(name)
        self._wait_nodes()

    def _start_runtime(self) -> None:
        program = binaries.find("containerd")
        shim = binaries.find("containerd-shim-runc-v2")
        archive = images.pack_basic(self.site.root / "basic.tar")
        self._launch(runtime.containerd(self.site, program, shim))
        self._reach("containerd")
        self.load_image(archive)

    def _launch(self, process: Process) -> None:
        self.processes[process.name] = process.start()

    def _reach(self, name: str) -> None:
        if name not in self.seconds:
            self.wait_healthy(name)
            self._progress(f"{name} healthy")

    def _wait_nodes(self) -> None:
        names = [*([NODE] if self.with_node else []), *self._simulated]
        wait_for(lambda: self._steadily_ready(names), 60, f"{', '.join(names)} Ready")
        if "kube-controller-manager" in self._components:
            account = "/api/v1/namespaces/default/serviceaccounts/default"
            wait_for(lambda: self.api.exists(account), 60, "the default ServiceAccount")
        self.seconds["ready"] = time.monotonic() - self._began
        self._progress(f"{', '.join(names) or 'control plane'} Ready")

    def _steadily_ready(self, names: Sequence[str]) -> bool:
        """Ready for longer than the controller manager's look at nodes takes to come round.

        Its look may have seen the moment before a node was Ready, and taints it for a while.
        """
        until = time.monotonic() + 1.2
        while all(map(self.node_ready, names)):
            if time.monotonic() > until:
                return True
            time.sleep(0.1)
        return False

    def _progress(self, text: str) -> None:
        self._say(f"[{time.monotonic() - self._began:5.1f} s] {text}")

    def _explain(self) -> None:
        for name, process in self.processes.items():
            if not process.alive:
                self._say(f"{name} is not running; the end of its log:\n{process.tail()}")


def _done() -> "Future[None]":
    future: Future[None] = Future()
    future.set_result(None)
    return future


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
