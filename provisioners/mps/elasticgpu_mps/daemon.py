"""The MPS control daemon of a card: started with the first device, gone with the last.

Its folder is `<uuid of the card>/` in the plugin's run directory: `pipe`, `log` and `shm`, the
`devices` that it serves, and the `options` it was started with. Nothing else remembers anything, so
a new agent adopts a daemon that answers. Of several cards the first names the folder.
The caller holds the folder's lock.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter

from elasticgpu.api.quantity import format_bytes
from elasticgpu.errors import Refused, Retry
from elasticgpu.provisioner import Host

from .control import Control

SCRATCH = 0o1777
"""Who may write into /dev/shm: everybody, and nobody may remove what is another's."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one process may have: percent of the multiprocessors, MiB of each card's memory."""

    core: int
    memory: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Options:
    """What a daemon is started with and keeps: who may be served, bytes of its /dev/shm."""

    multi_user: bool
    shm_size: int

    def __str__(self) -> str:
        return f"multiUser {str(self.multi_user).lower()} and shmSize {format_bytes(self.shm_size)}"


SHARES = TypeAdapter(dict[str, Share])
OPTIONS = TypeAdapter(Options)


class Daemon:
    """The control daemon over these cards; `cards` are uuids by the names of GPU objects."""

    def __init__(self, host: Host, cards: Mapping[str, str]) -> None:
        self.host = host
        self.cards = cards
        first = next(iter(cards.values()))
        self.folder = host.run_dir / re.sub("[^A-Za-z0-9-]", "_", first)  # whoever wrote the device
        self.pipe, self.log, self.shm = (self.folder / name for name in ("pipe", "log", "shm"))
        self.control = Control(host, self.pipe, self.log, " and ".join(cards))

    async def serve(self, device: str, share: Share, options: Options) -> None:
        """Have the daemon run with these options, and the device served by it.

        Raises Retry if it hangs, fails, or runs with others for others; Refused if it does not
        keep a limit.
        """
        others = {name: of for name, of in self._served().items() if name != device}
        kept = self._options()
        if kept not in (None, options):
            if others:
                raise Retry(
                    f"the MPS daemon of {self.control.name} runs with other options, {kept}, for "
                    f"{', '.join(sorted(others))}: it waits until they have left"
                )
            await self._stop()
        self.host.files.directory(self.folder)
        self.host.files.write(self.folder / "options", OPTIONS.dump_json(options))
        served = dict(sorted({**others, device: share}.items()))
        self.host.files.write(self.folder / "devices", SHARES.dump_json(served))
        await self._run(options, restarted=bool(others))
        core = max(of.core for of in served.values())
        memory = [max(sizes) for sizes in zip(*(of.memory for of in served.values()), strict=True)]
        await self.control.limit(core, list(zip(self.cards.values(), memory, strict=True)))

    async def forget(self, device: str) -> None:
        """Serve the device no more; after the last one nothing is left. Can be done twice.

        Raises Retry if the daemon does not end.
        """
        if not self.host.files.exists(self.folder):
            return
        left = {name: of for name, of in self._served().items() if name != device}
        if left:
            self.host.files.write(self.folder / "devices", SHARES.dump_json(left))
        else:
            await self._stop()

    def _served(self) -> dict[str, Share]:
        content = self.host.files.read(self.folder / "devices")
        return SHARES.validate_json(content) if content else {}

    def _options(self) -> Options | None:
        content = self.host.files.read(self.folder / "options")
        return OPTIONS.validate_json(content) if content else None

    async def _run(self, options: Options, *, restarted: bool) -> None:
        """Have it run: adopted if it answers, else started on cards that nobody computes on."""
        answers = await self.control.answers()
        if not (answers or restarted):
            await self._vacant()
        self.host.files.directory(self.pipe)
        self.host.files.directory(self.log)
        self.host.files.directory(self.shm, SCRATCH)  # of what is mounted there, if it is
        await self.host.files.mount_tmpfs(self.shm, options.shm_size)
        for gpu in self.cards:
            if await self.host.nvml.compute_mode(gpu) != "EXCLUSIVE_PROCESS":
                await self.host.nvml.set_compute_mode(gpu, "EXCLUSIVE_PROCESS")
        if not answers:
            await self.control.start(list(self.cards.values()), multi_user=options.multi_user)

    async def _vacant(self) -> None:
        for gpu in self.cards:
            if found := await self.host.nvml.processes(gpu):
                pids = ", ".join(map(str, found))
                raise Retry(f"MPS needs {gpu} to itself, and processes compute on it: {pids}")

    async def _stop(self) -> None:
        """End the daemon and leave the cards as they were; the folder, which remembers, last."""
        await self.control.quit()
        for gpu in self.cards:
            if self._here(gpu) and await self.host.nvml.compute_mode(gpu) != "DEFAULT":
                await self.host.nvml.set_compute_mode(gpu, "DEFAULT")
        await self.host.files.unmount(self.shm)
        self.host.files.remove(self.folder)

    def _here(self, gpu: str) -> bool:
        try:
            self.host.card(gpu)
        except Refused:
            return False  # was taken out: it has no mode
        return True
