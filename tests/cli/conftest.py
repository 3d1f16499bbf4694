"""The command line as a person has it, and the scene it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from elasticgpu.cli import session
from elasticgpu.cli.main import main
from tests.cluster.cluster import Cluster
from tests.cluster.fixtures import control_plane

from .scene import Scene

__all__ = ["control_plane"]

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def scene(control_plane: Cluster) -> Iterator[Scene]:
    """The scene on a real API server: set once, and cleared away for whoever comes next."""
    here = Scene(control_plane)
    here.set()
    yield here
    here.clear()


@pytest.fixture
def elasticgpu(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command line as the scene's admin, a hundred days after it was set."""
    monkeypatch.setattr(session, "timestamp", lambda: scene.later)

    def run(*words: str, kubeconfig: Path | None = None, stdin: str = "") -> Result:
        env = {"KUBECONFIG": str(kubeconfig or scene.cluster.kubeconfig), "NO_COLOR": ""}
        return CliRunner(env=env).invoke(main, words, input=stdin)

    return run
