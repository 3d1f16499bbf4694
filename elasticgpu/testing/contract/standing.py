"""How the node stands, compared before and after: what is left, gone or changed, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from elasticgpu.testing.host import FakeNode

from .watching import run


@dataclass(frozen=True)
class Standing:
    """A node at one moment; `more` is what a subclass adds to it."""

    files: Mapping[Path, bytes]
    directories: frozenset[Path]
    mounts: Mapping[Path, int]
    modes: Mapping[str, str]
    mig: Mapping[str, str]
    more: object = None

    @classmethod
    def of(cls, node: FakeNode, more: object = None) -> Standing:
        """How this node stands now."""
        content = node.files.content
        return cls(
            files={path: data for path, data in content.items() if data is not None},
            directories=frozenset(path for path, data in content.items() if data is None),
            mounts=dict(node.files.mounts),
            modes=run(_modes(node)),
            mig=run(_mig(node)),
            more=deepcopy(more),
        )

    def without(self, patterns: tuple[str, ...]) -> Standing:
        """The same, but for the files whose path matches one of these shell patterns."""
        return Standing(
            {
                path: data
                for path, data in self.files.items()
                if not any(fnmatch(str(path), pattern) for pattern in patterns)
            },
            self.directories,
            self.mounts,
            self.modes,
            self.mig,
            self.more,
        )


async def _modes(node: FakeNode) -> dict[str, str]:
    return {name: await node.nvml.compute_mode(name) for name in node.cards}


async def _mig(node: FakeNode) -> dict[str, str]:
    found = {}
    for name in (card.name for card in node.cards.values() if card.status.mig):
        mode, pending = await node.nvml.mig_mode(name)
        cut = [f"{one.profile} at {one.start}" for one in await node.nvml.gpu_instances(name)]
        then = f", then {pending}" if pending != mode else ""
        found[name] = f"{mode}{then}, with {len(cut)} instances{': ' * bool(cut)}{', '.join(cut)}"
    return found


def changes(before: Standing, after: Standing) -> Iterator[str]:
    """What is not as it was, a sentence each; directories apart: see `grown`."""
    for what, old, new in (
        ("file", before.files, after.files),
        ("tmpfs on", before.mounts, after.mounts),
    ):
        yield from (f"{what} {path} is left" for path in sorted(new.keys() - old.keys()))
        yield from (f"{what} {path} is gone" for path in sorted(old.keys() - new.keys()))
        both = sorted(old.keys() & new.keys())
        yield from (f"{what} {path} was changed" for path in both if old[path] != new[path])
    for what, was, now in (
        ("compute mode of", before.modes, after.modes),
        ("MIG mode of", before.mig, after.mig),
    ):
        for card, mode in sorted(now.items()):
            if was.get(card, mode) != mode:
                yield f"{what} {card} is {mode}, it was {was[card]}"
    if after.more != before.more:
        yield f"there is {after.more!r}, there was {before.more!r}"


def grown(before: Standing, after: Standing) -> Iterator[str]:
    """Directories that were not there before, a sentence each."""
    for path in sorted(after.directories - before.directories):
        yield f"directory {path} is left"
