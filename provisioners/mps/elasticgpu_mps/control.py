"""What is said to a control daemon, and what it answers.

Source of commands and variables: NVIDIA, Multi-Process Service, "nvidia-cuda-mps-control" and
"Environment Variables".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elasticgpu.errors import Refused, Retry
from elasticgpu.provisioner import Host

PROGRAM = "nvidia-cuda-mps-control"
ANSWER = 5.0
"""Seconds that the daemon may take to answer: it can hang."""
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, slots=True)
class Control:
    """The control daemon at these pipes; `name` is for people."""

    host: Host
    pipe: Path
    log: Path
    name: str

    async def start(self, uuids: Sequence[str], *, multi_user: bool) -> None:
        """Start it over these cards. Raises Retry with its words if it does not run then."""
        words = ["-d", *(["-multiuser-server"] if multi_user else [])]
        variables = {**self._variables, "CUDA_VISIBLE_DEVICES": ",".join(uuids)}
        done = await self.host.run([PROGRAM, *words], env=variables)
        if done.status or not await self.answers():
            said = " ".join(done.output.split()) or f"status {done.status}, and no answer"
            raise Retry(f"the MPS daemon of {self.name} does not start: {said}; see {self.log}")

    async def quit(self) -> None:
        """Have it not run. Raises Retry if it does all the same."""
        if not await self.answers():
            return
        await self._told("quit")
        if await self.answers():
            raise Retry(f"the MPS daemon of {self.name} still runs after it was told to quit")

    async def answers(self) -> bool:
        """Whether it runs. Raises Retry if it hangs."""
        try:
            status, _ = await self._asked("get_default_active_thread_percentage")
        except Refused:
            return False  # the program is not installed, or not any more
        return status == 0

    async def limit(self, core: int, memory: Sequence[tuple[str, int]]) -> None:
        """No process gets more than this percentage and, by uuid, MiB: neither of servers to come
        nor, for their next clients, of those that run. Raises Refused if that is not kept."""
        servers = re.findall(r"^\d+$", await self._told("get_server_list"), re.MULTILINE)
        for of, *server in [("default_",), *(("", pid) for pid in servers)]:
            await self._have(f"{of}active_thread_percentage", server, str(core))
            for uuid, mib in memory:
                await self._have(f"{of}device_pinned_mem_limit", [*server, uuid], f"{mib}M")

    async def _have(self, limit: str, of: Sequence[str], value: str) -> None:
        """Set the limit unless it is so, and read it back."""
        asked = " ".join([f"get_{limit}", *of])
        if same(await self._told(asked), value):
            return
        said = await self._told(" ".join([f"set_{limit}", *of, value]))
        kept = await self._told(asked)
        if not same(kept, value):
            raise Refused(
                f"the MPS daemon of {self.name} was told {limit} {value} and has "
                f"{kept or 'none'}{f': {said}' if said else ''}; see {self.log}"
            )

    async def _told(self, command: str) -> str:
        status, said = await self._asked(command)
        if status:
            raise Retry(f"the MPS daemon of {self.name} answers {command} with: {said or status}")
        return said

    async def _asked(self, command: str) -> tuple[int, str]:
        done = await self.host.run(
            [PROGRAM], stdin=f"{command}\n", env=self._variables, timeout=ANSWER
        )
        return done.status, done.output.strip()

    @property
    def _variables(self) -> dict[str, str]:
        return {
            "CUDA_MPS_PIPE_DIRECTORY": str(self.pipe),
            "CUDA_MPS_LOG_DIRECTORY": str(self.log),
        }


def same(kept: str, value: str) -> bool:
    """Whether the daemon's answer is this percentage or size, whatever unit it writes it in.

    >>> same("50.0", "50"), same("4G", "4096M"), same("4294967296", "4096M")
    (True, True, True)
    >>> same("", "50"), same("49.9", "50"), same("no such device", "4096M")
    (False, False, False)
    """
    return None is not _amount(kept) == _amount(value)


def _amount(text: str) -> float | None:
    """A percentage, or bytes."""
    found = re.fullmatch(r"(\d+(?:\.\d*)?) ?([KMG]?)B?", text, re.IGNORECASE)
    return float(found[1]) * UNITS[found[2].upper()] if found else None
