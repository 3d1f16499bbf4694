"""The provisioner of examples/02: installed beside the library, which has never heard of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.cases.ours import Ours
from tests.cluster.api import wait_for
from tests.cluster.images import BUSYBOX

EXAMPLE = Path(__file__).parents[3] / "examples" / "02-own-provisioner"
SERVERS = ("controller", "agent-node-0")
"""Who has to find it."""


@contextmanager
def installed(ours: Ours, folder: Path) -> Iterator[None]:
    """Controller and agent find it as they find what is installed, until the end."""
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet")
    pip = [sys.executable, "-m", "pip", "install", *offline, "--target", str(folder), str(EXAMPLE)]
    subprocess.run(pip, timeout=250, check=True)
    before = {name: ours.processes[name].env for name in SERVERS}
    try:
        for name in SERVERS:
            restart(ours, name, before[name] | {"PYTHONPATH": str(folder)})
        yield
    finally:
        for name in SERVERS:
            restart(ours, name, before[name])


def restart(ours: Ours, name: str, env: dict[str, str]) -> None:
    """Have the process run in this environment."""
    process = ours.processes[name]
    process.stop()
    process.env = env
    process.start()
    wait_for(ours.registered, 60, "the driver registered with the kubelet")


def manifests(label: str) -> str:
    """The example's own, but for what it leaves to the reader: image, namespace, which node."""
    made = list(yaml.safe_load_all((EXAMPLE / "lanes.yaml").read_text()))
    name, _, value = label.partition("=")
    for one in made:
        one["metadata"].pop("namespace", None)
        if one["kind"] == "ElasticGPUClass":
            one["spec"]["eGPUBindingMode"] = "WaitForFirstConsumer"
        if one["kind"] == "Pod":
            one["metadata"]["labels"] = {name: value}
            one["spec"]["nodeSelector"] = {name: value}
            (box,) = one["spec"]["containers"]
            box |= {"image": BUSYBOX, "imagePullPolicy": "Never"}
    return str(yaml.safe_dump_all(made))
