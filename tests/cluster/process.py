"""Child processes: started, watched, killed and restarted by the test cluster.

Every child is born with PR_SET_PDEATHSIG, so it dies with the test runner. That signal is bound to
the *thread* that forked, so one thread that lives as long as the runner does all the forking.
"""

import ctypes
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

# Runs before the program proper: asks for SIGKILL at the parent's death, then becomes the program.
_LAUNCHER = (
    "import ctypes,os,sys;ctypes.CDLL(None).prctl(1,9);"
    "os.getppid()==int(sys.argv[1]) or sys.exit(1);os.execv(sys.argv[2],sys.argv[2:])"
)
_INHERITED = ("PATH", "HOME", "TMPDIR", "LANG")
_requests: "queue.SimpleQueue[Callable[[], None]]" = queue.SimpleQueue()
_spawner: list[threading.Thread] = []
_spawner_guard = threading.Lock()


def start_time(pid: int) -> int | None:
    """When the process began, in clock ticks since boot; with the pid it names one process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


def kill_exactly(pid: int, started: int | None) -> None:
    """SIGKILL to that process, never to another which got its number later."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        if started is not None and start_time(pid) == started:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        pass
    finally:
        os.close(handle)


class Process:
    """One supervised child with its log file."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str | Path],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        on_start: Callable[[str, int], None] = lambda name, pid: None,
    ) -> None:
        self.name = name
        self.argv = [str(word) for word in argv]
        self.log = log
        self.env = {key: os.environ[key] for key in _INHERITED if key in os.environ} | dict(
            env or {}
        )
        self.pid: int | None = None
        self._on_start = on_start
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def alive(self) -> bool:
        """Whether the child runs."""
        return self._child is not None and self._child.poll() is None

    def start(self) -> "Process":
        """Start the child; its output is appended to the log."""
        if not self.alive:
            self._child = _in_spawner(self._spawn)
            self.pid = self._child.pid
            self._on_start(self.name, self._child.pid)
        return self

    def stop(self, timeout: float = 10) -> None:
        """SIGTERM, and SIGKILL when that is not enough."""
        if self._child is not None and self.alive:
            self._child.terminate()
            try:
                self._child.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """SIGKILL, and wait until the child is gone."""
        if self._child is not None and self.alive:
            self._child.kill()
            self._child.wait(30)

    def restart(self) -> None:
        """Kill the child as a crash would, then start it again."""
        self.kill()
        self.start()

    def tail(self, lines: int = 15) -> str:
        """The last lines of the log, for a message that must explain a failure."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def _spawn(self) -> "subprocess.Popen[bytes]":
        launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid())]
        with self.log.open("ab") as log:
            log.write(f"--- {time.strftime('%T')} {' '.join(self.argv)}\n".encode())
            log.flush()
            return subprocess.Popen(
                launcher + self.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.env,
                start_new_session=True,
            )


def _in_spawner(spawn: "Callable[[], subprocess.Popen[bytes]]") -> "subprocess.Popen[bytes]":
    """Run `spawn` in the thread that never ends, and hand back its result or its error."""
    with _spawner_guard:
        if not _spawner:
            _spawner.append(threading.Thread(target=_serve, daemon=True, name="spawner"))
            _spawner[0].start()
    answer: queue.SimpleQueue[subprocess.Popen[bytes] | Exception] = queue.SimpleQueue()

    def attempt() -> None:
        try:
            answer.put(spawn())
        except Exception as error:
            answer.put(error)

    _requests.put(attempt)
    result = answer.get(timeout=60)
    if isinstance(result, Exception):
        raise result
    return result


def _serve() -> None:
    while True:
        _requests.get()()


@contextmanager
def terminate_as_interrupt() -> Iterator[None]:
    """SIGTERM ends what runs inside as Ctrl-C does, so that it can clean up."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def detach_mount(path: str) -> None:
    """Unmount lazily: what still uses the mount keeps it, its name goes now."""
    libc = ctypes.CDLL(None, use_errno=True)
    mnt_detach = 2
    if libc.umount2(os.fsencode(path), mnt_detach):
        raise OSError(ctypes.get_errno(), f"cannot unmount {path}")
