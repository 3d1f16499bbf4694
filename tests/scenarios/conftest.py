"""The API servers of the scenarios, and the table they leave."""

from __future__ import annotations

import gc
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from elasticgpu.cluster.access import Access, find
from elasticgpu.cluster.client import Client
from tests.cluster.api import wait_for
from tests.cluster.cluster import Cluster
from tests.cluster.fixtures import check_tier
from tests.cluster.prerequisites import missing_prerequisites

from .accounts import ACCOUNTS, CONTROLLER, NAMESPACE, TOKEN_REQUEST
from .embedded import ORDERS, on_one_loop
from .objects import pod
from .process import Complaints, hasten
from .run import Site
from .table import Line, printed

CHART = Path(__file__).parents[2] / "helm" / "elasticgpu"
PROPERTY = "scenario"
"""Name of the report's property that holds a line of the table."""


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "every fault on the real API server, not a sample"
    parser.addoption("--all-faults", action="store_true", help=text)
    parser.addoption("--orders", type=int, default=ORDERS, help="so many orders of tasks' steps")
    parser.addoption("--order", type=int, help="the order of this seed alone")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table, from the reports: the tests may have run in another process."""
    reports = (r for rows in terminalreporter.stats.values() for r in rows)
    lines = [
        Line(**dict(row))
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "teardown"
        for name, row in report.user_properties
        if name == PROPERTY and isinstance(row, dict)
    ]
    if lines:
        terminalreporter.section("scenarios: writes, and runs with a fault at each of them")
        for text in printed(lines):
            terminalreporter.write_line(text)


@pytest.fixture(scope="session")
def server() -> Iterator[Cluster]:
    """An API server with the chart's kinds, policies and roles, and nobody beside it: who else
    would make ResourceClaims, schedule pods and taint nodes does so in a time of its own."""
    check_tier("apiserver", missing_prerequisites(node=False))
    off = "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"
    alone = ("etcd", "kube-apiserver")
    with Cluster(node=False, simulated=(), components=alone, api_server_args=[off]) as running:
        running.helm(
            "install", "elasticgpu", str(CHART), "--namespace", NAMESPACE, "--create-namespace",
            "--set=controller.enabled=false", "--set=agent.enabled=false",
        )  # fmt: skip
        wait_for(lambda: _policies_act(running), 60, "the admission policies at work")
        yield running


def _policies_act(server: Cluster) -> bool:
    made = server.api.create("/api/v1/namespaces/default/pods?dryRun=All", pod("web", "train"))
    return bool(made["spec"].get("resourceClaims"))


@pytest.fixture(scope="session")
def token(server: Cluster) -> str:
    """A token of the controller's own ServiceAccount."""
    issued = server.api.create(f"{ACCOUNTS}/{CONTROLLER}/token", TOKEN_REQUEST)
    return str(issued["status"]["token"])


@pytest.fixture(scope="module")
def hastened() -> Iterator[None]:
    """The library's own patience, shortened."""
    complaints = Complaints()
    with pytest.MonkeyPatch.context() as patch:
        hasten(patch)
        logging.getLogger("elasticgpu").addHandler(complaints)
        yield
        logging.getLogger("elasticgpu").removeHandler(complaints)


@pytest.fixture
def lines(record_property: Callable[[str, object], None]) -> Iterator[list[Line]]:
    """What this test adds to the table."""
    mine: list[Line] = []
    yield mine
    for line in mine:
        record_property(PROPERTY, asdict(line))


@pytest.fixture
async def site(server: Cluster, token: str, hastened: None, tmp_path: Path) -> AsyncIterator[Site]:
    """Where one scenario's runs take place on the real API server."""
    admin = await find(str(server.kubeconfig))
    access = Access(admin.server, tls=admin.tls, authorization=f"Bearer {token}")
    async with Client(admin) as client:
        yield Site("real", client, lambda: Client(access), tmp_path)


@pytest.fixture
def in_process(hastened: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For runs in this process alone. Meanwhile no garbage is collected: what each start of the
    controllers exempts from that, and each end gives back, would be gone through every time."""
    on_one_loop(monkeypatch)
    gc.disable()
    yield
    gc.enable()
