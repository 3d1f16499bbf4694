"""A node in memory, for plugins' tests: made-up cards, files in a dictionary, programs in Python.

What a plugin left behind can be looked at: `files.content`, `files.mounts`, `programs.calls`, and
what `nvml` was told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from elasticgpu.agent import devices
from elasticgpu.agent.host import Machine, NodeHost
from elasticgpu.agent.local import not_too_large
from elasticgpu.agent.simulated import SimulatedNvml
from elasticgpu.api.gpu import GPU
from elasticgpu.errors import Refused
from elasticgpu.host import Finished

Program = Callable[[Sequence[str], str, Mapping[str, str]], Finished]
"""Stands in for a program: gets its arguments, input and variables, answers how it ended."""


@dataclass
class FakeFiles:
    """Files by path; None is a directory."""

    content: dict[Path, bytes | None] = field(default_factory=dict)
    modes: dict[Path, int] = field(default_factory=dict)
    mounts: dict[Path, int] = field(default_factory=dict)
    """Sizes of the tmpfs that are mounted, in bytes."""

    def directory(self, path: Path, mode: int = 0o755) -> None:
        """See `Files`."""
        for parent in path.parents:
            self.content.setdefault(parent, None)
        if self.content.setdefault(path, None) is not None:
            raise Refused(f"cannot make directory {path}: there is a file")
        self.modes[path] = mode

    def write(self, path: Path, content: bytes, mode: int = 0o644) -> None:
        """See `Files`."""
        if self.content.get(path.parent, b"") is not None:
            raise Refused(f"cannot write {path}: there is no directory {path.parent}")
        if path in self.content and self.content[path] is None:
            raise Refused(f"cannot write {path}: it is a directory")
        self.content[path], self.modes[path] = content, mode

    def patch(self, path: Path, offset: int, content: bytes) -> None:
        """See `Files`."""
        old = self.content.get(path)
        if old is None:
            raise Refused(f"cannot change {path}: there is no such file")
        old = old.ljust(offset, b"\0")
        self.content[path] = old[:offset] + content + old[offset + len(content) :]

    def read(self, path: Path) -> bytes | None:
        """See `Files`."""
        if path in self.content and self.content[path] is None:
            raise Refused(f"cannot read {path}: it is a directory")
        content = self.content.get(path)
        return None if content is None else not_too_large(path, content)

    def exists(self, path: Path) -> bool:
        """See `Files`."""
        return path in self.content

    def remove(self, path: Path) -> None:
        """See `Files`."""
        if any(mount.is_relative_to(path) for mount in self.mounts):
            raise Refused(f"cannot remove {path}: something is mounted there")
        for gone in [one for one in self.content if one.is_relative_to(path)]:
            del self.content[gone]

    async def mount_tmpfs(self, path: Path, size: int) -> None:
        """See `Files`."""
        if path not in self.content:
            raise Refused(f"cannot mount on {path}: there is no such directory")
        self.mounts.setdefault(path, size)

    async def unmount(self, path: Path) -> None:
        """See `Files`."""
        self.mounts.pop(path, None)

    def left(self) -> list[Path]:
        """The files there are now, sorted: what nobody removed."""
        return sorted(path for path, content in self.content.items() if content is not None)


@dataclass
class FakePrograms:
    """Programs by name. One that is not there cannot be run, as on a node that lacks it."""

    known: dict[str, Program] = field(default_factory=dict)
    calls: list[tuple[tuple[str, ...], str]] = field(default_factory=list)
    """Each call's arguments and input, in order."""

    async def run(
        self, argv: Sequence[str], *, stdin: str, env: Mapping[str, str], timeout: float
    ) -> Finished:
        """See `Host.run`."""
        self.calls.append((tuple(argv), stdin))
        program = self.known.get(Path(argv[0]).name)
        if program is None:
            raise Refused(f"{argv[0]} cannot be run: No such file or directory")
        return program(argv, stdin, env)


@dataclass
class FakeNode:
    """A node with these cards; `host` is what a plugin gets of it."""

    cards: Mapping[str, GPU]
    name: str = "node-a"
    files: FakeFiles = field(default_factory=FakeFiles)
    programs: FakePrograms = field(default_factory=FakePrograms)
    nvml: SimulatedNvml = field(init=False)

    def __post_init__(self) -> None:
        self.nvml = SimulatedNvml(self.cards.values())

    @classmethod
    def of(cls, cards: Iterable[GPU], name: str = "node-a") -> FakeNode:
        """A node with these cards."""
        return cls({card.name: card for card in cards}, name)

    @property
    def machine(self) -> Machine:
        """What its hosts are made of."""
        return Machine(
            nvml=self.nvml,
            files=self.files,
            run=self.programs.run,
            nodes=lambda card: devices.nodes(card, devices.MADE_UP),
            capabilities=devices.made_up_capabilities,
            state_dir=Path("/var/lib/elasticgpu/plugins"),
            run_dir=Path("/run/elasticgpu"),
        )

    def host(self, driver: str, tag: str = "0") -> NodeHost:
        """The node as the plugin of this name sees it, for a pod's entry of this tag."""
        return NodeHost(self.name, self.cards, tag, driver, self.machine)

    def reboot(self) -> None:
        """What does not outlive the machine is gone: files of this boot, mounts, compute modes."""
        self.files.mounts.clear()
        self.files.remove(self.machine.run_dir)
        self.nvml.reload()
