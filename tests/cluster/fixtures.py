"""The pytest plugin: one cluster for the test run, and the rule that no tier is skipped silently.

A folder whose tests use it says in its `conftest.py`:

    from tests.cluster.fixtures import cluster, control_plane

However many do, each cluster is started once. `REQUIRE_TIERS=apiserver,node` turns the skip on a
machine that lacks something into a failure.
"""

import os
import time
from contextlib import ExitStack

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.prerequisites import missing_prerequisites
from tests.cluster.process import terminate_as_interrupt

__all__ = ["check_tier", "cluster", "control_plane"]

_started = pytest.StashKey[dict[bool, Cluster]]()
# A copy of stderr from before pytest redirects it: taken when this plugin is imported.
_terminal = os.dup(2)


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """Control plane, the real node `node-0` and two simulated ones (tier `node`)."""
    return _shared(request.config, node=True)


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest) -> Cluster:
    """A control plane and two simulated nodes, for tests without containers (`apiserver`)."""
    return _shared(request.config, node=False)


def check_tier(tier: str, missing: list[str]) -> None:
    """Skip loudly when something is missing, or fail if that tier is required."""
    required = os.environ.get("REQUIRE_TIERS", "").replace(",", " ").split()
    if unknown := sorted(set(required) - {"apiserver", "node"}):
        pytest.fail(f"REQUIRE_TIERS names {', '.join(unknown)}: tiers are apiserver and node")
    if not missing:
        return
    text = f"tier `{tier}` was NOT checked: " + "; ".join(missing)
    if tier in required:
        pytest.fail(text)
    _loudly(text)
    pytest.skip(text)


def _shared(config: pytest.Config, *, node: bool) -> Cluster:
    """The run's cluster of that kind, started now if it is the first to be asked for."""
    running = config.stash.setdefault(_started, {})
    if node not in running:
        check_tier("node" if node else "apiserver", missing_prerequisites(node=node))
        running[node] = _start(config, node=node)
    return running[node]


def _start(config: pytest.Config, *, node: bool) -> Cluster:
    began = time.monotonic()
    stack = ExitStack()
    config.add_cleanup(stack.close)
    stack.callback(lambda: _loudly(f"test cluster ends after {time.monotonic() - began:.0f} s"))
    stack.enter_context(terminate_as_interrupt())
    started = stack.enter_context(Cluster(node=node))
    versions = ", ".join(f"{name} {value}" for name, value in started.versions().items())
    _loudly(f"test cluster: {versions}; Ready after {started.seconds['ready']:.1f} s")
    return started


def _loudly(text: str) -> None:
    """On the terminal, whatever pytest captures."""
    os.write(_terminal, f"\n{text}\n".encode())
