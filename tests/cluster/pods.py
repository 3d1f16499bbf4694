"""Manifests of the plainest things that tests create."""

from tests.cluster.api import ApiClient, Object
from tests.cluster.images import BUSYBOX

PODS = "/api/v1/namespaces/default/pods"


def busybox_pod(name: str, *, command: list[str] | None = None, **spec: object) -> Object:
    """A pod of one busybox container that sleeps; keywords go into its spec."""
    container: Object = {"name": "main", "image": BUSYBOX, "imagePullPolicy": "Never"}
    if command is not None:
        container["command"] = command
    defaults: Object = {"terminationGracePeriodSeconds": 1, "containers": [container]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": defaults | spec,
    }


def phase(api: ApiClient, name: str) -> str:
    """The phase of that pod in the default namespace."""
    found: str = api.get(f"{PODS}/{name}")["status"].get("phase", "")
    return found
