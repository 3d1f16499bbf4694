"""Every process dies once at every point of a claim's life; the claim's life goes on.

One test is one process. Its row walks one claim and two pods through the five points; at each
point everything behind it is held still, the process is killed and started anew, and the walk goes
on. The row ends with the auditor and ten quiet seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.cases.case import Case
from tests.cases.ours import Ours
from tests.cluster.api import wait_for

VICTIMS = (
    "controller",
    "agent-node-0",
    "kube-scheduler",
    "kube-controller-manager",
    "kubelet",
    "containerd",
)


@pytest.mark.parametrize("victim", VICTIMS)
def test_restart_at_every_point(case: Case, ours: Ours, victim: str) -> None:
    """A kill -9 when bound, allocated, placed, prepared and unprepared: nothing lost or doubled."""
    kill: Callable[[], None] = lambda: restart(ours, victim)  # noqa: E731

    case.claim("share")
    claim = case.bound("share")
    kill()

    with held(case, "kube-scheduler", victim):
        case.pod("first", {"test": "share"})
        allocation = case.allocated("first")["status"]["allocation"]
        kill()

    with held(case, "agent-node-0", victim), held(case, "kubelet", victim):
        wait_for(lambda: placed(case, "first"), 60, "the pod has its node")
        kill()

    case.running("first")
    device = case.env("first")["ELASTICGPU_0_DEVICE"]
    assert device == claim["spec"]["elasticGPUName"]
    assert case.allocated("first")["status"]["allocation"] == allocation
    kill()
    assert case.running("first")["status"]["containerStatuses"][0]["restartCount"] == 0

    case.delete_pod("first")
    wait_for(lambda: not case.device("share")["status"].get("preparedFor"), 90, "unprepared")
    kill()
    case.pod("second", {"test": "share"})
    case.running("second", 90)
    assert case.env("second")["ELASTICGPU_0_DEVICE"] == device
    assert case.users("share") == ["second"]


def placed(case: Case, pod: str) -> bool:
    return bool(case.api.get(case.pod_path(pod))["spec"].get("nodeName"))


def restart(ours: Ours, victim: str) -> None:
    """`kill -9` and start again, wait until it answers."""
    if victim in ours.processes:
        ours.restart(victim)
        if victim.startswith("agent"):
            wait_for(ours.registered, 60, "the agent's sockets")
    else:
        ours.cluster.restart(victim)


@contextmanager
def held(case: Case, name: str, victim: str) -> Iterator[None]:
    """Hold a process still while the body runs; not if the victim is that process itself."""
    with ExitStack() as stack:
        if name != victim:
            case.ours.pause(name)
            stack.callback(case.ours.resume, name)
        yield


def test_two_controllers(case: Case, ours: Ours) -> None:
    """A second controller stands by and takes over; nothing is done twice."""
    ours.launch_controller("controller-2")
    try:
        case.claim("before")
        case.bound("before")
        ours.processes["controller"].kill()
        case.claim("after")
        case.pod("user", {"test": "before, after"})
        case.running("user", 90)
        ours.processes["controller"].start()
        case.settled()
        assert case.users("before") == case.users("after") == ["user"]
    finally:
        ours.processes["controller"].start()
        ours.processes["controller-2"].stop()
