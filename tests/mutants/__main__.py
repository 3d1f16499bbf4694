"""`python -m tests.mutants [WORD…]`: plant each fault (whose name has a WORD), run its tests.

A fault whose tests stay green has survived; one whose text is not there any more is stale. Either
ends the command with 1.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.planted import FAULTS, ROOT, Fault, plant

COPIED = ("elasticgpu", "provisioners", "tests", "crds", "helm", "examples", "pyproject.toml")
TIMEOUT = 300
"""Seconds for the tests of one fault; one that makes them hang is noticed, too."""
PATIENCE = 1800
"""Seconds for the tests of all faults together."""


@dataclass(frozen=True)
class Outcome:
    """What became of one fault."""

    fault: Fault
    noticed: bool
    by: str
    seconds: float

    def __str__(self) -> str:
        verdict = "killed" if self.noticed else "SURVIVED"
        return f"{verdict:8}  {self.seconds:5.1f} s  {self.fault.name:44}  {self.by}"


@contextmanager
def copy_of_the_tree() -> Iterator[Path]:
    """A throw-away copy in which faults can be planted."""
    with tempfile.TemporaryDirectory(prefix="elasticgpu-mutants-") as folder:
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                ignored = shutil.ignore_patterns("__pycache__", ".*_cache")
                shutil.copytree(source, Path(folder) / name, ignore=ignored)
            else:
                shutil.copy2(source, Path(folder) / name)
        yield Path(folder)


def run(tests: tuple[str, ...], tree: Path, timeout: float) -> subprocess.CompletedProcess[str]:
    """The tests, on the code of that tree; stops at the first that fails."""
    paths = os.pathsep.join([str(tree), *map(str, (tree / "provisioners").iterdir())])
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider"]
    try:
        return subprocess.run(
            [*command, *tests],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, f"FAILED nothing ended in {timeout} s", "")


def judge(fault: Fault) -> Outcome:
    """Plant it and see who notices. Anything but "tests failed" (1) is no proof."""
    started = time.monotonic()
    with copy_of_the_tree() as tree:
        plant(fault, tree)
        done = run(fault.tests, tree, TIMEOUT)
    by = next((line for line in done.stdout.splitlines() if line.startswith("FAILED")), "")
    noticed = done.returncode == 1 and bool(by)
    said = by.removeprefix("FAILED ").split(" - ")[0] if noticed else done.stdout[-400:]
    return Outcome(fault, noticed, said, time.monotonic() - started)


def sound(faults: list[Fault]) -> bool:
    """Whether the tests are green without any fault; else they prove nothing."""
    tests = tuple(dict.fromkeys(test for fault in faults for test in fault.tests))
    print(f"without a fault: {len(tests)} groups of tests …", flush=True)
    done = run(tests, ROOT, PATIENCE)
    if done.returncode:
        print(done.stdout[-4000:], file=sys.stderr)
    return done.returncode == 0


def main() -> int:
    """Exit code 0 if every fault was noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD", help="only faults with it in the name")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    chosen = [f for f in FAULTS if all(word in f.name for word in options.words)]
    if not chosen:
        print(f"no fault is called {' '.join(options.words)}", file=sys.stderr)
        return 2
    if not sound(chosen):
        print("the tests fail without any fault: nothing can be said", file=sys.stderr)
        return 1
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = []
        for outcome in pool.map(judge, chosen):
            outcomes.append(outcome)
            print(outcome, flush=True)
    survived = [o.fault.name for o in outcomes if not o.noticed]
    print(f"{len(outcomes)} faults planted, {len(outcomes) - len(survived)} killed")
    for name in survived:
        print(f"survived: {name}", file=sys.stderr)
    return 1 if survived else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
