"""Children of the test cluster end when they should, and only they."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.cluster.api import wait_for
from tests.cluster.process import Process, kill_exactly, start_time

ROOT = Path(__file__).parents[2]
_PARENT = """
import sys, time
from pathlib import Path
from tests.cluster.process import Process
child = Process("sleeper", ["/bin/sleep", "600"], log=Path(sys.argv[1])).start()
print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def sleeper(tmp_path: Path) -> Process:
    """A child that sleeps."""
    return Process("sleeper", ["/bin/sleep", "600"], log=tmp_path / "log")


def test_a_child_outlives_the_thread_that_asked_for_it(sleeper: Process) -> None:
    """A death signal comes at the end of a thread; it must not be the asking one."""
    thread = threading.Thread(target=sleeper.start)
    thread.start()
    thread.join()
    assert sleeper.alive
    sleeper.stop()
    assert not sleeper.alive


def test_restart_makes_another_process(sleeper: Process) -> None:
    """After a restart there is a new process and the old one is gone."""
    first = sleeper.start().pid
    sleeper.restart()
    assert sleeper.alive
    assert sleeper.pid != first
    assert start_time(first or 0) is None
    sleeper.kill()


def test_children_die_with_a_killed_parent(tmp_path: Path) -> None:
    """SIGKILL for the runner is SIGKILL for its children."""
    command = [sys.executable, "-c", _PARENT, str(tmp_path / "log")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        wait_for(lambda: start_time(pid), 5, "the child lives")
        parent.send_signal(signal.SIGKILL)
    wait_for(lambda: start_time(pid) is None, 5, "the child has died")


def test_only_the_recorded_process_is_killed(sleeper: Process) -> None:
    """A process that got the number of a recorded one later is left alone."""
    pid = sleeper.start().pid or 0
    kill_exactly(pid, 1)
    assert sleeper.alive
    kill_exactly(pid, start_time(pid))
    wait_for(lambda: not sleeper.alive, 5, "the child has died")


def test_a_failed_wait_shows_what_was_last_seen() -> None:
    """The error of `wait_for` names the condition and the last state."""
    with pytest.raises(TimeoutError, match=r"(?s)tea: not within 0\.1 s.*lukewarm"):
        wait_for(lambda: _look("lukewarm"), 0.1, "tea")


def _look(state: str) -> bool:
    raise AssertionError(f"it is {state}")
