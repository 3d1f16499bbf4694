"""The file that all processes under HAMi-core's libvgpu.so map: limits and use of one claim.

A process that finds the file without its mark fills it from its environment; one that finds the
mark keeps what is there. So a file that is made before the container starts decides, whatever the
container's environment says.

Layout: `shared_region_t` of src/multiprocess/multiprocess_memory_limit.h in
github.com/Project-HAMi/HAMi-core, version 1.2, as of commit `COMMIT`, in the C types of 64-bit
Linux with glibc, little-endian. Cards are counted as CUDA counts them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

COMMIT = "8f3a89c67b037d8fdfe6c4cd4d8c4f0cd6504811"

MAGIC = 19920718
VERSION = (1, 2)
CARDS = 16
"""Cards a region has room for."""
SIZE = 2_008_952
"""Bytes of the structure; a process that opens the file writes one more behind it."""

HEAD = 0
"""i32 mark, u32 major and u32 minor version."""
SEMAPHORE = 24
"""sem_t that guards the list of processes."""
MEMORY = 1600
"""u64[16]: bytes that may be allocated on each card, 0 for any number; read at each allocation."""
CORE = 1728
"""u64[16]: percent of each card's compute, 100 for all; read once by each process."""
SWITCH = 2_008_900
"""i32: whether core limits are kept; a policy of the environment overrides it."""
RECENT_KERNEL = 2_008_904
"""i32: below 0 nothing may be launched."""
PRIORITY = 2_008_908
"""i32: 0 goes before 1."""
SEMAPHORE_POSTINIT = 2_008_920
"""sem_t that guards a process's search for its own number on the host."""

OPEN = struct.pack("<QI", 1, 0x80).ljust(32, b"\0")
"""sem_t of glibc after `sem_init(&sem, 1, 1)`: shared between processes, and free."""
NOTHING = 1
"""Bytes of memory on cards that are not the claim's: 0 would be no limit."""


@dataclass(frozen=True, slots=True)
class Region:
    """What a region says of a claim's cards, in CUDA's order, and of its priority."""

    memory: tuple[int, ...]
    core: tuple[int, ...]
    priority: int = 1

    def encode(self) -> bytes:
        """A region that no process has used yet."""
        content = bytearray(SIZE + 1)
        struct.pack_into("<iII", content, HEAD, MAGIC, *VERSION)
        struct.pack_into("<16Q", content, MEMORY, *_filled(self.memory, NOTHING))
        struct.pack_into("<16Q", content, CORE, *_filled(self.core, 100))
        struct.pack_into("<i", content, SWITCH, 1)
        struct.pack_into("<i", content, RECENT_KERNEL, 2)
        struct.pack_into("<i", content, PRIORITY, self.priority)
        for place in (SEMAPHORE, SEMAPHORE_POSTINIT):
            content[place : place + len(OPEN)] = OPEN
        return bytes(content)

    @classmethod
    def decode(cls, content: bytes, cards: int) -> Region:
        """What the file of a claim with so many cards says.

        Raises ValueError for what is no region of this version.
        """
        if len(content) < SIZE or struct.unpack_from("<iII", content, HEAD) != (MAGIC, *VERSION):
            raise ValueError(f"is no region of version {VERSION[0]}.{VERSION[1]}")
        memory, core = (struct.unpack_from(f"<{cards}Q", content, at) for at in (MEMORY, CORE))
        (priority,) = struct.unpack_from("<i", content, PRIORITY)
        return cls(memory, core, priority)


def memory_limit(card: int, size: int) -> tuple[int, bytes]:
    """Where the memory limit of a card stands, and what to write there: one aligned store."""
    return MEMORY + 8 * card, struct.pack("<Q", size)


def _filled(limits: Sequence[int], rest: int) -> list[int]:
    return [*limits, *[rest] * (CARDS - len(limits))]
