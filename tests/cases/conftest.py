"""What every case starts from, and what every case must leave: audited, and quiet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cases.backends.table import PROPERTY, Row
from tests.cases.case import CLASS, OURS, Case, assert_quiet
from tests.cases.ours import Ours
from tests.cluster.cluster import Cluster
from tests.cluster.fixtures import cluster, control_plane

__all__ = ["cluster", "control_plane"]

HERE = "tests/cases/"
LISTED = (
    "test_consumer",
    "test_seed",
    "test_waiting",
    "test_using",
    "test_restarts",
    "test_in_pods",
)

SEEDS = Path(__file__).parents[2] / "examples" / "01-shared-card" / "elastic-gpu.yaml"


@pytest.fixture(scope="session")
def ours(cluster: Cluster) -> Iterator[Ours]:
    """The chart installed, one controller, an agent a node, and a class to claim from."""
    here = Ours(cluster)
    here.install()
    here.start()
    cluster.api.create(
        f"{OURS}/elasticgpuclasses",
        {
            "apiVersion": "elasticgpu.io/v1alpha1",
            "kind": "ElasticGPUClass",
            "metadata": {"name": CLASS},
            "spec": {"provisioner": "elasticgpu.io/qgpu"},
        },
    )
    yield here
    here.stop()


@pytest.fixture
def case(ours: Ours, request: pytest.FixtureRequest) -> Iterator[Case]:
    """A namespace for one case. At the end: the auditor, ten quiet seconds, and all is removed."""
    plain = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:50].strip("-")
    one = Case(ours, plain)
    yield one
    try:
        if not request.node.stash.get(FAILED, False):
            one.settled()
            assert_quiet(ours.cluster)
            one.settled()
    finally:
        one.remove()


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Remember whether the case itself failed: its leftovers are then not judged."""
    report = yield
    if call.when == "call":
        item.stash[FAILED] = call.excinfo is not None
    return report


@pytest.fixture(scope="session")
def seeds() -> list[dict[str, object]]:
    """The user's three manifests, unchanged."""
    return list(yaml.safe_load_all(SEEDS.read_text()))


def listed(nodeid: str) -> bool:
    """Whether it is one of the cases, not a row of the tables of API and admission."""
    return nodeid.removeprefix(HERE).startswith(LISTED)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the cases with their seconds; the quiet ten of each are counted apart."""
    spent: dict[str, dict[str, float]] = {}
    for report in (r for rows in terminalreporter.stats.values() for r in rows):
        if isinstance(report, pytest.TestReport) and listed(report.nodeid):
            spent.setdefault(report.nodeid, {})[str(report.when)] = report.duration
    print_backends(terminalreporter)
    if not spent:
        return
    terminalreporter.section("cases: seconds of the case, and of audit, quiet and removal")
    for nodeid, seconds in spent.items():
        name = nodeid.removeprefix(HERE)
        row = f"{seconds.get('call', 0):6.1f} {seconds.get('teardown', 0):6.1f}  {name}"
        terminalreporter.write_line(row)


def print_backends(terminal: pytest.TerminalReporter) -> None:
    """The table of the backends, from the reports: the tests may have run in another process."""
    rows = [
        Row(**dict(value))
        for report in terminal.stats.get("passed", ())
        for name, value in getattr(report, "user_properties", ())
        if name == PROPERTY
    ]
    if rows:
        terminal.section("backends on one real node: what the container saw")
        for line in (line for row in rows for line in row.lines()):
            terminal.write_line(line)
