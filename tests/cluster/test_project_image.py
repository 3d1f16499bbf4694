"""The project's image runs as a cluster would run it."""

import pytest

from tests.cluster.api import Object, wait_for
from tests.cluster.cluster import Cluster
from tests.cluster.pods import PODS, busybox_pod, phase
from tests.cluster.project_image import build_wheel, image_name, pack_project_image


@pytest.fixture(scope="module")
def image(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The wheel of this checkout in an image that the node has."""
    folder = tmp_path_factory.mktemp("image")
    wheel = build_wheel(folder)
    cluster.load_image(pack_project_image(wheel, folder / "image.tar"))
    return image_name(wheel)


def test_the_program_runs_without_any_right(cluster: Cluster, image: str) -> None:
    """As an unknown user on a read-only file system the program prints its help."""
    cluster.api.create(PODS, _pod("help", image, args=["--help"]))
    wait_for(lambda: phase(cluster.api, "help") == "Succeeded", 60, "the program ends well")
    assert "Usage" in cluster.kubectl("logs", "help")
    cluster.api.delete(f"{PODS}/help")


def test_the_plugins_are_found_in_the_wheel(cluster: Cluster, image: str) -> None:
    """The entry points of the provisioners came with the wheel."""
    code = "import importlib.metadata as m; print(m.entry_points(group='elasticgpu.provisioners'))"
    cluster.api.create(PODS, _pod("plugins", image, command=["python", "-c", code]))
    wait_for(lambda: phase(cluster.api, "plugins") == "Succeeded", 60, "the program ends well")
    assert "elasticgpu.io/qgpu" in cluster.kubectl("logs", "plugins")
    cluster.api.delete(f"{PODS}/plugins")


def _pod(name: str, image: str, **container: object) -> Object:
    pod = busybox_pod(name, nodeName="node-0", restartPolicy="Never")
    pod["spec"]["containers"][0] |= container | {
        "image": image,
        "securityContext": {
            "runAsUser": 65532,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    return pod
