"""MIG: what a card can still be cut into, and where each instance starts.

A card's own table (`GPU.status.mig`) has a row for each profile. An instance takes `slices` memory
slices in a row, from one of the row's `starts`. Two may not overlap; there are at most `max` of a
profile; their compute slices (the number before the `g`) sum up to no more than the whole card has;
and those with media extensions (`+me`) share the card's few engines. An instance that is in use
cannot be moved, so each goes where it leaves room for the largest others.

Source: NVIDIA Multi-Instance GPU User Guide, “Supported MIG Profiles”; NVML API reference,
nvmlDeviceGetGpuInstancePossiblePlacements. Where a card lies on NVLink says nothing here: there is
no peer access between instances, and a process sees one of them, so no claim gets several.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from elasticgpu.api.elasticgpu import CardSlice
from elasticgpu.api.gpu import GPU, GPUStatus, MigProfile
from elasticgpu.api.quantity import to_int

from .fleet import WHOLE, Held

Table = Sequence[MigProfile]
"""The rows of one card; no row: it cannot be cut by MIG."""

_NAME = re.compile(r"(\d+)g\.(\d+)gb")
_MEDIA = "+me"


class Instance(NamedTuple):
    """One instance on a card: its profile, and the memory slice at which it starts.

    `device` is the ElasticGPU whose it is, if that is known.
    """

    profile: str
    start: int
    device: str = ""

    def __str__(self) -> str:
        place = f"{self.profile} at {self.start}" if self.profile else "what is no instance"
        return f"{place} ({self.device})" if self.device else place


def normal(name: str) -> str:
    """The profile's name as NVML has it: resource names write `.` for `+`.

    >>> normal("1g.5gb.me"), normal("1g.5gb+me"), normal("3g.20gb")
    ('1g.5gb+me', '1g.5gb+me', '3g.20gb')
    """
    return name.replace("gb.", "gb+", 1)


def largest_first(name: str) -> tuple[bool, int, int]:
    """Sort key of profiles' names, as they are asked for: the larger first, none at all last.

    >>> sorted(["", "1g.5gb", "2g.10gb", "1g.10gb", "3g.20gb"], key=largest_first)
    ['3g.20gb', '2g.10gb', '1g.10gb', '1g.5gb', '']
    """
    found = _NAME.match(name)
    return (not name, -int(found[2]), -int(found[1])) if found else (not name, 0, 0)


def find(table: Table, name: str) -> MigProfile | None:
    """The row of this profile, however it is written; None if the card has no such."""
    return next((row for row in table if normal(row.name) == normal(name)), None)


def compute(row: MigProfile) -> int:
    """Compute slices of one instance; as many as memory slices if the name does not tell."""
    return _compute(row.name) or row.slices


@lru_cache(maxsize=256)
def _compute(name: str) -> int:
    found = _NAME.match(name)
    return int(found[1]) if found else 0


def core(table: Table, row: MigProfile) -> int:
    """Percent of the card's compute in one instance, rounded down: all of them sum up to at most
    100."""
    return WHOLE * compute(row) // max(map(compute, table))


def part(gpu: GPU, row: MigProfile, start: int) -> CardSlice:
    """The part of this card that such an instance is."""
    return CardSlice(
        gpu=gpu.name,
        uuid=gpu.status.uuid,
        core=core(gpu.status.mig, row),
        memory=row.memory,
        mig_profile=row.name,
        mig_start=start,
    )


def instances(held: Iterable[Held]) -> list[Instance]:
    """The instances among what devices hold of a card; a part that is none has no profile."""
    return [Instance(p.mig_profile, p.mig_start, row.device) for row in held for p in row.parts]


def wrong_mode(status: GPUStatus, *, wanted: bool) -> str | None:
    """Why a card cannot serve in MIG mode (`wanted`) or out of it, in words; None if it can.

    Where a change needs a reset, and so a card that nobody uses, it is for its admin to change.
    """
    now, pending = status.mig_mode, status.mig_mode_pending
    if wanted and not status.mig:
        return f"{status.model or 'it'} cannot be cut by MIG"
    waits = "; a change is pending until then" if pending != now else ""
    if wanted and status.mig_needs_reset and now != "Enabled":
        return f"is not in MIG mode, which on this card only a reset changes{waits}"
    if not wanted and now == "Enabled":
        only = f", which on this card only a reset changes{waits}" if status.mig_needs_reset else ""
        return f"is in MIG mode{only}"
    return None


def lacks(parts: Iterable[CardSlice], gpu: GPU, held: Sequence[Held]) -> str | None:
    """Why these parts cannot be cut from the card by MIG, beside what is held of it; None if they
    can, or if nothing of it has to do with MIG."""
    there, wanted = instances(held), list(parts)
    if not any(part.mig_profile for part in wanted) and not any(one.profile for one in there):
        return None
    for part in wanted:
        if not part.mig_profile:
            return "the card is cut by MIG, and here is no profile"
        here = Instance(part.mig_profile, part.mig_start)
        if said := conflict(gpu.status.mig, there, here):
            return said
        there.append(here)
    return None


def conflict(table: Table, held: Sequence[Instance], wanted: Instance) -> str | None:
    """Why this instance cannot be beside those, in words; None if it can.

    Of what is held and not in the table nobody knows how much it takes: it takes all.
    """
    row = find(table, wanted.profile)
    if row is None:
        names = ", ".join(row.name for row in table)
        return f"there is no profile {wanted.profile}; {f'there are {names}' if names else NONE}"
    if wanted.start not in row.starts:
        starts = ", ".join(map(str, row.starts))
        return f"{row.name} starts at {starts}, not at {wanted.start}"
    for other in held:
        if _Room.of(table, [other]).slices & _bits(row, wanted.start):
            return f"{Instance(row.name, wanted.start)} overlaps {other}"
    return _Room.of(table, held).spent(row)


NONE = "it cannot be cut by MIG"
TOO_SMALL = "none of its profiles is as large"
_ALL = -1


def _bits(row: MigProfile, start: int) -> int:
    return ((1 << row.slices) - 1) << start


@dataclass(frozen=True, slots=True)
class _Room:
    """What is taken of a card: its memory slices as bits, compute slices, and whose they are."""

    table: Table
    slices: int
    compute: int
    profiles: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, held: Iterable[Instance]) -> _Room:
        rows = {normal(row.name): row for row in table}
        taken, used, profiles = 0, 0, []
        for one in held:
            name = normal(one.profile)
            row = rows.get(name)
            taken |= _bits(row, one.start) if row else _ALL
            used += compute(row) if row else 0
            profiles.append(name)
        return cls(table, taken, used, tuple(profiles))

    def spent(self, row: MigProfile) -> str | None:
        """Which number of instances or compute slices speaks against one more of this profile."""
        name = normal(row.name)
        if self.profiles.count(name) >= row.max:
            return f"the card holds {row.max} of {name} at most"
        if _MEDIA in name and any(_MEDIA in other for other in self.profiles):
            most = max(other.max for other in self.table if _MEDIA in normal(other.name))
            if sum(_MEDIA in other for other in self.profiles) >= most:
                return f"the card holds {most} with media extensions at most"
        whole = max(map(compute, self.table))
        if compute(row) > whole - self.compute:
            free = f"{whole - self.compute} of {whole} compute slices free"
            return f"{free}, {compute(row)} wanted"
        return None

    def open(self, row: MigProfile) -> list[int]:
        """The starts from which so many memory slices are free."""
        return [start for start in row.starts if not self.slices & _bits(row, start)]

    def starts(self, row: MigProfile) -> list[int]:
        """Where one more of this profile may start."""
        free = self.open(row)
        return free if free and self.spent(row) is None else []

    def after(self, row: MigProfile, start: int) -> _Room:
        """The same with one more."""
        taken, used = self.slices | _bits(row, start), self.compute + compute(row)
        return replace(
            self, slices=taken, compute=used, profiles=(*self.profiles, normal(row.name))
        )


def starts(table: Table, held: Sequence[Instance], row: MigProfile) -> list[int]:
    """Where one more instance of this profile may start."""
    return _Room.of(table, held).starts(row)


def best_start(table: Table, held: Sequence[Instance], row: MigProfile) -> int | None:
    """The start that leaves most starts to the largest profile, then to the next one, and so on.

    Ties go to the last one; None if there is no free start.
    """
    room = _Room.of(table, held)
    order = sorted(table, key=lambda other: (-other.slices, -compute(other), other.name))

    def left(start: int) -> tuple[list[int], int]:
        then = room.after(row, start)
        return [len(then.starts(other)) for other in order], start

    return max(room.starts(row), key=left, default=None)


def serving(table: Table, profile: str, core_wanted: int, memory: int) -> MigProfile | None:
    """The row that serves a demand: of this profile or, if none is named, the smallest with as
    much of the card's compute (percent) and memory (bytes). None if there is no such.

    Media extensions are only for those who name them.
    """
    if profile:
        return find(table, profile)
    large = [
        row
        for row in table
        if core(table, row) >= core_wanted and to_int(row.memory) >= memory and "+" not in row.name
    ]
    return min(large, key=lambda row: (row.slices, compute(row), row.name), default=None)


def lack(
    table: Table, held: Sequence[Held], profile: str, core_wanted: int, memory: int
) -> str | None:
    """Why the card cannot give this demand an instance, in words; None if it can."""
    row = serving(table, profile, core_wanted, memory)
    there = instances(held)
    if row is None:
        names = ", ".join(row.name for row in table)
        return f"has no profile {profile}, but {names}" if profile else f"{TOO_SMALL}: {names}"
    if best_start(table, there, row) is not None:
        return None
    room = _Room.of(table, there)
    said = (
        room.spent(row) if room.open(row) else f"no free start beside {', '.join(map(str, there))}"
    )
    return f"{row.name}: {said}"


def layout(
    table: Table, counts: Mapping[str, int], held: Sequence[Instance] = ()
) -> list[Instance] | None:
    """Where so many instances of each profile go, all of them; None if the card cannot hold them.

    Unlike `best_start`, which knows nothing of who comes next, it finds the place if there is one.
    Raises ValueError for a profile that the card does not have.
    """
    rows: list[MigProfile] = []
    for name, count in counts.items():
        row = find(table, name)
        if row is None:
            raise ValueError(conflict(table, (), Instance(name, 0)))
        if count > row.max:
            return None
        rows += [row] * count
    rows.sort(key=lambda row: (-row.slices, -compute(row), row.name))
    return _laid(_Room.of(table, held), rows, None)


def _laid(room: _Room, rows: Sequence[MigProfile], last: Instance | None) -> list[Instance] | None:
    if not rows:
        return []
    row, *rest = rows
    for start in room.starts(row):
        if last and last.profile == row.name and start < last.start:
            continue  # two of a kind changed over are the same layout
        here = Instance(row.name, start)
        others = _laid(room.after(row, start), rest, here)
        if others is not None:
            return [here, *others]
    return None
