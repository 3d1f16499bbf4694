"""Who may import whom: the contracts of pyproject.toml hold, and each of them can fail."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
LINTER = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
NAMES = {contract["id"]: contract["name"] for contract in LINTER["contracts"]}
PLUGINS = sorted(p.name for p in (ROOT / "provisioners").glob("*/elasticgpu_*") if p.is_dir())


class Verdict(NamedTuple):
    """Which contracts are broken, and all that was said."""

    broken: set[str]
    said: str


def lint(root: Path) -> Verdict:
    """What import-linter says of the sources below this folder."""
    paths = [str(root), *map(str, (root / "provisioners").glob("*"))]
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
        cwd=root,
        env={"PYTHONPATH": ":".join(paths), "COLUMNS": "500", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    kept = {name for name, title in NAMES.items() if f"{title} KEPT" in done.stdout}
    broken = {name for name, title in NAMES.items() if f"{title} BROKEN" in done.stdout}
    assert kept | broken == set(NAMES), done.stdout + done.stderr
    assert (done.returncode == 0) is (not broken)
    return Verdict(broken, done.stdout)


def test_contracts_hold() -> None:
    """No import of this project goes where it may not."""
    verdict = lint(ROOT)
    assert verdict.broken == set(), verdict.said


def test_every_plugin_is_checked() -> None:
    """A plugin folder that the contracts do not name would import what it likes."""
    assert sorted(LINTER["root_packages"]) == ["elasticgpu", *PLUGINS]
    for name in ("kubernetes", "http", "grpc", "plugins"):
        (contract,) = (c for c in LINTER["contracts"] if c["id"] == name)
        assert set(contract["source_modules"]) >= set(PLUGINS)
    (contract,) = (c for c in LINTER["contracts"] if c["id"] == "no-plugin")
    assert contract["forbidden_modules"] == PLUGINS


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources and the contracts, where a line may be planted."""
    root = tmp_path_factory.mktemp("planted")
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copy(ROOT / "pyproject.toml", root)
    shutil.copytree(ROOT / "elasticgpu", root / "elasticgpu", ignore=unwanted)
    for name in PLUGINS:
        (folder,) = (ROOT / "provisioners").glob(f"*/{name}")
        place = root / folder.relative_to(ROOT)
        shutil.copytree(folder, place, ignore=unwanted)
    return root


