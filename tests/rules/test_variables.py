"""What two claims bring into one container: refused where a variable would have two values."""

from __future__ import annotations

import pytest

from elasticgpu.rules.variables import Brought, clash

VOID = "NVIDIA_VISIBLE_DEVICES=void"


def brought(claim: str, *env: str, containers: tuple[str, ...] = ("main",)) -> Brought:
    return Brought(claim, containers, env)


MINE = brought("a", VOID, "ELASTICGPU_0_UUID=x", "LIMIT=1")
FINE: dict[str, tuple[Brought, ...]] = {
    "alone": (),
    "own-variables": (brought("b", "ELASTICGPU_1_UUID=y"),),
    "same-value": (brought("b", VOID, "LIMIT=1"),),
    "another-container": (brought("b", "LIMIT=2", containers=("side",)),),
    "no-container": (brought("b", "LIMIT=2", containers=()),),
}
CLASHES: dict[str, tuple[tuple[Brought, ...], str]] = {
    "another-value": ((brought("b", VOID, "LIMIT=2"),), "a and b, which set LIMIT"),
    "none-and-some": ((brought("b", "LIMIT="),), "a and b, which set LIMIT"),
    "the-second": ((brought("c"), brought("b", "LIMIT=2")), "a and b, which set LIMIT"),
    "names-in-order": ((brought("0", "LIMIT=2"),), "0 and a, which set LIMIT"),
    "value-with-equals-sign": ((brought("b", "LIMIT=1=1"),), "a and b, which set LIMIT"),
    "one-of-two-containers": (
        (brought("b", "LIMIT=2", containers=("side", "main")),),
        "container main uses ElasticGPUClaims a and b",
    ),
}


@pytest.mark.parametrize("name", FINE)
def test_fine(name: str) -> None:
    assert clash(MINE, FINE[name]) is None


@pytest.mark.parametrize("name", CLASHES)
def test_clash(name: str) -> None:
    others, said = CLASHES[name]
    assert said in (clash(MINE, others) or "")
