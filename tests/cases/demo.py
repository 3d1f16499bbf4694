"""`make demo-cluster`: the user's three manifests on a real cluster, ending inside the container.

Starts etcd, the control plane, a node with kubelet and containerd, elasticgpu with simulated
cards; applies `examples/01-shared-card`, and shows what happens. Exits with 0 only if the
container has its device.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import threading
import time

from tests.cases.case import OURS
from tests.cases.conftest import SEEDS
from tests.cases.ours import Ours
from tests.cluster.api import ApiClient, wait_for
from tests.cluster.binaries import find
from tests.cluster.cluster import Cluster
from tests.cluster.prerequisites import missing_prerequisites

PHASES = (
    (f"{OURS}/elasticgpuclaims", "claim", lambda o: o.get("status", {}).get("phase")),
    (f"{OURS}/elasticgpus", "device", lambda o: o.get("status", {}).get("phase")),
    ("/api/v1/namespaces/default/pods", "pod", lambda o: o["status"]["phase"]),
)


def main() -> int:
    """Run the demo; the exit code."""
    parser = argparse.ArgumentParser(prog="make demo-cluster", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="stay up until Ctrl-C")
    keep = parser.parse_args().keep
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    if missing := missing_prerequisites():
        print("the demo cannot run here:", *(f"  - {line}" for line in missing), sep="\n")
        return 1
    try:
        with Cluster() as cluster:
            return show(cluster, keep)
    except KeyboardInterrupt:
        print("\nstopped; everything is removed")
        return 130


def show(cluster: Cluster, keep: bool) -> int:
    """Install, apply, watch, look inside."""
    ours = Ours(cluster)
    step("elasticgpu is installed from its chart; controller and agents start")
    ours.install()
    ours.start()
    print(
        "node-0 runs containers; node-1 and node-2 only have cards: pods placed there stay Pending"
    )
    run(cluster, "get gpus")
    follow(cluster.api)
    run(cluster, f"apply -f {os.path.relpath(SEEDS)}")
    run(cluster, "wait --for=condition=Bound --timeout=30s elasticgpuclaim/qgpu-egpuc")
    run(cluster, "wait --for=condition=Ready --timeout=60s pod/qgpu-pod")
    run(cluster, "get elasticgpuclasses,elasticgpuclaims,elasticgpus,pods")
    environment = run(cluster, "exec qgpu-pod -- cat /proc/1/environ", quiet=True)
    found = [item for item in environment.split("\0") if item.startswith("ELASTICGPU")]
    print("\n".join(found))
    if keep:
        step(f"staying up; Ctrl-C or kill {os.getpid()} ends it. In another terminal:")
        print(f"export KUBECONFIG={cluster.kubeconfig} PATH={find('kubectl').parent}:$PATH")
        threading.Event().wait()
    step("done: the container has its device" if found else "the container sees no device")
    ours.stop()
    return 0 if found else 1


def step(text: str) -> None:
    """Say what happens next."""
    print(f"\n== {text}", flush=True)


def run(cluster: Cluster, command: str, quiet: bool = False) -> str:
    """Run kubectl as the reader would, showing the command."""
    print(f"\n$ kubectl {command}", flush=True)
    text = cluster.kubectl(*shlex.split(command), timeout=90)
    if not quiet:
        print(text, end="", flush=True)
    return text


def follow(api: ApiClient) -> None:
    """Print each change of phase while it happens."""
    began = time.monotonic()

    def watch(path: str, what: str, phase: object) -> None:
        seen: dict[str, str] = {}
        try:
            for event in api.watch(path, seconds=120):
                name = event["object"]["metadata"]["name"]
                now = phase(event["object"]) or "created"  # type: ignore[operator]
                if seen.get(name) != now and event["type"] != "DELETED":
                    seen[name] = now
                    print(f"  [{time.monotonic() - began:4.1f} s] {what} {name}: {now}", flush=True)
        except OSError:
            return  # the cluster is gone, and with it the watch

    for path, what, phase in PHASES:
        threading.Thread(target=watch, args=(path, what, phase), daemon=True).start()
    wait_for(lambda: api.list(f"{OURS}/gpus"), 10, "cards")


if __name__ == "__main__":
    sys.exit(main())