QGPU = "provisioners/qgpu/elasticgpu_qgpu"
PLANTED: list[tuple[str, str, str]] = [
    ("rooms", "elasticgpu/errors.py", "import elasticgpu.api"),
    ("rooms", "elasticgpu/api/planted.py", "from elasticgpu.rules import ledger"),
    ("rooms", "elasticgpu/rules/planted.py", "import elasticgpu.provisioner"),
    ("rooms", "elasticgpu/rules/planted.py", "from elasticgpu.cluster import store"),
    ("rooms", "elasticgpu/provisioner.py", "from elasticgpu.cluster import store"),
    ("rooms", "elasticgpu/cluster/planted.py", "from elasticgpu.controllers import world"),
    ("rooms", "elasticgpu/controllers/planted.py", "from elasticgpu.agent import cdi"),
    ("rooms", "elasticgpu/agent/planted.py", "from elasticgpu.controllers import world"),
    ("rooms", "elasticgpu/agent/planted.py", "from elasticgpu.cli import main"),
    ("rooms", "elasticgpu/cli/planted.py", "import elasticgpu.__main__"),
    ("rooms", "elasticgpu/_proto/planted.py", "import elasticgpu.errors"),
    ("rooms", "elasticgpu/scheduler/__init__.py", "from elasticgpu.controllers import world"),
    ("rooms", "elasticgpu/webhook/__init__.py", "from elasticgpu.agent import cdi"),
    ("rooms", "elasticgpu/testing/__init__.py", "from elasticgpu.cli import main"),
    ("rooms", "elasticgpu/a_new_room/__init__.py", ""),
    *(("pure", "elasticgpu/rules/planted.py", f"import {name}") for name in (
        "asyncio", "logging", "os", "random", "time")),
    *(("pure", "elasticgpu/api/planted.py", f"import {name}") for name in (
        "asyncio", "logging", "os", "random", "time")),
    ("pure", "elasticgpu/rules/planted.py", "def now():\n    from time import time"),
    ("kubernetes", "elasticgpu/controllers/planted.py", "import kubernetes_asyncio.client"),
    ("kubernetes", "elasticgpu/cli/planted.py", "from kubernetes_asyncio import config"),
    ("kubernetes", f"{QGPU}/planted.py", "import kubernetes_asyncio"),
    ("http", "elasticgpu/agent/planted.py", "import aiohttp"),
    ("http", "elasticgpu/controllers/planted.py", "from aiohttp import web"),
    ("grpc", "elasticgpu/cli/planted.py", "import grpc"),
    ("grpc", "elasticgpu/controllers/planted.py", "from grpc import aio"),
    ("grpc", "elasticgpu/cluster/planted.py", "from google.protobuf import message"),
    ("grpc", "elasticgpu/cli/planted.py", "from elasticgpu._proto import dra_v1_pb2"),
    ("no-plugin", "elasticgpu/cli/planted.py", "import elasticgpu_qgpu"),
    ("no-plugin", "elasticgpu/provisioner.py", "def find():\n    from elasticgpu_qgpu import QGPU"),
    ("plugins", f"{QGPU}/planted.py", "from elasticgpu.cluster import client"),
    ("plugins", f"{QGPU}/planted.py", "from elasticgpu.controllers import world"),
    ("plugins", f"{QGPU}/planted.py", "from elasticgpu.agent import cdi"),
    ("plugins", f"{QGPU}/__init__.py", "from elasticgpu.cli import main"),
]  # fmt: skip


@contextmanager
def planted(root: Path, path: str, line: str) -> Iterator[None]:
    """The line at the end of the file; afterwards everything is as it was."""
    file = root / path
    before = file.read_text() if file.exists() else None
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{before or ''}\n{line}\n")
    yield
    if before is not None:
        file.write_text(before)
    elif file.name == "__init__.py":
        shutil.rmtree(file.parent)
    else:
        file.unlink()


@pytest.mark.parametrize(
    ("contract", "path", "line"),
    [pytest.param(*row, id=f"{row[0]}:{row[1]}:{row[2].split(' ', 1)[-1]}") for row in PLANTED],
)
def test_contract_can_fail(copy: Path, contract: str, path: str, line: str) -> None:
    """One wrong line, and the contract it breaks says so."""
    with planted(copy, path, line):
        verdict = lint(copy)
    assert contract in verdict.broken, verdict.said


def test_every_contract_was_seen_to_fail() -> None:
    """There is no contract without a planted line."""
    assert {contract for contract, _, _ in PLANTED} == set(NAMES)


ALLOWED = [
    ("elasticgpu/cluster/planted.py", "import aiohttp, kubernetes_asyncio, asyncio, time"),
    ("elasticgpu/cli/planted.py", "from aiohttp import web\nfrom elasticgpu.agent import cdi"),
    ("elasticgpu/agent/planted.py", "import grpc\nfrom elasticgpu._proto import dra_v1_pb2"),
    ("elasticgpu/webhook/__init__.py", "from elasticgpu.cluster import client"),
    ("elasticgpu/scheduler/__init__.py", "from elasticgpu.rules import placement"),
    ("elasticgpu/testing/__init__.py", "from elasticgpu.agent import cdi"),
    (f"{QGPU}/planted.py", "import os, elasticgpu.errors\nfrom elasticgpu.rules import ledger"),
]


def test_what_is_allowed(copy: Path) -> None:
    """The contracts do not refuse what each room is there for, nor the rooms still to come."""
    with ExitStack() as stack:
        for path, line in ALLOWED:
            stack.enter_context(planted(copy, path, line))
        verdict = lint(copy)
    assert verdict.broken == set(), verdict.said
