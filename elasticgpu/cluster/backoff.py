"""How long to wait after the n-th failure: the one formula behind every retry of this room."""

from __future__ import annotations

import random


def jittered(failures: int, *, base: float, cap: float) -> float:
    """Seconds to wait after `failures` (≥ 1) failures in a row: `base`, doubled each time, ≤ `cap`.

    Between half of it and all of it is taken at random, so that a crowd that failed together
    does not come back together.
    """
    full = min(cap, base * 2.0 ** min(failures - 1, 60))
    return random.uniform(full / 2, full)
