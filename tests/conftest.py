"""For all tests: their order, their tables, and no event loop that nobody closes."""

import asyncio
import signal
from importlib import import_module

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# looptime asks for the loop of every test, sync ones too, and so has Python before 3.14 make one
# that nobody closes. A thread whose loop was set once, be it to None, is not given one.
asyncio.set_event_loop(None)

# A shell that runs this in the background has it ignore Ctrl-C, and every process started here
# would inherit that: those that are sent one would never hear of it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

NODE = ("tests/cluster/", "tests/cases/")
REAL = (
    *NODE,
    "tests/benchmarks/",
    "tests/cli/test_real_server",
    "tests/scenarios/test_real",
    "tests/transport/test_real_server",
)


TABLES = (
    "tests.cases.conftest",
    "tests.conformance.conftest",
    "tests.rules.mig.conftest",
    "tests.scenarios.conftest",
)


def pytest_configure(config: pytest.Config) -> None:
    """With workers the process that prints collects nothing itself: who prints a table after the
    tests is named to it."""
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        for printer in map(import_module, TABLES):
            if not config.pluginmanager.is_registered(printer):
                config.pluginmanager.register(printer)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Quick tests first: meanwhile Kubernetes may still be building. Of those that need it, the
    ones that start and kill clusters of their own come before the shared one runs."""
    items.sort(key=lambda item: (_is_real(item), "test_leftovers" not in item.nodeid))


def _is_real(item: pytest.Item) -> bool:
    return item.nodeid.startswith(REAL) or item.get_closest_marker("apiserver") is not None


class Halves(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """For two workers: the node is idle in most of its tests' time, all else goes on beside it."""

    def _split_scope(self, nodeid: str) -> str:
        return "node" if nodeid.startswith(NODE) else "rest"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Halves:
    """Each half of the tests to one worker, in its order."""
    return Halves(config, log)
