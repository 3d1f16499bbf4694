"""The API server of the scenarios, and the table they leave."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from elasticgpu.cluster.access import Access, find
from elasticgpu.cluster.client import Client
from tests.cluster.cluster import Cluster
from tests.cluster.fixtures import check_tier
from tests.cluster.prerequisites import missing_prerequisites

from .backend import Share
from .process import Complaints, hasten
from .run import Site
from .table import Line, printed

CHART = Path(__file__).parents[2] / "helm" / "elasticgpu"
NAMESPACE = "elasticgpu-system"
ACCOUNT = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/elasticgpu-controller"
LINES = pytest.StashKey[list[Line]]()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the table."""
    if lines := config.stash.get(LINES, []):
        terminalreporter.section("scenarios: writes, and runs with a fault at each of them")
        for text in printed(lines):
            terminalreporter.write_line(text)


@pytest.fixture(scope="session")
def server() -> Iterator[Cluster]:
    """An API server with the chart's kinds, policies and roles, and no node."""
    check_tier("apiserver", missing_prerequisites(node=False))
    with Cluster(node=False, simulated=()) as running:
        running.helm(
            "install", "elasticgpu", str(CHART), "--namespace", NAMESPACE, "--create-namespace",
            "--set=controller.enabled=false", "--set=agent.enabled=false",
        )  # fmt: skip
        yield running


@pytest.fixture(scope="session")
def token(server: Cluster) -> str:
    """A token of the controller's own ServiceAccount."""
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": 7200},
    }
    return str(server.api.create(f"{ACCOUNT}/token", request)["status"]["token"])


@pytest.fixture(scope="session")
def hastened() -> Iterator[None]:
    """The library's own patience, shortened."""
    complaints = Complaints()
    with pytest.MonkeyPatch.context() as patch:
        hasten(patch)
        logging.getLogger("elasticgpu").addHandler(complaints)
        yield
        logging.getLogger("elasticgpu").removeHandler(complaints)


@pytest.fixture(scope="session")
def lines(request: pytest.FixtureRequest) -> list[Line]:
    """The table of this test run."""
    return request.config.stash.setdefault(LINES, [])


@pytest.fixture
async def site(server: Cluster, token: str, hastened: None, tmp_path: Path) -> AsyncIterator[Site]:
    """Where one scenario's runs take place."""
    admin = await find(str(server.kubeconfig))
    access = Access(admin.server, tls=admin.tls, authorization=f"Bearer {token}")
    async with Client(admin) as client:
        yield Site(client, access, tmp_path, lambda: {Share.name: Share()})
