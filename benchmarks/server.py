"""The API server a benchmark runs against, and the controllers that come and go on it.

etcd and kube-apiserver alone, so that nothing else writes, with the chart installed: its kinds,
policies, accounts and rights. etcd does not sync its files.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cases.ours import CHART, NAMESPACE, Ours
from tests.cluster import binaries, controlplane
from tests.cluster.cluster import Cluster
from tests.cluster.process import Process

PV_BINDER = (
    "--controllers=persistentvolume-binder-controller",
    "--kube-api-qps=5000",
    "--kube-api-burst=10000",
)
TICK = os.sysconf("SC_CLK_TCK")
OPERATIONS = 100
"""Puts in one etcd transaction; its limit is 128."""


def say(text: str) -> None:
    """Progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def api_server() -> Iterator[Cluster]:
    """An API server with the chart's objects, ended at the end."""
    parts = ("etcd", "kube-apiserver")
    binaries.ensure(map(binaries.tool, (*parts, "kube-controller-manager", "helm", "kubectl")))
    with Cluster(node=False, simulated=(), components=parts, say=say) as cluster:
        off = ("--set=controller.enabled=false", "--set=agent.enabled=false")
        words = ("upgrade", "--install", "elasticgpu", str(CHART), "--namespace", NAMESPACE)
        cluster.helm(*words, "--create-namespace", *off)
        cluster.kubectl("wait", "--for=condition=Established", "crd", "--all")
        yield cluster


@contextmanager
def running(process: Process) -> Iterator[Process]:
    """The process, from here to the end of the block."""
    process.start()
    try:
        yield process
    finally:
        process.stop()


def controller(cluster: Cluster) -> Process:
    """Our controller, as the chart runs it: its ServiceAccount, its rights, its lease."""
    config = Ours(cluster).kubeconfig("bench", "elasticgpu-controller")
    words = [sys.executable, "-m", "elasticgpu", "controller", "--kubeconfig", str(config)]
    return _process(cluster, "controller", words)


def volume_binder(cluster: Cluster) -> Process:
    """kube-controller-manager with the PV controller alone and no client limits."""
    binary = binaries.find("kube-controller-manager")
    return controlplane.controller_manager(cluster.site, binary, *PV_BINDER)


def _process(cluster: Cluster, name: str, words: list[str]) -> Process:
    log = cluster.logs_dir / f"{name}.log"
    return Process(name, words, log=log, on_start=cluster.site.scratch.process)


@contextmanager
def stopped(process: Process) -> Iterator[None]:
    """SIGSTOP, and SIGCONT at the end: it sees nothing of what happens meanwhile, until it does."""
    assert process.pid is not None
    os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process.pid, signal.SIGCONT)


def cpu_seconds(*processes: Process) -> float:
    """CPU time these processes have used so far."""
    used = 0
    for process in processes:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        used += int(fields[11]) + int(fields[12])
    return used / TICK


def resident_kib(process: Process) -> int:
    """Resident memory of a process."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


class Etcd:
    """The store behind the API server's back: to clear it, and to fill it quickly.

    What is written here reaches the API server's watches like any change.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._port = cluster.site.port("etcd")

    def wipe(self, prefix: str) -> None:
        """Remove every key that begins so."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        self._ask("deleterange", {"key": _b64(prefix), "range_end": _b64(end)})

    def read(self, key: str) -> str:
        """The value of a key."""
        found = self._ask("range", {"key": _b64(key)})["kvs"][0]
        return base64.b64decode(found["value"]).decode()

    def put(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Write keys and values."""
        puts = [{"requestPut": {"key": _b64(k), "value": _b64(v)}} for k, v in pairs]
        for start in range(0, len(puts), OPERATIONS):
            self._ask("txn", {"success": puts[start : start + OPERATIONS]})

    def _ask(self, what: str, body: object) -> dict[str, list[dict[str, str]]]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request("POST", f"/v3/kv/{what}", json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"etcd {what}: {answer.status} {text[:300]!r}")
            found: dict[str, list[dict[str, str]]] = json.loads(text)
            return found
        finally:
            connection.close()


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
