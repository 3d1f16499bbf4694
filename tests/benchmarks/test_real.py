"""What `make bench-bind` counts is the same for twenty binds as for a thousand."""

from __future__ import annotations

import pytest

from benchmarks import rounds
from benchmarks.bench import fresh_server
from tests.cluster.fixtures import check_tier
from tests.cluster.prerequisites import missing_prerequisites

COUNT = 20
FOUR = ("elasticgpus", "elasticgpus/status", "elasticgpuclaims", "elasticgpuclaims/status")


async def test_a_bind_is_four_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """For claims with a device made ahead, for others, and in what stands for the ceiling: each of
    the four once, and no fifth."""
    check_tier("apiserver", missing_prerequisites(node=False))
    monkeypatch.setattr(rounds, "SETTLE", 1.5)
    async with fresh_server() as bench:
        for part in (rounds.ceiling, rounds.premade, rounds.dynamic):
            first = "POST" if part == rounds.dynamic else "PUT"
            sample = await part(bench, COUNT)
            ours = {what: n for what, n in sample.writes.items() if "elasticgpu" in what}
            assert ours == {f"{first} {FOUR[0]}": COUNT, **{f"PUT {w}": COUNT for w in FOUR[1:]}}
            assert sample.written(own=True) == 4
