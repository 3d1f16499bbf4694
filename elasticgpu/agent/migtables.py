"""MIG tables of card models: for fleets that are made up, and for planning.

A real card tells its own table, and that counts. Ids and starts are those that `nvidia-smi mig
-lgip` and `-lgipp` print, numbers of instances those of NVIDIA's Multi-Instance GPU User Guide,
“Supported MIG Profiles” (docs.nvidia.com/datacenter/tesla/mig-user-guide). Memory is in MiB as
`-lgip` prints it on such a card, under some driver of its time: it differs a little between them.
"""

from __future__ import annotations

from elasticgpu.api.gpu import MigProfile
from elasticgpu.api.quantity import MI, format_bytes

Row = tuple[str, int, int, tuple[int, ...], int, int]
"""Name, id, memory slices of one, where it may start, how many at most, MiB of one."""


def _table(*rows: Row) -> tuple[MigProfile, ...]:
    return tuple(
        MigProfile(
            name=name,
            id=id_,
            slices=slices,
            starts=list(starts),
            max=most,
            memory=format_bytes(mib * MI),
        )
        for name, id_, slices, starts, most, mib in rows
    )


def _eighths(names: str, mib: tuple[int, int, int, int]) -> tuple[MigProfile, ...]:
    """The table of a card of eight memory slices and seven compute slices: all have the same
    geometry. `mib` is the memory of one, two, four and all slices."""
    one, two, double, three, four, seven = names.split()
    slice_, pair, half, whole = mib
    return _table(
        (one, 19, 1, (0, 1, 2, 3, 4, 5, 6), 7, slice_),
        (f"{one}+me", 20, 1, (0, 1, 2, 3, 4, 5, 6), 1, slice_),
        (double, 15, 2, (0, 2, 4, 6), 4, pair),
        (two, 14, 2, (0, 2, 4), 3, pair),
        (three, 9, 4, (0, 4), 2, half),
        (four, 5, 4, (0,), 1, half),
        (seven, 0, 8, (0,), 1, whole),
    )


TABLES = {
    "A30": _table(
        ("1g.6gb", 14, 1, (0, 1, 2, 3), 4, 5836),
        ("1g.6gb+me", 21, 1, (0, 1, 2, 3), 1, 5836),
        ("2g.12gb", 5, 2, (0, 2), 2, 11672),
        ("2g.12gb+me", 6, 2, (0, 2), 1, 11672),
        ("4g.24gb", 0, 4, (0,), 1, 23344),
    ),
    "A100-40GB": _eighths(
        "1g.5gb 2g.10gb 1g.10gb 3g.20gb 4g.20gb 7g.40gb", (4864, 9856, 19968, 40192)
    ),
    "A100-80GB": _eighths(
        "1g.10gb 2g.20gb 1g.20gb 3g.40gb 4g.40gb 7g.80gb", (9856, 19968, 40192, 80384)
    ),
    "H100-80GB": _eighths(
        "1g.10gb 2g.20gb 1g.20gb 3g.40gb 4g.40gb 7g.80gb", (9984, 20096, 40448, 81152)
    ),
    # No printout of the 94 GB card was at hand: so much of the memory as on the 96 GB one.
    "H100-NVL": _eighths(
        "1g.12gb 2g.24gb 1g.24gb 3g.47gb 4g.47gb 7g.94gb", (11008, 23040, 46592, 93184)
    ),
    "H100-96GB": _eighths(
        "1g.12gb 2g.24gb 1g.24gb 3g.48gb 4g.48gb 7g.96gb", (11264, 23552, 47616, 95232)
    ),
    # 3g and 4g were not seen printed: half of what all slices have.
    "H200": _eighths(
        "1g.18gb 2g.35gb 1g.35gb 3g.71gb 4g.71gb 7g.141gb", (16384, 33280, 71168, 143360)
    ),
    # No printout was at hand: as large a part of the memory as on H200.
    "B200": _eighths(
        "1g.23gb 2g.45gb 1g.45gb 3g.90gb 4g.90gb 7g.180gb", (20864, 42432, 90752, 182784)
    ),
}
"""By the short name of a model in `models`, or of one that is cut alike."""
