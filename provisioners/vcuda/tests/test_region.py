"""The region: what is written is read back, and lies where a C compiler puts it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from elasticgpu_vcuda import region
from elasticgpu_vcuda.region import Region, memory_limit

GI = 1 << 30
ONE = Region((4 * GI, GI), (30, 100), priority=0)

PROGRAM = r"""
#include <fcntl.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

struct memory { uint64_t context, module, data, offset, total, spare[3]; };
struct activity { uint64_t decoder, encoder, sm, spare[3]; };
struct process {
  int32_t pid, host_pid;
  struct memory used[16];
  uint64_t monitored[16];
  struct activity activity[16];
  int32_t status;
  uint64_t sequence, spare[2];
};
struct region {
  int32_t mark;
  uint32_t major, minor;
  int32_t sm_done;
  size_t owner;
  sem_t list;
  uint64_t cards;
  char uuids[16][96];
  uint64_t memory[16], core[16];
  struct process processes[1024];
  int32_t count, utilization_switch, recent_kernel, priority;
  uint64_t last_kernel;
  sem_t postinit;
};

int main(int argc, char **argv) {
  int file = open(argv[1], O_RDWR);
  struct region *r =
      mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  printf("%zu %zu %zu %zu %zu %zu %zu %zu %zu\n", sizeof *r, offsetof(struct region, list),
         offsetof(struct region, memory), offsetof(struct region, core),
         offsetof(struct region, utilization_switch), offsetof(struct region, recent_kernel),
         offsetof(struct region, priority), offsetof(struct region, postinit), sizeof(sem_t));
  printf("%d %u %u %lu %lu %lu %lu %lu %lu %d %d %d %d\n", r->mark, r->major, r->minor,
         r->memory[0], r->memory[1], r->memory[2], r->core[0], r->core[1], r->core[15], r->count,
         r->utilization_switch, r->recent_kernel, r->priority);
  for (int i = 0; i < 2; i++)
    printf("%d %d ", sem_trywait(&r->list), sem_trywait(&r->postinit));
  printf("\n");
  sem_t made;
  __builtin_memset(&made, 0, sizeof made);
  sem_init(&made, 1, 1);
  for (size_t i = 0; i < sizeof made; i++) printf("%02x", ((unsigned char *)&made)[i]);
  printf("\n");
  return 0;
}
"""


def test_what_is_written_is_read_back() -> None:
    """Of any number of cards, up to sixteen."""
    assert Region.decode(ONE.encode(), 2) == ONE
    full = Region(tuple(range(1, 17)), tuple(range(17, 33)))
    assert Region.decode(full.encode(), 16) == full
    assert len(ONE.encode()) == region.SIZE + 1 == 2_008_953


def test_other_cards_have_nothing() -> None:
    """Memory 0 would be no limit."""
    assert Region.decode(ONE.encode(), 16).memory[2:] == (1,) * 14


@pytest.mark.parametrize(
    "content",
    [b"", bytes(region.SIZE + 1), ONE.encode()[: region.SIZE - 1], b"\1" + ONE.encode()[1:]],
    ids=["empty", "unmarked", "short", "other-mark"],
)
def test_what_is_no_region(content: bytes) -> None:
    """Said, whatever it is."""
    with pytest.raises(ValueError, match=r"is no region of version 1\.2"):
        Region.decode(content, 1)


def test_one_limit_is_changed() -> None:
    """Eight aligned bytes, and nothing else."""
    at, store = memory_limit(1, 2 * GI)
    content = ONE.encode()
    grown = content[:at] + store + content[at + len(store) :]
    assert (len(store), at % 8) == (8, 0)
    assert Region.decode(grown, 2) == Region((4 * GI, 2 * GI), ONE.core, ONE.priority)


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc: the layout is not compared with C's")
def test_where_a_c_compiler_puts_it(tmp_path: Path) -> None:
    """A program with the same structure finds all of it in the file, and takes both locks once."""
    (tmp_path / "look.c").write_text(PROGRAM)
    (tmp_path / "one.cache").write_bytes(ONE.encode())
    program = tmp_path / "look"
    subprocess.run(["gcc", "-pthread", "-o", program, tmp_path / "look.c"], check=True, timeout=60)
    done = subprocess.run(
        [program, tmp_path / "one.cache"], check=True, capture_output=True, text=True, timeout=10
    )
    layout, values, locks, semaphore = done.stdout.splitlines()
    places = (region.SIZE, region.SEMAPHORE, region.MEMORY, region.CORE, region.SWITCH)
    last = (region.RECENT_KERNEL, region.PRIORITY, region.SEMAPHORE_POSTINIT, len(region.OPEN))
    assert tuple(map(int, layout.split())) == places + last
    assert values == f"19920718 1 2 {4 * GI} {GI} 1 30 100 100 0 1 2 0"
    assert locks.split() == ["0", "0", "-1", "-1"]
    assert semaphore == region.OPEN.hex()
    assert len((tmp_path / "one.cache").read_bytes()) == region.SIZE + 1
