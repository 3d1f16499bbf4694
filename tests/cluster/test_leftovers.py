"""A cluster ends without a trace, whatever ended it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import binaries, leftovers
from tests.cluster.api import wait_for
from tests.cluster.cluster import Cluster
from tests.cluster.fixtures import check_tier
from tests.cluster.pods import PODS, busybox_pod, phase
from tests.cluster.prerequisites import missing_prerequisites
from tests.cluster.process import start_time
from tests.cluster.scratch import base, read_state, undisturbed

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _tier() -> None:
    check_tier("node", missing_prerequisites())


@pytest.fixture
def runner() -> Iterator["subprocess.Popen[str]"]:
    """`python -m tests.cluster up` in a process of its own, with a pod that runs."""
    command = [sys.executable, "-m", "tests.cluster", "up"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        line = child.stdout.readline()
        assert line.startswith("export KUBECONFIG=")
        _run_pod(line.strip().partition("=")[2])
        yield child
        child.kill()


def test_stop_leaves_nothing() -> None:
    """After `stop` no process, mount, interface, cgroup or file of the cluster is there."""
    with Cluster() as cluster:
        cluster.api.create(PODS, busybox_pod("left", nodeName="node-0"))
        wait_for(lambda: phase(cluster.api, "left") == "Running", 60, "left runs")
        folder, state = cluster.site.root, cluster.site.scratch.state
        assert leftovers.survivors(folder, state)
    assert leftovers.survivors(folder, state) == []
    assert not folder.exists()


def test_the_next_start_cleans_after_a_killed_runner(runner: "subprocess.Popen[str]") -> None:
    """`kill -9` of the runner takes the components with it; sweeping takes the containers."""
    [folder] = base().glob(f"{runner.pid}-*")
    state = read_state(folder)
    runner.kill()
    runner.wait(30)  # its lock is free only when its last thread is gone
    wait_for(lambda: not _alive(state.processes), 10, "components have died with their runner")
    assert any("container process" in one for one in leftovers.survivors(folder, state))
    with undisturbed():
        leftovers.sweep()  # or another cluster's start, a moment ago
    assert leftovers.survivors(folder, state) == []
    assert not folder.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_the_cluster(runner: "subprocess.Popen[str]", number: int) -> None:
    """SIGTERM and Ctrl-C stop the cluster in order."""
    [folder] = base().glob(f"{runner.pid}-*")
    state = read_state(folder)
    os.kill(runner.pid, number)
    assert runner.wait(120) == 0
    assert leftovers.survivors(folder, state) == []
    assert not folder.exists()


def _run_pod(kubeconfig: str) -> None:
    kubectl = [str(binaries.find("kubectl")), f"--kubeconfig={kubeconfig}"]
    overrides = '{"spec":{"nodeName":"node-0"}}'
    words = ["run", "left", "--image=localhost/busybox:1", f"--overrides={overrides}"]
    subprocess.run([*kubectl, *words], check=True, timeout=30)
    words = ["wait", "--for=condition=Ready", "pod/left", "--timeout=60s"]
    subprocess.run([*kubectl, *words], check=True, timeout=70)


def _alive(processes: list[tuple[str, int, int | None]]) -> list[str]:
    return [name for name, pid, started in processes if started and start_time(pid) == started]
