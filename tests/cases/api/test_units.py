"""What quantities mean on the way through the server, vendors' pods among them."""

from __future__ import annotations

import json

import yaml

from elasticgpu.api.quantity import parse
from elasticgpu.api.vocabulary import read
from tests.api.asks import MEMORY
from tests.cluster.cluster import Cluster

from .asking import ROOT, Object

GI, MI = 1 << 30, 1 << 20
UNITS = {
    MEMORY: MI,
    "nvidia.com/gpumem": MI,
    "elasticgpu.com/gpu-memory": MI,
    "aliyun.com/gpu-mem": GI,
    "tke.cloud.tencent.com/qgpu-memory": GI,
    "gpushare.provisioner.elasticgpu.io/gpu-memory": GI,
}
STORED: dict[int | str, str] = {1000: "1k", 3000: "3k", 4096: "4096", "4Gi": "4Gi"}


def dry_run(server: Cluster, text: str) -> list[Object]:
    """What the server would store of these manifests."""
    answer = server.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", input=text)
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(answer):
        one, at = decoder.raw_decode(answer, at)
        found.append(one)
        at += len(answer[at:]) - len(answer[at:].lstrip())
    return found


def test_the_unit_rule_whatever_the_server_stores(bare: Cluster) -> None:
    """3000 comes back as "3k", and means the vendor's units all the same; 4Gi is bytes."""
    asked = [(name, value) for name in UNITS for value in STORED]
    containers = [
        {"name": f"c{n}", "image": "none", "resources": {"limits": {name: value}}}
        for n, (name, value) in enumerate(asked)
    ]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "units"}}
    (stored,) = dry_run(bare, yaml.safe_dump({**pod, "spec": {"containers": containers}}))
    for (name, value), container in zip(asked, stored["spec"]["containers"], strict=True):
        limits = container["resources"]["limits"]
        assert limits == {name: STORED[value]}
        expected = value * UNITS[name] if isinstance(value, int) else 4 * GI
        assert [one.want.memory for one in read(limits)] == [expected]


QUANTITIES = (
    *("0", "1", "+1", "5.", ".5", "0.5", "1m", "1500m", "2000m", "3k", "3M", "4G", "5T", "6P"),
    *("7E", "1Ki", "1.5Mi", "0.1Gi", "4Ti", "5Pi", "7Ei", "1e3", "1E3", "1e+3", "1e-3", "1.5e9"),
    *("9007199254740993", "9223372036854775807", "00012.50"),
)


def test_quantities_are_what_the_server_takes_them_for(bare: Cluster) -> None:
    """It writes each anew in its own way (of containers down to 1m), which reads as the same."""
    containers = [
        {"name": f"c{n}", "image": "none", "resources": {"limits": {"memory": text}}}
        for n, text in enumerate(QUANTITIES)
    ]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "quantities"}}
    (stored,) = dry_run(bare, yaml.safe_dump({**pod, "spec": {"containers": containers}}))
    found = [one["resources"]["limits"]["memory"] for one in stored["spec"]["containers"]]
    assert found != list(QUANTITIES)
    assert [parse(text) for text in found] == [parse(text) for text in QUANTITIES]


def test_the_users_pods_mean_the_same_when_stored(bare: Cluster) -> None:
    """Written for four vendors' systems, accepted unchanged, read from what the server keeps."""
    text = (ROOT / "tests" / "api" / "data" / "vendor-pods.yaml").read_text()
    meanings = [
        [
            [(one.backend, one.want) for one in read(limits(workload), labels(workload))]
            for workload in workloads
        ]
        for workloads in (yaml.safe_load_all(text), dry_run(bare, text))
    ]
    assert meanings[0] == meanings[1]
    assert all(len(one) == 1 for one in meanings[1])


def limits(workload: Object) -> Object:
    """What the one container of a pod, or of the pods of a workload, is limited to."""
    pod: Object = workload["spec"].get("template") or workload
    return dict(pod["spec"]["containers"][0]["resources"]["limits"])


def labels(workload: Object) -> dict[str, str]:
    """The labels of its pods."""
    pod: Object = workload["spec"].get("template") or workload
    return dict(pod.get("metadata", {}).get("labels", {}))
