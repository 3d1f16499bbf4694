"""How fast the embedded API server is beside a real one: creates and watch events a second.

    python -m benchmarks.apiserver

Both are processes of their own, asked over HTTP by this one: 16 connections that create, and 50
watches that are told. What this process itself can do bounds both.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from elasticgpu.api import schema
from elasticgpu.cluster.access import find
from elasticgpu.cluster.client import Client
from elasticgpu.errors import ApiError
from tests.cluster.cluster import Cluster

CONNECTIONS = 16
WATCHERS = 50
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
CLAIMS = "/apis/elasticgpu.io/v1alpha1/namespaces/default/elasticgpuclaims"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

Json = dict[str, Any]


def config_map(name: str) -> Json:
    """A ConfigMap with one key."""
    return {"metadata": {"name": name}, "data": {"a": "b"}}


def claim(name: str) -> Json:
    """A claim, whose rules are asked."""
    head = {"apiVersion": "elasticgpu.io/v1alpha1", "kind": "ElasticGPUClaim"}
    requests = {"elasticgpu.io/gpu-core": 10, "elasticgpu.io/gpu-memory": "4Gi"}
    return {**head, "metadata": {"name": name}, "spec": {"resources": {"requests": requests}}}


async def creates(client: Client, path: str, bodies: list[Json]) -> float:
    """Creates a second, by so many at a time."""
    waiting = iter(bodies)

    async def work() -> None:
        for body in waiting:
            await client.raw("POST", path, body=body)

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
    return len(bodies) / (time.perf_counter() - began)


async def events(client: Client, count: int) -> float:
    """Events a second that all watches together have got while ConfigMaps were created."""
    version = (await client.raw("GET", CONFIG_MAPS))["metadata"]["resourceVersion"]

    async def follow() -> None:
        seen = 0
        async for _ in client.stream(CONFIG_MAPS, params={"resourceVersion": version}):
            seen += 1
            if seen == count:
                return

    watching = [asyncio.create_task(follow()) for _ in range(WATCHERS)]
    await asyncio.sleep(1)
    began = time.perf_counter()
    await creates(client, CONFIG_MAPS, [config_map(f"event-{n}") for n in range(count)])
    await asyncio.gather(*watching)
    return WATCHERS * count / (time.perf_counter() - began)


async def measure(kubeconfig: Path, count: int) -> Json:
    """All figures of one server."""
    async with Client(await find(str(kubeconfig))) as client:
        for kind in schema.KINDS:
            try:
                await client.raw("POST", CRDS, body=schema.crd(kind))
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise
        await served(client)
        await creates(client, CONFIG_MAPS, [config_map(f"warm-{n}") for n in range(200)])
        return {
            "configmaps_per_s": await creates(
                client, CONFIG_MAPS, [config_map(f"c-{n}") for n in range(count)]
            ),
            "claims_per_s": await creates(client, CLAIMS, [claim(f"c-{n}") for n in range(count)]),
            "events_per_s": await events(client, count // 4),
        }


async def served(client: Client) -> None:
    """Wait until claims can be listed."""
    for _ in range(100):
        try:
            await client.raw("GET", CLAIMS)
        except ApiError:
            await asyncio.sleep(0.1)
        else:
            return


@contextmanager
def embedded() -> Iterator[Path]:
    """The embedded server as a process; its kubeconfig."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kubeconfig"
        words = [sys.executable, "-m", "elasticgpu", "apiserver", "--write-kubeconfig", str(file)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
            assert run.stdout is not None
            run.stdout.readline()
            run.stdout.readline()
            yield file
            run.terminate()


def main() -> None:
    """Measure both and print a table, and all of it as one line of JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.apiserver", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="objects of each kind")
    count: int = parser.parse_args().count
    with embedded() as file:
        ours = asyncio.run(measure(file, count))
    with Cluster(node=False, simulated=(), components=("etcd", "kube-apiserver")) as cluster:
        theirs = asyncio.run(measure(cluster.kubeconfig, count))
    print(f"{'':20}{'embedded':>12}{'real':>12}{'ratio':>8}")
    for name, value in ours.items():
        print(f"{name:20}{value:12,.0f}{theirs[name]:12,.0f}{value / theirs[name]:8.1f}")
    print(json.dumps({"embedded": ours, "real": theirs}))


if __name__ == "__main__":
    main()
