"""How a command line begins and ends: quickly, and without a trace of Python."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from elasticgpu.cli import questions
from elasticgpu.cli.main import main

COMMANDS = ("get", "tree", "why", "release", "import", "controller", "agent", "crds", "apiserver")
HEAVY = ("aiohttp", "asyncio", "elasticgpu.api", "kubernetes_asyncio", "pydantic", "yaml")
PROBE = """
import sys
from elasticgpu.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    print(end.code, *sorted(sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize("words", [(), *((command,) for command in COMMANDS)])
def test_help_imports_nothing_heavy(words: tuple[str, ...]) -> None:
    """Neither the models nor the Kubernetes client: who asks for help does not wait for them."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *words, "--help"], capture_output=True, text=True, check=True
    )
    code, *modules = done.stderr.split()
    assert code == "0"
    assert "Usage:" in done.stdout
    assert not [m for m in modules if m in HEAVY or m.startswith(tuple(f"{h}." for h in HEAVY))]


def test_help_names_every_command() -> None:
    """Each in one line that is not cut."""
    text = CliRunner().invoke(main, ["--help"]).output
    for command in COMMANDS:
        (line,) = (row for row in text.splitlines() if row.startswith(f"  {command} "))
        assert not line.endswith("...")


@pytest.mark.parametrize(
    ("program", "called"),
    [("elasticgpu", "elasticgpu"), ("kubectl-elasticgpu", "kubectl elasticgpu")],
)
def test_what_it_is_called(program: str, called: str) -> None:
    """Under kubectl it calls itself as people typed it."""
    installed = Path(sys.executable).with_name(program)
    done = subprocess.run([installed, "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"Usage: {called} [OPTIONS]")


@pytest.mark.parametrize(
    "words",
    [
        ("nonsense",),
        ("get", "clams"),
        ("get", "claim/a", "b"),
        ("get", "claim/a", "gpu/b"),
        ("get", "-n", "team", "-A"),
        ("get", "-o", "xml"),
        ("get", "--request-timeout", "soon"),
        ("get", "--request-timeout", "0"),
        ("release",),
        ("release", "egpu-a", "--all-released"),
        ("release", "egpu-a", "-n", "team"),
    ],
)
def test_misuse(words: tuple[str, ...]) -> None:
    """What makes no sense is refused before anything is asked, with exit code 2."""
    done = CliRunner(env={"KUBECONFIG": "/nowhere"}).invoke(main, words)
    assert done.exit_code == 2
    assert "Error: " in done.stderr


def test_a_near_word() -> None:
    """A slip of the finger is recognised."""
    done = CliRunner().invoke(main, ["get", "divices"])
    assert "there is nothing called divices: did you mean devices?" in done.stderr


def kubeconfig(where: Path, server: str) -> str:
    """A kubeconfig of this server and nobody."""
    content = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "users": [],
    }
    where.write_text(json.dumps(content))
    return str(where)


def test_without_a_cluster(tmp_path: Path) -> None:
    """No kubeconfig, or one that leads nowhere: a sentence each."""
    done = CliRunner(env={"KUBECONFIG": "/nowhere"}).invoke(main, ["get"])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "Error: kubeconfig /nowhere does not exist\n"
    config = kubeconfig(tmp_path / "config", "http://127.0.0.1:1")
    done = CliRunner(env={"KUBECONFIG": config}).invoke(main, ["get"])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: http://127.0.0.1:1 does not answer (")


@pytest.mark.parametrize("how", [KeyboardInterrupt, click.Abort])
def test_ctrl_c(monkeypatch: pytest.MonkeyPatch, how: type[BaseException]) -> None:
    """It ends with the code shells expect, and not a word."""

    def leave(**_: object) -> None:
        raise how

    monkeypatch.setattr(questions.tree, "callback", leave)
    done = CliRunner().invoke(main, ["tree"])
    assert (done.exit_code, done.output) == (130, "")


def test_ctrl_c_while_it_waits(tmp_path: Path) -> None:
    """Also in the middle of a request that nobody answers."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        silent.settimeout(60)
        config = kubeconfig(tmp_path / "config", f"http://127.0.0.1:{silent.getsockname()[1]}")
        running = subprocess.Popen(
            [sys.executable, "-m", "elasticgpu", "get"],
            env={**os.environ, "KUBECONFIG": config},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        accepted, _ = silent.accept()
        with accepted:
            accepted.settimeout(60)
            assert accepted.recv(3) == b"GET"  # connecting is over, and asyncio's own races with it
            running.send_signal(signal.SIGINT)
            said = running.communicate(timeout=60)
    assert (running.returncode, *said) == (130, b"", b"")


def test_a_reader_that_left() -> None:
    """`elasticgpu crds | head -1` says nothing about broken pipes."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing) as closed:
        done = subprocess.run(
            [sys.executable, "-m", "elasticgpu", "crds"],
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize("blocked", [(), ("uvloop",)])
def test_processes_run_on_the_fast_loop_or_the_plain_one(blocked: tuple[str, ...]) -> None:
    """uvloop comes with the extra `fast` and need not be there; `asyncio` without it serves too."""
    code = (
        "import sys; sys.modules.update(dict.fromkeys(sys.argv[1:])); "
        "import asyncio; from elasticgpu.cli.running import loop_factory; "
        "runner = asyncio.Runner(loop_factory=loop_factory()); "
        "print(type(runner.get_loop()).__module__.partition('.')[0]); runner.close()"
    )
    command = [sys.executable, "-c", code, *blocked]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ("asyncio" if blocked else "uvloop")
