"""A stand-in for nvidia-cuda-mps-control on a node in memory: it keeps limits and answers them.

It serves nobody; on a real node a script stands in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

NO_DAEMON = "Cannot find MPS control daemon process"


@dataclass
class Daemon:
    """What one control daemon was started with and told."""

    visible: str = ""
    options: list[str] = field(default_factory=list)
    limits: dict[str, str] = field(default_factory=dict)
    servers: list[int] = field(default_factory=list)
    deaf: bool = False
    """Takes limits and forgets them."""

    def answer(self, line: str) -> str:
        """What it says to a command, as far as it is known here."""
        word, *rest = line.split()
        if word == "get_server_list":
            return "\n".join(map(str, self.servers))
        if word.startswith("get_"):
            unset = "100.0" if "percentage" in word else ""
            return self.limits.get(" ".join([word.removeprefix("get_"), *rest]), unset)
        if word.startswith("set_") and not self.deaf:
            key = " ".join([word.removeprefix("set_"), *rest[:-1]])
            self.limits[key] = f"{float(rest[-1])}" if "percentage" in word else rest[-1]
        return ""


@dataclass
class Control:
    """The program, and all daemons it started, by pipe directory."""

    daemons: dict[str, Daemon] = field(default_factory=dict)

    def run(self, argv: Sequence[str], stdin: str, env: Mapping[str, str]) -> tuple[int, str]:
        """Start a daemon, or put one question to it: exit status and output."""
        pipe = env["CUDA_MPS_PIPE_DIRECTORY"]
        if "-d" in argv:
            if pipe in self.daemons:
                return 1, "An instance of this daemon is already running"
            self.daemons[pipe] = Daemon(env["CUDA_VISIBLE_DEVICES"], list(argv[1:]))
            return 0, ""
        if pipe not in self.daemons:
            return 1, NO_DAEMON
        if stdin.strip() == "quit":
            del self.daemons[pipe]
            return 0, ""
        return 0, "\n".join(self.daemons[pipe].answer(line) for line in stdin.splitlines())
