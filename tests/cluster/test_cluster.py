"""The test cluster does what other tests rely on."""

from collections.abc import Iterator

import pytest

from tests.cluster import binaries
from tests.cluster.api import ApiError, wait_for
from tests.cluster.cluster import CONTROL_PLANE, NODE_COMPONENTS, Cluster
from tests.cluster.pods import PODS, busybox_pod, phase

NODE_0 = {"kubernetes.io/hostname": "node-0"}
NODE_1 = {"kubernetes.io/hostname": "node-1"}


@pytest.fixture(scope="module")
def pod(cluster: Cluster) -> Iterator[str]:
    """A pod that runs on the real node."""
    cluster.api.create(PODS, busybox_pod("smoke", nodeSelector=NODE_0))
    wait_for(lambda: phase(cluster.api, "smoke") == "Running", 60, "smoke runs")
    yield "smoke"
    cluster.api.delete(f"{PODS}/smoke")
    wait_for(lambda: not cluster.api.exists(f"{PODS}/smoke"), 30, "smoke is gone")


def test_versions_are_the_pinned_ones(cluster: Cluster) -> None:
    """Every component answers with the version that this folder pins."""
    versions = cluster.versions()
    for name in (*CONTROL_PLANE[1:], "kubelet"):
        assert versions[name] == f"v{binaries.KUBERNETES}"
    assert versions["etcd"] == binaries.ETCD
    assert versions["containerd"] == binaries.CONTAINERD


def test_all_nodes_are_ready(cluster: Cluster) -> None:
    """One real and two simulated nodes are Ready and without taints."""
    assert all(cluster.node_ready(name) for name in ("node-0", "node-1", "node-2"))


def test_exec_prints_the_environment(cluster: Cluster, pod: str) -> None:
    """`kubectl exec` reaches the container; the environment names the API server's Service."""
    environment = cluster.kubectl("exec", pod, "--", "env")
    assert "KUBERNETES_SERVICE_HOST=198.18.1.1" in environment


def test_a_pod_reaches_the_api_server(cluster: Cluster, pod: str) -> None:
    """From a pod's own network the address of the `kubernetes` Service accepts connections."""
    probe = "nc -w 5 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT </dev/null && echo reached"
    assert "reached" in cluster.kubectl("exec", pod, "--", "sh", "-c", probe)


def test_logs_are_readable(cluster: Cluster) -> None:
    """What a container printed comes back by `kubectl logs`, and its pod succeeds."""
    quick = busybox_pod(
        "quick", command=["echo", "printed"], nodeSelector=NODE_0, restartPolicy="Never"
    )
    cluster.api.create(PODS, quick)
    wait_for(lambda: phase(cluster.api, "quick") == "Succeeded", 60, "quick succeeds")
    assert cluster.kubectl("logs", "quick") == "printed\n"
    cluster.api.delete(f"{PODS}/quick")


@pytest.mark.parametrize("name", [*CONTROL_PLANE, *NODE_COMPONENTS])
def test_a_killed_component_comes_back(cluster: Cluster, pod: str, name: str) -> None:
    """After `kill -9` and start the component is healthy, and the pod never stopped."""
    cluster.restart(name)
    wait_for(lambda: phase(cluster.api, pod) == "Running", 30, "the pod runs")
    [container] = cluster.api.get(f"{PODS}/{pod}")["status"]["containerStatuses"]
    assert container["restartCount"] == 0
    probe = ("exec", pod, "--", "env")
    wait_for(lambda: "HOME=" in cluster.kubectl(*probe, check=False), 30, "exec works")


def test_the_older_scheduler_schedules(cluster: Cluster) -> None:
    """With kube-scheduler 1.35 in place a pod is bound; afterwards the standard one is back."""
    cluster.use_scheduler("1.35")
    try:
        assert cluster.versions()["kube-scheduler"] == f"v{binaries.SCHEDULERS['1.35']}"
        cluster.api.create(PODS, busybox_pod("bound", nodeSelector=NODE_1))
        wait_for(
            lambda: cluster.api.get(f"{PODS}/bound")["spec"].get("nodeName") == "node-1",
            30,
            "the pod is bound",
        )
    finally:
        cluster.use_scheduler()
        cluster.api.delete(f"{PODS}/bound", grace=0)
    assert cluster.versions()["kube-scheduler"] == f"v{binaries.KUBERNETES}"


def test_simulated_nodes_let_deleted_pods_go(cluster: Cluster) -> None:
    """A pod on a simulated node never runs, and is gone soon after an ordinary deletion."""
    idle = busybox_pod("idle", nodeName="node-2", terminationGracePeriodSeconds=30)
    cluster.api.create(PODS, idle)
    assert phase(cluster.api, "idle") == "Pending"
    cluster.api.delete(f"{PODS}/idle")
    wait_for(lambda: not cluster.api.exists(f"{PODS}/idle"), 5, "idle is gone")


def test_real_rbac_holds(cluster: Cluster) -> None:
    """A ServiceAccount's token is no admin's."""
    token = cluster.kubectl("create", "token", "default").strip()
    with pytest.raises(ApiError) as caught:
        cluster.client(token).list("/api/v1/secrets")
    assert caught.value.status == 403


def test_writes_are_counted(cluster: Cluster) -> None:
    """`writes` counts what was written and only that."""
    before = cluster.api.writes(resource="configmaps")
    path = "/api/v1/namespaces/default/configmaps"
    named = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "counted"}}
    cluster.api.create(path, named)
    cluster.api.patch(f"{path}/counted", {"data": {"key": "value"}})
    cluster.api.get(f"{path}/counted")
    cluster.api.patch(f"{path}/counted", named, kind="apply")
    cluster.api.delete(f"{path}/counted")
    assert cluster.api.writes(resource="configmaps") - before == 4


def test_watch_list_is_served(control_plane: Cluster) -> None:
    """etcd is recent enough for a streamed list: the initial events end with a bookmark."""
    options = {
        "sendInitialEvents": "true",
        "allowWatchBookmarks": "true",
        "resourceVersionMatch": "NotOlderThan",
    }
    events = control_plane.api.watch("/api/v1/nodes", seconds=5, **options)
    kinds = [event["type"] for event in events]
    assert "BOOKMARK" in kinds
    assert "ERROR" not in kinds
