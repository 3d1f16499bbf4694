"""Every behaviour is one test, asked of two servers: the embedded one and a real kube-apiserver."""

from __future__ import annotations

import ssl
from collections import defaultdict
from collections.abc import AsyncIterator, Generator
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from elasticgpu.testing.apiserver import ApiServer, serving
from elasticgpu.testing.apiserver.standing import kubeconfig
from tests.cluster.api import wait_for
from tests.cluster.cluster import Cluster
from tests.cluster.fixtures import control_plane

from .api import Api, Object, session
from .differences import DIFFERENCES
from .objects import GADGETS, GROUP, WIDGETS

__all__ = ["control_plane"]

SERVERS = ("embedded", "real")
_serial = count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--table", action="store_true", help="print every behaviour, on each server")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "api" in metafunc.fixturenames:
        real = pytest.param("real", marks=pytest.mark.apiserver)
        metafunc.parametrize("where", ["embedded", real], indirect=True, scope="function")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """On the embedded server time is virtual; where it is known to differ its test has to fail."""
    for item in items:
        if isinstance(item, pytest.Function) and _where(item) == "embedded":
            if item.get_closest_marker("looptime") is None:
                item.add_marker(pytest.mark.looptime)
            if reason := DIFFERENCES.get(item.originalname):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def _where(item: pytest.Function) -> str:
    """Which server a test asks; nothing for tests of other kinds."""
    return str(item.callspec.params.get("where", "")) if hasattr(item, "callspec") else ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call" and isinstance(item, pytest.Function) and _where(item):
        report.user_properties.append(("behaviour", (item.originalname, _where(item))))
    return report


@pytest.fixture
def where(request: pytest.FixtureRequest) -> str:
    """Which server is asked."""
    return str(request.param)


@pytest.fixture(scope="session")
def real_server(request: pytest.FixtureRequest) -> Cluster:
    """A real control plane that serves the two kinds of this suite."""
    cluster: Cluster = request.getfixturevalue("control_plane")
    for crd in (WIDGETS, GADGETS):
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        cluster.api.create(path, crd)
    for plural in ("widgets", "gadgets"):
        listed = partial(cluster.api.get, f"/apis/{GROUP}/v1/{plural}")
        wait_for(listed, what=f"{plural} to be served")
    return cluster


@pytest.fixture
async def api(where: str, request: pytest.FixtureRequest) -> AsyncIterator[Api]:
    """The server, and a namespace of the test's own."""
    name = f"conformance-{next(_serial)}"
    if where == "embedded":
        server = ApiServer()
        for crd in (WIDGETS, GADGETS):
            server.create("apiextensions.k8s.io/v1", "CustomResourceDefinition", crd)
        async with serving(server) as url, session() as connections:
            yield await _at_home(Api(url, connections, name))
    else:
        cluster: Cluster = request.getfixturevalue("real_server")
        tls = ssl.create_default_context(cafile=str(cluster.ca_file))
        async with session(cluster.token, tls) as connections:
            home = await _at_home(Api(cluster.server, connections, name))
            yield home
            await home.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture
def kubeconfig_file(api: Api, where: str, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """How other programs find the server."""
    if where == "real":
        cluster: Cluster = request.getfixturevalue("real_server")
        return cluster.kubeconfig
    file = tmp_path / "kubeconfig"
    file.write_text(kubeconfig(api.url))
    return file


async def _at_home(api: Api) -> Api:
    body: Object = {"metadata": {"name": api.namespace}}
    (await api.create("/api/v1/namespaces", body)).made()
    return api


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Behaviour by server, or how many; taken from the reports, which may be another process's."""
    rows: dict[str, dict[str, str]] = defaultdict(dict)
    for outcome in ("passed", "xfailed", "failed"):  # the last one counts
        for report in terminalreporter.stats.get(outcome, ()):
            for name, value in getattr(report, "user_properties", ()):
                if name == "behaviour":
                    rows[value[0]][value[1]] = outcome
    if rows:
        _print(terminalreporter, rows)


def _print(terminal: pytest.TerminalReporter, rows: dict[str, dict[str, str]]) -> None:
    terminal.section("conformance: behaviour by server")
    words = {"passed": "as stated", "failed": "NOT", "xfailed": "differs"}
    for name, found in sorted(rows.items()):
        if terminal.config.getoption("--table", default=False) or "failed" in found.values():
            cells = (f"{words.get(found.get(one, ''), '-'):<10}" for one in SERVERS)
            terminal.write_line(f"{name[5:].replace('_', ' '):<76} {''.join(cells)}")
    for one in SERVERS:
        outcomes = [found[one] for found in rows.values() if one in found]
        counts = ", ".join(f"{outcomes.count(k)} {words[k]}" for k in words if k in outcomes)
        terminal.write_line(f"{one}: {len(outcomes)} behaviours: {counts}")
    for name, reason in DIFFERENCES.items():
        if name in rows:
            terminal.write_line(f"differs: {name[5:].replace('_', ' ')}: {reason}")
