"""The chart as people install it: controller and agent run as pods, from the project's image."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases.case import Case
from tests.cases.ours import CHART, FLEET, NAMESPACE, Ours
from tests.cases.standins import LIBRARY
from tests.cluster.project_image import build_wheel, image_name, pack_project_image

VCUDA = Path(__file__).parents[2] / "provisioners" / "vcuda" / "class.yaml"
ON_NODE_0 = "nodeSelector.kubernetes\\.io/hostname=node-0"


@pytest.fixture(scope="module")
def installed(ours: Ours, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ours]:
    """The processes make room for a Deployment and a DaemonSet with the same cards."""
    folder = tmp_path_factory.mktemp("image")
    wheel = build_wheel(folder)
    ours.cluster.load_image(pack_project_image(wheel, folder / "image.tar"))
    mine = ("controller", "agent-node-0")
    for name in mine:
        ours.processes[name].stop()
    try:
        install(ours, image_name(wheel))
        yield ours
    finally:
        ours.install()
        remove_workloads(ours)
        for name in mine:
            ours.processes[name].start()


def install(ours: Ours, image: str) -> None:
    """`helm upgrade` with both workloads on, and wait until they are ready."""
    repository, tag = image.rsplit(":", 1)
    cluster = ours.cluster
    home = ours.root / "agent-node-0"
    values = [
        f"image.repository={repository}",
        f"image.tag={tag}",
        "image.pullPolicy=Never",
        f"controller.{ON_NODE_0}",
        f"agent.{ON_NODE_0}",
        f"agent.kubeletDir={cluster.kubelet_dir}",
        f"agent.cdiDir={cluster.cdi_dir}",
        f"agent.stateDir={home / 'state'}",
        f"agent.runDir={home / 'run'}",
        f"agent.hostDirs[0]={LIBRARY.parent}",
    ]
    cluster.helm(
        "upgrade", "elasticgpu", str(CHART), "--namespace", NAMESPACE, "--wait", "--timeout=90s",
        *(f"--set={value}" for value in values), f"--set-file=agent.simulate={FLEET}",
    )  # fmt: skip


def remove_workloads(ours: Ours) -> None:
    """Wait until the workloads' pods are gone: the agent's lock on its state goes with them."""
    for kind in ("deployment/elasticgpu-controller", "daemonset/elasticgpu-agent"):
        ours.cluster.kubectl("wait", "-n", NAMESPACE, "--for=delete", kind, "--timeout=60s")
    ours.cluster.kubectl(
        "wait", "-n", NAMESPACE, "--for=delete", "pods", "--all", "--timeout=60s", timeout=70
    )


def test_chart_as_installed(case: Case, installed: Ours) -> None:
    """With controller and agent as pods a claim is bound and a container has its device."""
    kubectl = installed.cluster.kubectl
    shown = kubectl("get", "pods", "-n", NAMESPACE, "-o", "jsonpath={.items[*].status.phase}")
    assert shown.split() == ["Running", "Running"]
    case.claim("share")
    case.bound("share")
    case.pod("user", {"test": "share"})
    case.running("user")
    assert case.env("user")["ELASTICGPU_0_CLAIM"] == f"{case.namespace}/share"
    see_what_the_agent_made(case)
    kubectl("delete", "pod", "-n", NAMESPACE, "--all", "--grace-period=1", timeout=60)
    kubectl("rollout", "status", "-n", NAMESPACE, "daemonset/elasticgpu-agent", timeout=90)
    kubectl("rollout", "status", "-n", NAMESPACE, "deployment/elasticgpu-controller", timeout=90)
    case.delete_pod("user")
    case.pod("next", {"test": "share"})
    case.running("next", 90)


def see_what_the_agent_made(case: Case) -> None:
    """What a backend has the agent make is where the node finds it, and goes with the pod."""
    kubectl = case.cluster.kubectl
    kubectl("apply", "-f", str(VCUDA))
    case.claim("limited", class_name="vcuda")
    case.pod("limited", {"test": "limited"}, nodeSelector={"kubernetes.io/hostname": "node-0"})
    case.running("limited")
    words = ("exec", "-n", case.namespace, "limited", "--", "cat", "/etc/ld.so.preload")
    assert kubectl(*words) == f"{LIBRARY}\n"
    case.delete_pod("limited")
    case.api.delete(case.claim_path("limited"))
    kubectl("delete", "-f", str(VCUDA))
